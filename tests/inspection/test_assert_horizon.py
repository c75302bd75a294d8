"""`assert_horizon`: silent where a model keeps its bounds, one sentence where it does not."""

import numpy as np
import pytest
import torch
from weights import mamba2_like

from signalprop.inspection import assert_horizon, inspect


def sentence(model, words, kind=AssertionError, **bounds):
    with pytest.raises(kind, match=words) as info:
        assert_horizon(model, **bounds)
    text = str(info.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def mixers():
    """Two diagonal recurrences with decays .9 and .99: an energy falls by e after 4.7 and 49.7 steps."""
    return {
        f"blocks.{i}": {
            "A_log": np.log(np.full(4, rate)),
            "dt_bias": np.full(4, np.log(np.expm1(1.0))),
            "D": np.ones(4),
        }
        for i, rate in enumerate((-np.log(0.9), -np.log(0.99)))
    }


def test_bounds_are_kept_to_the_step():
    model = mixers()
    assert [layer.gradient.by_e for layer in inspect(model).layers] == [5, 50]
    assert_horizon(model, at_least=5, at_most=50)
    text = sentence(model, "at_least=6", at_least=6)
    assert text == "blocks.0 holds a gradient for 5 steps, fewer than at_least=6; start its decays nearer to 1."
    text = sentence(model, "at_most=49", at_most=49)
    assert text == "blocks.1 holds a gradient for 50 steps, more than at_most=49; start its decays further from 1."
    assert "holds an input for 5 steps" in sentence(model, "at_least=6", at_least=6, of="input")
    assert sentence(model, "blocks.0", at_least=51).endswith("; 1 more miss their bounds.")


def test_layers_are_chosen_by_name_and_pattern():
    model = mixers()
    assert_horizon(model, at_least=20, layers="blocks.1")
    assert_horizon(model, at_most=20, layers=["*.0"])
    sentence(model, "blocks.0", at_least=20, layers="blocks.*")
    text = sentence(model, "blocks.7", ValueError, at_least=20, layers="blocks.7")
    assert "which are 'blocks.0' and 'blocks.1', got 'blocks.7'" in text


def rectified(growth):
    """A relu layer of orthogonal weights whose gradients grow by so much per step, half of its slopes being 1."""
    module = torch.nn.RNN(3, 8, nonlinearity="relu")
    rotation = torch.linalg.qr(torch.randn(8, 8, generator=torch.Generator().manual_seed(0)))[0]
    with torch.no_grad():
        module.weight_hh_l0.copy_((2.0 * growth) ** 0.5 * rotation)
    return module


def test_what_grows_or_never_forgets_misses():
    sentence(rectified(1.1), "lets a gradient grow a hundredfold within 49 steps, before at_least=100", at_least=100)
    sentence(rectified(1.1), "lets a gradient grow, more than at_most=100", at_most=100)
    sentence(rectified(1.0), r"holds a gradient for more than [\d ]* steps, more than at_most=100", at_most=100)
    assert_horizon(rectified(1.1), at_least=48)
    assert_horizon(rectified(1.0), at_least=10**4)


@pytest.mark.parametrize(("cell", "gate", "times"), [(torch.nn.LSTM, "forget", 7), (torch.nn.GRU, "update", 2)])
def test_the_bias_that_it_names_mends_a_gated_layer(cell, gate, times):
    torch.manual_seed(0)
    module = cell(4, 16)
    text = sentence(module, "at_least=50", at_least=50)
    assert f"start the bias of its {gate} gate above log({times}*50) = " in text
    with torch.no_grad():
        module.bias_ih_l0.view(-1, 16)[1] = np.log(times * 50) + 0.3
        module.bias_hh_l0.zero_()
    assert_horizon(module, at_least=50)
    sentence(module, f"bias of its {gate} gate lower", at_most=20)


def test_bad_input():
    model = mamba2_like()
    for bounds, words in (
        ({}, "got neither"),
        ({"at_least": 0}, "at_least must be at least 1"),
        ({"at_most": "ten"}, "at_most must be a whole number"),
        ({"at_least": 9, "at_most": 3}, "at_least=9 and at_most=3"),
        ({"at_least": 3, "of": "output"}, "of must be one of 'gradient' or 'input'"),
        ({"at_least": 3, "layers": []}, "got none"),
        ({"at_least": 3, "layers": 7}, "layers must be a list"),
        ({"at_least": 3, "adapter": "none"}, "adapter must be one of"),
    ):
        sentence(model, words, ValueError, **bounds)
    sentence(torch.nn.Linear(3, 3), "no recurrence", ValueError, at_least=3)
    dead = torch.nn.RNN(3, 4)
    with torch.no_grad():
        dead.weight_ih_l0.zero_()
    sentence(dead, "of='input' asks for a horizon that is not known", ValueError, at_least=3, of="input")
