"""Layers on the meta device, without initialization, and sharded."""

import contextlib

import pytest
import torch
import torch.distributed as dist
from layers import MAKERS, draw
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.nn.utils import parametrizations, skip_init

from signalprop.nn import LRU, Bidirectional, DenseLinearRNN, ResidualBlock, RotRNN, SequenceClassifier, state_energies

MODELS = {
    "both ways": lambda make: Bidirectional(make(), make()),
    "block": lambda make: ResidualBlock(make(), 3, dropout=0.1),
    "classifier": lambda make: SequenceClassifier(make, 3, 4, features=2, depth=2, bidirectional=True),
}
BUILD = {kind: MAKERS[kind] for kind in MAKERS} | {
    name: lambda model=model: model(lambda: MAKERS["lru learned"](3)) for name, model in MODELS.items()
}


def weights(model):
    return {name: each.detach().clone() for name, each in model.named_parameters()}


@pytest.mark.parametrize("kind", BUILD)
def test_meta_device(kind):
    with torch.device("meta"):
        model = BUILD[kind]()
    assert all(each.is_meta for each in model.parameters())
    width = 2 if kind == "classifier" else 3
    outputs = model(torch.empty(4, 7, width, device="meta"))
    assert outputs.is_meta
    assert outputs.shape[0] == 4
    model = model.to_empty(device="cpu")
    with torch.no_grad():
        for each in model.parameters():
            each.fill_(torch.nan)
    torch.manual_seed(5)
    model.reset_parameters()
    found = weights(model)
    torch.manual_seed(5)
    other = BUILD[kind]()
    other.reset_parameters()
    torch.manual_seed(5)
    other.reset_parameters()
    assert list(found) == list(weights(other))
    for name, value in weights(other).items():
        assert torch.equal(found[name], value), name
        assert value.isfinite().all()


@pytest.mark.parametrize(
    ("layer", "arguments", "options"),
    [
        (LRU, (3, 5), {"normalizer": "learned"}),
        (RotRNN, (3, 8), {"heads": 2}),
        (DenseLinearRNN, (3, 8), {"horizon": 10}),
        (DenseLinearRNN, (3, 8), {"horizon": 10, "kernel": "orthogonal"}),
        (ResidualBlock, (LRU(3, 5), 3), {}),
        (SequenceClassifier, (lambda: LRU(3, 5), 3, 4), {"features": 2}),
    ],
)
def test_skip_init(layer, arguments, options):
    made = skip_init(layer, *arguments, **options, device="cpu", dtype=torch.float32)
    assert {each.device.type for each in made.parameters()} == {"cpu"}
    made.reset_parameters()
    assert all(each.isfinite().all() for each in made.parameters())


@pytest.fixture(scope="module")
def mesh(tmp_path_factory):
    if not dist.is_available():
        pytest.skip("PyTorch was built without torch.distributed")
    store = f"file://{tmp_path_factory.mktemp('mesh') / 'store'}"
    dist.init_process_group("gloo", init_method=store, rank=0, world_size=1)
    with contextlib.ExitStack() as stack:
        stack.callback(dist.destroy_process_group)
        yield init_device_mesh("cpu", (1,))


@pytest.mark.filterwarnings("ignore::UserWarning:torch.distributed", "ignore::FutureWarning:torch.distributed")
@pytest.mark.parametrize("placement", [Shard(0), Replicate()])
@pytest.mark.parametrize("kind", BUILD)
def test_sharded_parameters_are_filled_in_place(kind, placement, mesh):
    model = BUILD[kind]()
    for part in model.modules():
        for name, value in part.named_parameters(recurse=False):
            sharded = distribute_tensor(torch.full_like(value, torch.nan).detach(), mesh, [placement])
            part.register_parameter(name, torch.nn.Parameter(sharded))
    model.reset_parameters()
    for name, value in model.named_parameters():
        assert isinstance(value, DTensor), name
        assert value.full_tensor().isfinite().all(), name
    kernel = getattr(model, "W", None)
    if kind == "orthogonal":
        whole = kernel.full_tensor()
        torch.testing.assert_close(whole @ whole.T, torch.eye(len(whole)))


@pytest.mark.filterwarnings("ignore")
def test_fully_sharded_model_trains(mesh):
    from torch.distributed.fsdp import fully_shard

    with torch.device("meta"):
        model = SequenceClassifier(lambda: RotRNN(4, 6, heads=2, first_step_rule=True), 4, 3, features=2, depth=1)
    fully_shard(model.blocks[0], mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    model.reset_parameters()
    inputs, lengths = draw(2, 9, 2, dtype=torch.float32), torch.tensor([9, 4])
    model(inputs, lengths).sum().backward()
    assert all(each.grad is not None for each in model.parameters())
    assert state_energies(model, inputs, lengths)["blocks.0.recurrence"].shape == (9,)


def test_what_is_computed_is_not_drawn():
    layer = parametrizations.orthogonal(MAKERS["orthogonal"](), "W")
    with pytest.raises(ValueError, match="W of ParametrizedDenseLinearRNN is computed from other parameters"):
        layer.reset_parameters()

    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, inputs):
            return inputs * self.weight

    with pytest.raises(ValueError, match=r"recurrence, Own, has parameters and no reset_parameters\(\)"):
        ResidualBlock(Own(), 3).reset_parameters()
