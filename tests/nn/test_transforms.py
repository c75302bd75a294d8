"""Layers and models under `torch.func`, `torch.compile` and `torch.export`."""

import pytest
import torch
from layers import MAKERS, draw
from torch._dynamo.testing import CompileCounter
from torch.func import functional_call, grad, jacfwd, jacrev, jvp, linearize, stack_module_state, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from signalprop.nn import Bidirectional, Recurrence, ResidualBlock, SequenceClassifier

pytestmark = [  # from inside PyTorch's forward mode
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]
MODELS = {
    "layer": lambda make: make(),
    "both ways": lambda make: Bidirectional(make(), make()),
    "block": lambda make: ResidualBlock(Bidirectional(make(), make()), 3),
    "classifier": lambda make: SequenceClassifier(make, 3, 4, features=3, depth=1, bidirectional=True),
    "last": lambda make: SequenceClassifier(make, 3, 4, features=3, depth=1, pooling="last"),
    "tokens": lambda make: SequenceClassifier(make, 3, 4, vocabulary=7, depth=1),
}


def build(model, kind, seed=0):
    torch.manual_seed(seed)
    return MODELS[model](lambda: MAKERS[kind](3)).double()


def given(model, batch=3, steps=6):
    """Inputs, and lengths where the model takes some."""
    inputs = torch.arange(batch * steps).reshape(batch, steps) % 7 if model == "tokens" else draw(batch, steps, 3)
    return (inputs,) if model == "layer" else (inputs, 1 + torch.arange(batch) * 5 % steps)


def parameters(model, seed):
    return {name: draw(*each.shape, seed=seed) for name, each in model.named_parameters()}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("kind_of_model", ["layer", "both ways", "classifier", "last"])
def test_forward_mode_is_the_transpose_of_reverse_mode(kind, kind_of_model):
    # <g, J t> = <J^T g, t>; reverse mode has its own test against differences.
    model, (inputs, *lengths) = build(kind_of_model, kind), given(kind_of_model)
    weights = {name: each.detach() for name, each in model.named_parameters()}

    def outputs(weights, inputs):
        return functional_call(model, weights, (inputs, *lengths))

    tangents = (parameters(model, 2), draw(*inputs.shape, seed=3))
    y, pushed = jvp(outputs, (weights, inputs), tangents)
    g = draw(*y.shape, seed=4)
    pulled = vjp(outputs, weights, inputs)[1](g)
    found = (g * pushed).sum()
    wanted = sum((pulled[0][name] * tangents[0][name]).sum() for name in weights) + (pulled[1] * tangents[1]).sum()
    assert found != 0
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(jacfwd(outputs, 1)(weights, inputs), jacrev(outputs, 1)(weights, inputs))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # inside PyTorch's linearize
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    "kind_of_model",
    ["both ways", pytest.param("classifier", marks=pytest.mark.slow), pytest.param("tokens", marks=pytest.mark.slow)],
)
def test_linearize_and_recorded_graphs(kind, kind_of_model):
    """They run a model on numbers that may not be looked at, as checks of lengths, tokens and finite numbers would do."""
    model, arguments = build(kind_of_model, kind), given(kind_of_model)
    for layer in model.modules():
        if isinstance(layer, Recurrence):
            layer.check_finite = True
    weights = {name: each.detach() for name, each in model.named_parameters()}

    def outputs(weights):
        return functional_call(model, weights, arguments)

    tangent = parameters(model, 2)
    torch.testing.assert_close(linearize(outputs, weights)[1](tangent), jvp(outputs, (weights,), (tangent,))[1])
    graph = make_fx(model)(*arguments)
    others = (arguments[0].flip(0), arguments[1].flip(0))
    torch.testing.assert_close(graph(*others), model(*others))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("kind_of_model", ["layer", "classifier"])
def test_ensembles_and_gradients_per_example(kind, kind_of_model):
    models, (inputs, *lengths) = [build(kind_of_model, kind, seed) for seed in (0, 1)], given(kind_of_model)
    weights, _ = stack_module_state(models)

    def loss(weights, inputs, *lengths):
        return functional_call(models[0], weights, (inputs, *lengths)).sin().sum()

    def ensemble(weights):
        return functional_call(models[0], weights, (inputs, *lengths))

    torch.testing.assert_close(vmap(ensemble)(weights), torch.stack([each(inputs, *lengths) for each in models]))
    one = {name: each[0].detach() for name, each in weights.items()}
    per_example = [each[:, None] for each in (inputs, *lengths)]
    found = vmap(grad(loss), (None, *(0 for _ in per_example)))(one, *per_example)
    for item in range(len(inputs)):
        alone = grad(loss)(one, *(each[item] for each in per_example))
        for name in one:
            torch.testing.assert_close(found[name][item], alone[name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "kind_of_model"),
    [
        ("lru", "layer"),
        pytest.param("rotrnn odd", "both ways", marks=pytest.mark.slow),
        pytest.param("dense", "block", marks=pytest.mark.slow),
        ("orthogonal", "tokens"),
        ("rotrnn", "classifier"),
    ],
)
def test_compiled_once_for_all_batches_and_lengths(kind, kind_of_model):
    torch._dynamo.reset()
    model, counter = build(kind_of_model, kind), CompileCounter()
    compiled = torch.compile(model, backend=counter, fullgraph=True, dynamic=True)
    for batch, steps in ((2, 5), (3, 7), (5, 16), (7, 40)):
        arguments = given(kind_of_model, batch, steps)
        torch.testing.assert_close(compiled(*arguments), model(*arguments))
    assert counter.frame_count == 1


@pytest.mark.parametrize(
    ("kind", "kind_of_model", "strict"),
    [
        ("lru learned", "classifier", False),
        pytest.param("rotrnn odd", "layer", True, marks=pytest.mark.slow),
        ("dense", "layer", True),
        pytest.param("orthogonal", "last", False, marks=pytest.mark.slow),
    ],
)
def test_exported_for_any_batch_and_length(kind, kind_of_model, strict):
    model, any_size = build(kind_of_model, kind), torch.export.Dim.DYNAMIC
    sizes = ({0: any_size, 1: any_size}, {0: any_size})[: len(given(kind_of_model))]
    program = torch.export.export(model, given(kind_of_model), dynamic_shapes=sizes, strict=strict).module()
    for batch, steps in ((2, 5), (5, 16), (7, 40)):
        arguments = given(kind_of_model, batch, steps)
        torch.testing.assert_close(program(*arguments), model(*arguments))


def test_steps_compile_once():
    torch._dynamo.reset()
    layer, counter = build("layer", "rotrnn odd"), CompileCounter()

    def outputs(inputs):
        y, state = layer.advance(inputs, layer.initial_state(inputs.shape[0]))
        return y + layer.step(inputs[:, -1], state)[0][:, None]

    compiled = torch.compile(outputs, backend=counter, fullgraph=True, dynamic=True)
    for batch, steps in ((2, 5), (3, 7), (5, 16)):
        inputs = draw(batch, steps, 3)
        torch.testing.assert_close(compiled(inputs), outputs(inputs))
    assert counter.frame_count == 1
