import numpy as np
import pytest

from signalprop import energy, montecarlo, regimes, safe_scale
from signalprop.models import Model, as_model, by_model, energy_of


def test_the_old_name_is_understood_and_the_new_one_is_said():
    assert as_model("lru") is as_model("driven") is Model("lru") is Model.DRIVEN
    assert [str(model) for model in Model] == ["rnn", "driven"]
    assert [by_model(model, rnn=1, driven=2) for model in Model] == [1, 2]
    plan = montecarlo.Plan(fields=["real"], n=[4], k=[2], models=["rnn", "lru"], samples=4, seed=0)
    assert plan.models == ("rnn", "driven")
    assert safe_scale(100, 10, "real", model="lru").model == "driven"
    assert regimes.classify(100, 10, "real", quantity="lru") == regimes.classify(100, 10, "real", quantity="driven")


@pytest.mark.parametrize("model", Model)
def test_energy_of(model):
    direct = {"rnn": energy.rnn_energy, "driven": energy.lru_energy}[model]
    assert np.array_equal(energy_of(model)(9, [1, 5], "real"), direct(9, [1, 5], "real"))


@pytest.mark.parametrize("bad", ["gru", "", None, 3, "LRU"])
def test_unknown_model_lists_the_choices(bad):
    with pytest.raises(ValueError, match=r"quantity must be one of 'rnn' or 'driven', got "):
        as_model(bad, "quantity")
