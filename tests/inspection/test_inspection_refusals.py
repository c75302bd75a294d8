"""Bad input, one sentence each."""

import numpy as np
import pytest
import torch
from weights import mamba2_like

import signalprop
from signalprop.inspection import ADAPTERS, inspect


def refused(words, model, **options):
    with pytest.raises(ValueError, match=words) as info:
        inspect(model, **options)
    assert "\n" not in str(info.value)
    assert str(info.value).endswith(".")


def test_models_without_recurrences():
    refused(
        "has no recurrence that is known here; its tensors are 0.weight, 0.bias",
        torch.nn.Sequential(torch.nn.Linear(3, 3)),
    )
    refused("hold some, got 3", 3)
    refused("hold some", torch.nn.Sequential())
    refused("hold some", {})
    refused("no recurrence that adapter='lstm' reads", mamba2_like(), adapter="lstm")


def test_weights_that_are_not_finite_are_named():
    module = torch.nn.LSTM(3, 4)
    with torch.no_grad():
        module.weight_hh_l0[2, 1] = float("nan")
    refused(r"weight_hh_l0 is not finite: nan at position \[2, 1\];", module)
    broken = mamba2_like()
    broken["mixer.dt_bias"][3:5] = float("inf")
    refused(r"mixer.dt_bias is not finite: inf at position \[3\], and 1 more", broken)
    broken = mamba2_like()
    broken["mixer.A_log"][0] = float("inf")
    refused("mixer.A_log is not finite", broken)


def test_meta_tensors():
    refused("weight_hh_l0 is on the meta device", torch.nn.LSTM(3, 4, device="meta"))


@pytest.mark.parametrize("horizon", [0, -1, 2.5, "ten", 10**7, True])
def test_horizons(horizon):
    refused("horizon must be", mamba2_like(), horizon=horizon)


@pytest.mark.parametrize("input_std", [-1.0, 11.0, float("nan"), "1"])
def test_input_stds(input_std):
    refused("input_std must", mamba2_like(), input_std=input_std)


def test_adapters():
    refused("adapter must be one of 'rnn'", mamba2_like(), adapter="mamba3")
    refused("adapter must be one of", mamba2_like(), adapter=7)


def test_an_adapter_of_ones_own():
    from dataclasses import replace

    def find(tensors, forced):
        return ADAPTERS["mamba2"].find(tensors, True) if forced else ()

    with ADAPTERS.with_record("mine", replace(ADAPTERS["mamba2"], find=find)):
        assert signalprop.inspect(mamba2_like(), adapter="mine").layers
        assert len(signalprop.inspect(mamba2_like()).layers) == 1
    assert "mine" not in ADAPTERS


def test_parameters_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    tree = {
        "params": {
            "mixer": {name.removeprefix("mixer."): jnp.asarray(one.numpy()) for name, one in mamba2_like().items()}
        }
    }
    (layer,) = inspect(tree).layers
    assert layer.name == "params.mixer"
    brain = {"mixer": {"A_log": jnp.zeros(3, jnp.bfloat16), "dt_bias": jnp.ones(3, jnp.bfloat16)}}
    assert inspect(brain).layers[0].storage == "bfloat16"
    np.testing.assert_allclose(inspect(brain).layers[0].units.rate, np.log1p(np.e))
