import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from gaussian import (
    assert_complex_gaussian,
    assert_real_gaussian,
    z_of_power,
    z_of_product,
    z_of_share_within,
)
from torch import nn

from signalprop import safe_scale
from signalprop.initialization.torch import ginibre_, init_recurrent_

REAL = [torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
HALVES = [torch.float16, torch.bfloat16]


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("gates", [1, 3, 4])
def test_real_entries(dtype, gates):
    n, g = 150, 0.8
    w = ginibre_(torch.empty(gates * n, n, dtype=dtype), scale=g, generator=seeded(gates))
    assert w.dtype == dtype
    blocks = w.numpy().reshape(gates, n, n)
    for block in blocks:
        assert_real_gaussian(block, g**2 / n)
    for a in range(gates):
        for b in range(a):
            assert abs(z_of_product(blocks[a], blocks[b], g**2 / n)) < 4


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_entries(dtype):
    n, g = 200, 1.1
    w = ginibre_(torch.empty(3 * n, n, dtype=dtype), scale=g, generator=seeded(5))
    assert w.dtype == dtype
    for block in w.numpy().reshape(3, n, n):
        assert_complex_gaussian(block, g**2 / n)


@pytest.mark.parametrize("dtype", HALVES)
def test_storage_in_16_bits_keeps_the_scale(dtype):
    n, g = 1000, 0.93
    w = ginibre_(torch.empty(n, n, dtype=dtype), scale=g, generator=seeded(1))
    full = ginibre_(torch.empty(n, n), scale=g, generator=seeded(1))
    assert w.dtype == dtype
    assert torch.equal(w, full.to(dtype))
    # Rounding moves the sum of squares by about eps^2, far below its sampling error of 1e-3.
    assert abs(z_of_power(w.double().numpy(), g**2 / n)) < 4


@pytest.mark.parametrize(
    ("dtype", "field"), [(torch.float32, "real"), (torch.bfloat16, "real"), (torch.complex64, "complex")]
)
@pytest.mark.parametrize(
    "options", [{}, {"quantile": 0.9, "bound": 4.0}, {"criterion": "bounded", "tolerance": 0.3, "model": "lru"}]
)
def test_the_scale_is_that_of_safe_scale(dtype, field, options):
    n, horizon = 24, 30
    g = safe_scale(n, horizon, field, **options).scale
    w = ginibre_(torch.empty(2 * n, n, dtype=dtype), horizon, generator=seeded(2), **options)
    assert torch.equal(w, ginibre_(torch.empty(2 * n, n, dtype=dtype), scale=g, generator=seeded(2)))


def test_the_promise_holds_for_what_was_filled():
    n, horizon, count = 32, 40, 3000
    g = safe_scale(n, horizon).scale
    generator = seeded(3)
    w = torch.stack(
        [ginibre_(torch.empty(n, n, dtype=torch.float64), scale=g, generator=generator) for _ in range(count)]
    )
    h = torch.zeros(count, n, 1, dtype=torch.float64)
    h[:, 0] = 1.0
    log_energies = []
    for _ in range(horizon):
        h = w @ h
        log_energies.append(2.0 * torch.linalg.vector_norm(h, dim=(1, 2)).log())
    assert abs(z_of_share_within(torch.stack(log_energies, dim=1).numpy(), 10.0, 0.95)) < 3.5


def test_numbers_come_from_the_generator():
    state = torch.get_rng_state()
    first, again, other = (ginibre_(torch.empty(20, 20), scale=1.0, generator=seeded(s)) for s in (7, 7, 8))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(first, again)
    assert not torch.isclose(first, other).any(dim=1).all()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        assert torch.equal(ginibre_(torch.empty(20, 20), scale=1.0), first)
        assert not torch.equal(ginibre_(torch.empty(20, 20), scale=1.0), first)


def test_filled_in_place_and_outside_of_autograd():
    weight = nn.Parameter(torch.zeros(30, 30))
    place = weight.data_ptr()
    assert ginibre_(weight, scale=1.0, generator=seeded(0)) is weight
    assert weight.data_ptr() == place
    assert weight.requires_grad
    assert weight.is_leaf
    assert weight.grad_fn is None
    (weight @ torch.ones(30)).sum().backward()
    assert weight.grad is not None

    whole = torch.zeros(30, 40)
    ginibre_(whole[:, 5:35].T, scale=1.0, generator=seeded(0))
    assert torch.equal(whole[:, 5:35].T, weight.detach())
    assert not whole[:, :5].any()
    assert not whole[:, 35:].any()


@pytest.mark.parametrize(
    ("make", "gates", "names"),
    [
        (lambda: nn.RNN(3, 40), 1, ["weight_hh_l0"]),
        (lambda: nn.GRU(3, 40, num_layers=2), 3, ["weight_hh_l0", "weight_hh_l1"]),
        (
            lambda: nn.LSTM(3, 40, num_layers=2, bidirectional=True),
            4,
            ["weight_hh_l0", "weight_hh_l0_reverse", "weight_hh_l1", "weight_hh_l1_reverse"],
        ),
        (lambda: nn.RNNCell(3, 40), 1, ["weight_hh"]),
        (lambda: nn.GRUCell(3, 40, bias=False), 3, ["weight_hh"]),
        (lambda: nn.LSTMCell(3, 40, dtype=torch.float64), 4, ["weight_hh"]),
    ],
)
def test_recurrent_kernels_of_every_module(make, gates, names):
    module = make()
    before = {name: value.detach().clone() for name, value in module.named_parameters()}
    assert init_recurrent_(module, 25, criterion="bounded", generator=seeded(4)) == names
    std = safe_scale(40, 25, criterion="bounded").std
    for name, value in module.named_parameters():
        if name in names:
            assert value.shape == (gates * 40, 40)
            assert_real_gaussian(value.detach().numpy(), std**2)
        else:
            assert torch.equal(value, before[name])


def test_kernels_inside_a_model():
    model = nn.ModuleDict({"encoder": nn.Sequential(nn.Linear(5, 5), nn.GRU(5, 16)), "cell": nn.RNNCell(5, 12)})
    model["again"] = model["cell"]
    model["tied"] = nn.RNNCell(5, 12)
    model["tied"].weight_hh = model["cell"].weight_hh
    names = init_recurrent_(model, scale=1.0, generator=seeded(0))
    assert names == ["encoder.1.weight_hh_l0", "cell.weight_hh"]
    first = ginibre_(torch.empty(48, 16), scale=1.0, generator=seeded(0))
    assert torch.equal(model["encoder"][1].weight_hh_l0, first)


def test_the_module_computes_with_what_was_filled():
    rnn = nn.RNN(2, 50, bias=False, nonlinearity="relu", dtype=torch.float64)
    init_recurrent_(rnn, scale=0.9, generator=seeded(1))
    start = torch.rand(1, 1, 50, dtype=torch.float64, generator=seeded(2))
    out, _ = rnn(torch.zeros(1, 1, 2, dtype=torch.float64), start)
    w = ginibre_(torch.empty(50, 50, dtype=torch.float64), scale=0.9, generator=seeded(1))
    np.testing.assert_allclose(out[0, 0].detach(), torch.relu(w @ start[0, 0]), atol=1e-12)


def test_nothing_changes_where_one_kernel_cannot_be_filled():
    model = nn.Sequential(nn.RNN(4, 20), nn.LSTM(4, 20, proj_size=10))
    before = model[0].weight_hh_l0.detach().clone()
    with pytest.raises(ValueError, match=r"1\.weight_hh_l0 has shape \(80, 10\): with proj_size=10 .* not square"):
        init_recurrent_(model, scale=1.0)
    assert torch.equal(model[0].weight_hh_l0, before)


def reparametrised():
    cell = nn.GRUCell(4, 20)
    nn.utils.parametrizations.weight_norm(cell, "weight_hh")
    return cell


def inference():
    with torch.inference_mode():
        return torch.zeros(3, 3)


def quiet(make, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of types that PyTorch calls experimental, or is about to drop
        return make(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ginibre_(torch.empty(3, 5), 10),
            r"^tensor must have shape .*\(gates \* n, n\) .* got shape \(3, 5\)",
        ),
        (lambda: ginibre_(torch.empty(5, 3), 10), r"got shape \(5, 3\)"),
        (lambda: ginibre_(torch.empty(5, 15), 10), r"got shape \(5, 15\)"),
        (lambda: ginibre_(torch.empty(9), 10), r"got shape \(9,\)"),
        (lambda: ginibre_(torch.empty(2, 3, 3), 10), r"got shape \(2, 3, 3\)"),
        (lambda: ginibre_(torch.empty(0, 0), 10), r"got shape \(0, 0\)"),
        (lambda: ginibre_(torch.tensor(1.0), 10), r"got shape \(\)"),
        (lambda: ginibre_(torch.zeros(3, 3, dtype=torch.int64), 10), "must have the dtype 'float16', .* got int64"),
        (
            lambda: ginibre_(torch.empty(25, 5), 10),
            r"shape \(25, 5\) would be 5 square gates, and a cell has at most 4",
        ),
        (
            lambda: ginibre_(nn.LSTM(4, 64, proj_size=16).weight_hh_l0, 10),
            r"shape \(256, 16\) would be 16 square gates",
        ),
        (lambda: ginibre_(torch.empty(0, 3), 10), r"got shape \(0, 3\)"),
        (lambda: ginibre_(torch.zeros(3, 3).to_sparse(), 10), r"must be dense, got the layout torch\.sparse_coo"),
        (
            lambda: ginibre_(quiet(torch.zeros(3, 3).to_sparse_csr), 10),
            r"must be dense, got the layout torch\.sparse_csr",
        ),
        (lambda: ginibre_(torch.zeros(1, 3).expand(3, 3), 10), r"shape \(3, 3\) and strides \(0, 1\), share one place"),
        (lambda: ginibre_(torch.zeros(3, 1).expand(3, 3), 10), r"strides \(1, 0\), share one place"),
        (lambda: ginibre_(torch.zeros(1, 1).expand(3, 3), 10), r"strides \(0, 0\), share one place"),
        (lambda: ginibre_(torch.zeros(9).as_strided((3, 3), (1, 1)), 10), r"strides \(1, 1\), share one place"),
        (lambda: ginibre_(torch.zeros(19).as_strided((6, 3), (2, 4)), 10), r"strides \(2, 4\), share one place"),
        (lambda: ginibre_(quiet(torch.nested.nested_tensor, [torch.zeros(3, 3)]), 10), "must be dense, got a nested"),
        (lambda: ginibre_(nn.UninitializedParameter(), 10), "lazy parameter without a shape"),
        (lambda: ginibre_(inference(), 10), "made in inference mode"),
        (
            lambda: ginibre_(quiet(torch.quantize_per_tensor, torch.zeros(3, 3), 0.1, 0, torch.qint8), 10),
            "must have the dtype 'float16', .* got qint8",
        ),
        (
            lambda: ginibre_(torch.zeros(3, 3, dtype=torch.float8_e5m2), 10),
            "must have the dtype .* got float8_e5m2",
        ),
        (
            lambda: ginibre_(quiet(torch.zeros, 3, 3, dtype=torch.complex32), 10),
            "must have the dtype .* got complex32",
        ),
        (lambda: ginibre_(torch.empty(3, 5, device="meta"), 10), r"got shape \(3, 5\)"),
        (lambda: ginibre_(np.empty((3, 3)), 10), r"tensor must be a torch\.Tensor, got array"),
        (lambda: ginibre_(torch.empty(3, 3)), "give either horizon"),
        (lambda: ginibre_(torch.empty(3, 3), 10, scale=1.0), "give either horizon"),
        (lambda: ginibre_(torch.empty(3, 3), 10, seed=1), "an option of the scale must be one of .* got 'seed'"),
        (lambda: ginibre_(torch.empty(3, 3), scale=0.0), "scale must be a positive finite number"),
        (lambda: ginibre_(torch.empty(3, 3), 0), "horizon must be at least 1, got 0"),
        (lambda: ginibre_(torch.empty(3, 3), 10, criterion="safe"), "criterion must be one of"),
        (lambda: init_recurrent_(nn.Linear(3, 3), 10), "Linear holds no RNN, GRU, LSTM or cell of these"),
        (lambda: init_recurrent_(nn.RNN(3, 3)), "give either horizon"),
        (lambda: init_recurrent_(reparametrised(), 10), "weight_hh is computed from other parameters"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_generator_of_another_device_is_refused():
    with pytest.raises(RuntimeError, match="device type"):
        ginibre_(torch.empty(3, 3), scale=1.0, generator=torch.Generator(device="meta"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.complex64])
def test_on_the_meta_device_nothing_is_drawn(dtype):
    state = torch.get_rng_state()
    tensor = torch.empty(12, 4, dtype=dtype, device="meta")
    assert ginibre_(tensor, 20) is tensor
    assert init_recurrent_(nn.GRU(3, 4, device="meta"), 20, criterion="quantile") == ["weight_hh_l0"]
    assert torch.equal(torch.get_rng_state(), state)
    built = nn.RNN(3, 150, device="meta").to_empty(device="cpu")
    assert init_recurrent_(built, scale=0.8, generator=seeded(0)) == ["weight_hh_l0"]
    assert_real_gaussian(built.weight_hh_l0.detach().numpy(), 0.8**2 / 150)


SHARDED = """
import torch, sys
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from signalprop.initialization.torch import ginibre_, init_recurrent_

dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
for placement in (Shard(0), Shard(1), Replicate()):
    for dtype in (torch.bfloat16, torch.float32, torch.float64, torch.complex64):
        torch.manual_seed(1)
        plain = ginibre_(torch.empty(90, 30, dtype=dtype), scale=0.9)
        sharded = distribute_tensor(torch.zeros(90, 30, dtype=dtype), mesh, [placement])
        place = sharded.to_local().data_ptr()
        torch.manual_seed(1)
        assert ginibre_(sharded, scale=0.9) is sharded
        assert isinstance(sharded, DTensor) and sharded.to_local().data_ptr() == place
        assert torch.equal(sharded.full_tensor(), plain), (placement, dtype)
try:
    ginibre_(DTensor.from_local(torch.zeros(3, 3), mesh, [Partial()]), scale=0.9)
except ValueError as error:
    assert "(Partial) and cannot be filled" in str(error)
else:
    raise AssertionError("a sum over processes was filled")
try:
    ginibre_(sharded, scale=0.9, generator=torch.Generator())
except ValueError as error:
    assert "call torch.manual_seed" in str(error)
else:
    raise AssertionError("a generator that is not used")
model = nn.Sequential(nn.GRU(3, 150), nn.RNN(150, 150))
fully_shard(model, mesh=mesh)
assert init_recurrent_(model, scale=0.8) == ["0.weight_hh_l0", "1.weight_hh_l0"]
for name in ("0.weight_hh_l0", "1.weight_hh_l0"):
    power = dict(model.named_parameters())[name].full_tensor().square().mean() * 150 / 0.64
    assert abs(power - 1.0) < 5.0 * (2.0 / 150**2) ** 0.5, power
for placement in (Shard(0), Shard(1), Replicate()):
    lstm, plain = nn.LSTM(3, 20), nn.LSTM(3, 20)
    lstm.load_state_dict(plain.state_dict())
    for name, value in list(lstm.named_parameters()):
        where = placement if value.dim() > 1 or placement.is_replicate() else Shard(0)
        setattr(lstm, name, nn.Parameter(distribute_tensor(value.detach(), mesh, [where])))
    for kind in ("orthogonal", "identity"):
        for module in (lstm, plain):
            torch.manual_seed(2)
            init_recurrent_(module, 30, kind=kind)
        for name, value in plain.named_parameters():
            assert torch.equal(lstm.get_parameter(name).full_tensor(), value), (placement, kind, name)
tanh = nn.RNN(3, 20)
fully_shard(tanh, mesh=mesh)
assert init_recurrent_(tanh, kind="gaussian", scale="critical").rows[0].numbers["input_std"] > 0.1
dist.destroy_process_group()
print("filled")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs torch.distributed")
def test_sharded_kernels_are_filled_in_place(tmp_path):
    # In a process of its own: a process group is global.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SHARDED, str(tmp_path / "rendezvous")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.endswith("filled\n"), done.stderr
