"""States that are carried: the weights they hold, truncated back-propagation, and what they refuse."""

import re
from pathlib import Path

import pytest
import torch
from layers import MAKERS, draw, make

from signalprop import nn
from signalprop.nn import State


@pytest.mark.parametrize("kind", MAKERS)
def test_a_kept_state_holds_the_weights_as_they_were(kind):
    layer, inputs = make(kind), draw(2, 8, 3)
    whole = layer(inputs).detach()
    state = layer.initial_state(2)
    first, state = layer.advance(inputs[:, :4], state)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(1.0)
    second, _ = layer.advance(inputs[:, 4:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    assert not torch.allclose(layer(inputs), whole)


@pytest.mark.parametrize("kind", MAKERS)
def test_truncated_back_propagation(kind):
    """With a learning rate of zero: the outputs of the whole, and gradients that end at the chunks."""
    layer, inputs = make(kind), draw(2, 9, 3)
    whole, state, outputs, gradients = layer(inputs).detach(), layer.initial_state(2), [], []
    optimizer = torch.optim.SGD(layer.parameters(), 0.0)
    for chunk in inputs.split(3, 1):
        y, state = layer.advance(chunk, state)
        optimizer.zero_grad()
        y.sin().sum().backward()
        gradients.append([each.grad.clone() for each in layer.parameters()])
        optimizer.step()
        outputs.append(y.detach())
        state = state.detach()
        assert state.system is None
        assert not state.values.requires_grad
    torch.testing.assert_close(torch.cat(outputs, 1), whole)
    # By hand: the second chunk alone, from the state after the first as a constant.
    before = layer.states(inputs[:, :3])[:, -1].detach()
    y, _ = layer.advance(inputs[:, 3:6], State(before, False, layer.system()))
    layer.zero_grad()
    y.sin().sum().backward()
    for found, parameter in zip(gradients[1], layer.parameters(), strict=True):
        torch.testing.assert_close(found, parameter.grad)


@pytest.mark.parametrize("kind", MAKERS)
def test_a_detached_state_reads_the_weights_anew(kind):
    layer, inputs = make(kind), draw(2, 5, 3)
    state = layer.advance(inputs, layer.initial_state(2))[1].detach()
    with torch.no_grad():
        layer.D.add_(1.0)
    found, after = layer.step(inputs[:, 0], state)
    wanted, _ = layer.step(inputs[:, 0], state._replace(system=layer.system()))
    assert torch.equal(found, wanted)
    assert after.system is not None
    fresh = layer.initial_state(2).detach()
    assert torch.equal(layer.advance(inputs, fresh)[0], layer(inputs))  # still the first step of a sequence


def test_states_of_something_else():
    layer, inputs = make("lru"), draw(2, 5, 3)
    with pytest.raises(ValueError, match="state must be a State, as initial_state makes it, got Tensor"):
        layer.advance(inputs, torch.zeros(2, 10))
    for kind in ("dense", "rotrnn"):
        with pytest.raises(
            ValueError, match=r"the state belongs to another layer, with [68] rows and d_model=3, not to LRU"
        ):
            layer.advance(inputs, make(kind).initial_state(2))
    with pytest.raises(ValueError, match="batch must be at least 0, got -1"):
        layer.initial_state(-1)


def test_the_example_of_the_guide_learns_across_chunks():
    guide = (Path(__file__).parents[2] / "docs" / "layers.md").read_text()
    (cell,) = (each for each in re.findall(r"```\{code-cell\}\n(.*?)```", guide, flags=re.S) if "detach()" in each)
    names = {"torch": torch, "nn": nn}
    exec(compile(cell, "layers.md", "exec"), names)
    losses = names["losses"]
    assert len(losses) == 80
    # What came in five steps before is unknown to a layer whose state is thrown away between chunks: 5/50 of the variance.
    assert losses[0] > 1.0
    assert losses[-1] < 0.05
