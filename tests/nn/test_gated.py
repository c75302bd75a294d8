"""Recurrences with gates: what they refuse. What they compute, stream and export is tested with all other layers."""

import pytest
import torch
from gated_layers import GATED, RGLRU, MinGRU
from layers import draw, make
from torch.nn.utils import parametrizations

from signalprop.nn import Gates, ResidualBlock, state_energies


class Other(RGLRU):
    """Gates that a test decides on."""

    found = None

    def gates(self, inputs, weights):
        return self.found(super().gates(inputs, weights))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda g: g.decay, "gates of Other must return Gates, got Tensor"),
        (lambda g: g._replace(decay=g.decay[:, :2]), r"the gate decay must have shape \(5,\), \(4, 5\) or \(2, 4, 5\)"),
        (lambda g: g._replace(enter=g.enter[..., None]), r"the gate enter .* got \(2, 4, 5, 1\)"),
        (lambda g: g._replace(leave=torch.ones(7, 1, 5)), r"the gate leave .* got \(7, 1, 5\)"),
    ],
)
def test_gates_that_do_not_fit(change, sentence):
    layer = Other(3, 5, dtype=torch.float64)
    layer.found = change
    with pytest.raises(ValueError, match=sentence):
        layer(draw(2, 4, 3))


def test_gates_of_a_module_are_refused_by_name():
    layer = MinGRU(3, 5)
    layer.gated_by = ("to_z",)
    with pytest.raises(ValueError, match=r"gated_by of MinGRU must name tensors, got 'to_z': Linear"):
        layer(torch.zeros(2, 4, 3))


def test_gates_that_do_not_depend_on_the_inputs_are_a_linear_recurrence():
    layer, inputs = Other(3, 5, dtype=torch.float64), draw(2, 9, 3)
    decay = torch.linspace(0.1, 0.9, 5, dtype=torch.float64)
    layer.found = lambda _: Gates(decay)
    x, outputs = torch.zeros(2, 5).double(), []
    for u in inputs.unbind(1):
        x = decay * x + u @ layer.B.mT
        outputs.append(x @ layer.C.mT + layer.D * u)
    torch.testing.assert_close(layer(inputs), torch.stack(outputs, 1))


def test_a_parameter_of_the_gates_may_be_computed_from_others():
    layer, inputs = make("rg-lru"), draw(2, 6, 3)
    parametrizations.weight_norm(layer, "W_a")
    outputs, state = layer.advance(inputs[:, :3], layer.initial_state(2))
    whole = layer(inputs).detach()
    torch.testing.assert_close(outputs, whole[:, :3])
    with torch.no_grad():
        layer.parametrizations.W_a.original0.mul_(2.0)
    torch.testing.assert_close(layer.advance(inputs[:, 3:], state)[0], whole[:, 3:])
    assert not torch.allclose(layer(inputs), whole)
    with pytest.raises(ValueError, match=r"W_a of .*RGLRU is computed from other parameters"):
        layer.reset_parameters()


@pytest.mark.parametrize("kind", GATED)
def test_energies_inside_a_model(kind):
    model, inputs = ResidualBlock(make(kind), 3, dtype=torch.float64), draw(2, 7, 3)
    (found,) = state_energies(model, inputs).values()
    torch.testing.assert_close(found, model.recurrence.state_energy(model.norm(inputs)))


def test_energies_of_white_inputs_are_refused_where_gates_read_them():
    from signalprop.training.energies import white_energy

    with pytest.raises(ValueError, match="layer must not have gates that read the inputs"):
        white_energy(MinGRU(4, 5), 10)
