"""Each trained parameter in the group where it belongs, whatever was done to the module."""

import pytest
import torch
from layers import MAKERS
from torch import nn
from torch.nn.utils import parametrizations, prune

from signalprop.nn import LRU, Bidirectional, Recurrence, RotRNN, SequenceClassifier, System, parameter_groups


def names(model, **options):
    """Names of the parameters in either group."""
    known = {id(each): name for name, each in model.named_parameters()}
    rest, dynamics = parameter_groups(model, 1e-2, weight_decay=0.1, **options)
    assert (rest["weight_decay"], dynamics["weight_decay"]) == (0.1, 0.0)
    return [{known[id(each)] for each in group["params"]} for group in (rest, dynamics)]


@pytest.mark.parametrize("kind", MAKERS)
def test_every_layer(kind):
    layer = MAKERS[kind]()
    rest, dynamics = names(layer)
    assert rest == {"B", "C", "D", *getattr(layer, "gated_by", ())} - {*layer.dynamics}
    assert dynamics == {name for name in MAKERS[kind]().dynamics if name != "gamma_log" or kind == "lru learned"}


PARAMETRIZED = {
    "orthogonal": (lambda layer: parametrizations.orthogonal(layer, "W"), {"parametrizations.W.original"}),
    "spectral_norm": (lambda layer: parametrizations.spectral_norm(layer, "W"), {"parametrizations.W.original"}),
    "weight_norm": (
        lambda layer: parametrizations.weight_norm(layer, "W"),
        {"parametrizations.W.original0", "parametrizations.W.original1"},
    ),
    "pruning": (lambda layer: prune.l1_unstructured(layer, "W", 3), {"W_orig"}),
    "old spectral norm": (lambda layer: torch.nn.utils.spectral_norm(layer, "W"), {"W_orig"}),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("how", PARAMETRIZED)
def test_computed_parameters(how):
    change, wanted = PARAMETRIZED[how]
    rest, dynamics = names(change(MAKERS["dense"]()))
    assert dynamics == wanted
    assert rest == {"B", "C", "D"}


def test_a_computed_weight_that_is_not_of_the_dynamics():
    rest, dynamics = names(parametrizations.weight_norm(LRU(3, 5), "C"))
    assert dynamics == {"nu", "theta"}
    assert rest == {"B", "D", "parametrizations.C.original0", "parametrizations.C.original1"}


def test_frozen_parameters_are_in_neither():
    layer = RotRNN(3, 8, heads=2)
    layer.g.requires_grad_(False)
    layer.B.requires_grad_(False)
    assert names(layer) == [{"C", "D"}, {"theta", "M"}]


def test_wrapped_and_shared():
    model = SequenceClassifier(lambda: RotRNN(4, 8, heads=2), 4, 3, features=2, depth=2, bidirectional=True)
    for block in model.blocks:
        block.recurrence.back.M = block.recurrence.ahead.M
    plain = names(model)
    assert len(plain[1]) == 2 * (3 + 2)
    for wrapped, prefix in ((torch.compile(model, backend="eager"), "_orig_mod."), (nn.DataParallel(model), "module.")):
        assert names(wrapped) == [{prefix + name for name in group} for group in plain]
    assert sum(len(group) for group in plain) == len(list(model.parameters()))


def test_shared_with_something_else_is_of_the_dynamics():
    layer, other = LRU(3, 5), nn.Module()
    other.bias = layer.nu
    assert "0.nu" in names(nn.ModuleList([layer, other]))[1]
    assert "0.bias" in names(nn.ModuleList([other, layer]))[1]


def test_a_layer_of_ones_own():
    class Leaky(Recurrence):
        dynamics = ("rate",)

        def __init__(self):
            super().__init__(2, 2)
            self.rate = nn.Parameter(torch.zeros(2))
            self.B, self.C = nn.Parameter(torch.eye(2)), nn.Parameter(torch.eye(2))

        def _system(self, dtype):
            return System((self.rate.sigmoid(),), self.B, self.C, None)

        def _scan(self, transition, inputs, initial):
            from signalprop.nn.scan import linear_scan

            return linear_scan(*transition, inputs, initial)

    model = Bidirectional(Leaky(), Leaky())
    assert names(model)[1] == {"ahead.rate", "back.rate"}
    assert model(torch.ones(1, 3, 2)).shape == (1, 3, 2)
    assert model.bfloat16().ahead.rate.dtype == torch.float32
    with pytest.raises(NotImplementedError, match="Leaky does not say how its parameters are drawn"):
        model.reset_parameters()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, 1e-3), {}, "module must be a torch.nn.Module, got int"),
        ((LRU(2, 2), -1.0), {}, "lr must be a finite number of at least zero, got -1.0"),
        ((LRU(2, 2), float("nan")), {}, "lr must be a finite number of at least zero, got nan"),
        ((LRU(2, 2), "1"), {}, "lr must be a finite number of at least zero, got '1'"),
        ((LRU(2, 2), 1.0), {"weight_decay": True}, "weight_decay must be a finite number of at least zero, got True"),
        ((LRU(2, 2), 1.0), {"dynamics_factor": float("inf")}, "dynamics_factor must be .* got inf"),
    ],
)
def test_bad_arguments(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        parameter_groups(*arguments, **options)
