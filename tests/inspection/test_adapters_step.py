"""Horizons of every adapter against its recurrence, stepped as the authors write it, without the formulas of the adapters."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional
from weights import inverse_softplus

from signalprop.inspection import ADAPTERS, inspect

RNG = np.random.default_rng(5)
MOST = 3000  # steps


def tensor(values, dtype=torch.float64):
    return torch.tensor(np.asarray(values), dtype=dtype)


def first_below(step: Callable[[torch.Tensor], torch.Tensor], state: torch.Tensor, share: float) -> int:
    """The first step at which this share of the energy of a state is left, when nothing comes in."""
    start = state.abs().square().sum()
    for k in range(1, MOST):
        state = step(state)
        if state.abs().square().sum() <= share * start:
            return k
    raise AssertionError("it did not fall")


def heads(count=8, low=1e-3, high=1e-1):
    return np.log(RNG.uniform(1.0, 16.0, count)), inverse_softplus(
        np.exp(RNG.uniform(np.log(low), np.log(high), count))
    )


def mamba():
    A_log = np.log(np.tile(np.arange(1.0, 5.0), (6, 1)))
    bias = heads(6)[1]
    weights = {"A_log": tensor(A_log), "dt_proj.bias": tensor(bias)}

    def step(h):
        A = -torch.exp(weights["A_log"])
        delta = functional.softplus(weights["dt_proj.bias"])
        return torch.exp(delta[:, None] * A) * h

    return weights, step, torch.ones(6, 4, dtype=torch.float64)


def mamba2():
    A_log, bias = heads()
    weights = {"A_log": tensor(A_log), "dt_bias": tensor(bias), "D": torch.ones(8)}

    def step(h):
        dt = functional.softplus(torch.zeros(8, dtype=torch.float64) + weights["dt_bias"])
        return torch.exp(dt * -torch.exp(weights["A_log"])) * h

    return weights, step, torch.ones(8, dtype=torch.float64)


def rg_lru():
    p, bias = np.log(np.expm1(-0.5 * np.log(RNG.uniform(0.81, 0.998, 12)))), RNG.normal(0.0, 0.3, (3, 4))
    weights = {
        "recurrent_param": tensor(p),
        "recurrent_gate_bias": tensor(bias),
        "recurrent_gate_weight": torch.zeros(3, 4, 4),
    }

    def step(h):
        gate = torch.sigmoid(weights["recurrent_gate_bias"].reshape(-1))
        return torch.exp(-8.0 * gate * functional.softplus(weights["recurrent_param"])) * h

    return weights, step, torch.ones(12, dtype=torch.float64)


def s4d():
    A, step = RNG.uniform(0.3, 0.7, (6, 4)), np.exp(RNG.uniform(np.log(1e-3), np.log(1e-1), 6))
    turn = RNG.uniform(0.0, 3.0, (6, 4))
    weights = {"log_A_real": tensor(np.log(A)), "A_imag": tensor(turn), "log_dt": tensor(np.log(step))}

    def step_once(h):
        dtA = (-torch.exp(weights["log_A_real"]) + 1j * weights["A_imag"]) * torch.exp(weights["log_dt"])[:, None]
        return torch.exp(dtA) * h

    return weights, step_once, torch.ones(6, 4, dtype=torch.complex128)


def s5():
    Lambda, step = RNG.uniform(-0.7, -0.3, 9) + 1j * RNG.uniform(0, 3, 9), np.exp(RNG.uniform(-6, -3, (9, 1)))
    weights = {"Lambda": torch.tensor(Lambda), "log_step": tensor(np.log(step))}

    def step_once(h):
        return torch.exp(weights["Lambda"] * torch.exp(weights["log_step"][:, 0])) * h

    return weights, step_once, torch.ones(9, dtype=torch.complex128)


def rwkv():
    w = RNG.uniform(-5.0, 0.0, (3, 8))
    weights = {"time_decay": tensor(w)}
    return weights, lambda h: torch.exp(-torch.exp(weights["time_decay"])) * h, torch.ones(3, 8, dtype=torch.float64)


def rwkv7():
    weights = {"w0": tensor(RNG.uniform(-6.0, 0.0, (1, 1, 12))), "w1": torch.zeros(12, 3)}

    def step_once(h):
        w = -functional.softplus(-weights["w0"]) - 0.5
        return torch.exp(-torch.exp(w)) * h

    return weights, step_once, torch.ones(1, 1, 12, dtype=torch.float64)


def mlstm():
    weights = {"fgate_preact.bias": tensor(np.linspace(3.0, 6.0, 4))}

    def step_once(h):
        capped = 15.0 * torch.tanh(weights["fgate_preact.bias"] / 15.0)
        return torch.exp(functional.logsigmoid(capped)) * h

    return weights, step_once, torch.ones(4, dtype=torch.float64)


DECAYS = {
    "mamba": mamba, "mamba2": mamba2, "rg-lru": rg_lru, "s4d": s4d, "s5": s5, "rwkv": rwkv, "rwkv7": rwkv7, "mlstm": mlstm,
}  # fmt: skip


@pytest.mark.parametrize("name", DECAYS)
def test_horizons_of_decays(name):
    weights, step, state = DECAYS[name]()
    (layer,) = inspect({"layer": weights}).layers
    assert layer.adapter == name
    for path in (layer.forward, layer.gradient):
        assert path.by_e == first_below(step, state, np.exp(-1.0))
        assert path.by_hundred == first_below(step, state, 0.01)
    h, start = state, state.abs().square().sum()
    for k in range(1, 9):
        h = step(h)
        assert layer.forward.log_at(k) == pytest.approx(float((h.abs().square().sum() / start).log()), abs=1e-12)


def test_gated_delta_rule_forgets_by_its_gate_and_by_overwriting():
    """Averaged over keys of length 1 in all directions: E||S (I - beta k k^T)||^2, with 4000 keys per step."""
    A_log, bias = heads(4, 1e-4, 1e-3)
    size, beta = 4, 0.5
    weights = {
        "A_log": tensor(A_log),
        "dt_bias": tensor(bias),
        "q_proj.weight": torch.zeros(4 * size, 8),
        "b_proj.weight": torch.zeros(4, 8),
    }
    (layer,) = inspect({"layer": weights}).layers
    assert layer.adapter == "gated-delta"
    alpha = np.exp(-np.exp(A_log) * np.log1p(np.exp(bias)))
    np.testing.assert_allclose(np.exp(-layer.units.rate), alpha, rtol=1e-12)
    keys = RNG.standard_normal((4000, size))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    kept = np.eye(size) - beta * keys[:, :, None] * keys[:, None, :]
    mean = np.einsum("kij,kij->", kept, kept) / (size * len(keys))  # the same for every key: no error of sampling
    energy = np.mean(alpha[:, None] ** (2 * np.arange(400)) * mean ** np.arange(400), axis=0)
    assert layer.gradient.by_e == int(np.argmax(energy <= np.exp(-1.0)))
    assert layer.gradient.by_hundred == int(np.argmax(energy <= 0.01))


def test_channels_of_kimi_have_the_rate_of_their_head():
    A_log, bias = RNG.normal(0.0, 1.0, (1, 1, 3, 1)), RNG.normal(-3.0, 1.0, 3 * 5)
    weights = {"A_log": tensor(A_log), "dt_bias": tensor(bias), "f_a_proj.weight": torch.zeros(5, 8)}
    (layer,) = inspect({"attention": {"forget_gate": weights}}).layers
    assert layer.units.axes == ("head", "channel")
    wanted = np.exp(A_log.ravel())[:, None] * np.log1p(np.exp(bias.reshape(3, 5)))
    np.testing.assert_allclose(layer.units.rate, wanted, rtol=1e-12)


@pytest.mark.parametrize(("adapter", "per_step"), [("rnn", 1.0), ("rnn-relu", 0.5)])
def test_horizons_of_a_dense_kernel(adapter, per_step):
    """Without inputs the states of tanh die out, and its gradient is that of W; half of the units of a relu are on."""
    n, rng = 40, np.random.default_rng(6)
    W = 0.93 * np.linalg.qr(rng.standard_normal((n, n)))[0] + 0.02 * rng.standard_normal((n, n))
    (layer,) = inspect({"weight_hh_l0": tensor(W)}, adapter=adapter, input_std=0.0).layers
    state, energy = np.eye(n), []
    for k in range(1, 2000):
        state = W @ state
        energy.append(np.log(np.sum(state**2) / n) + k * np.log(per_step))
    energy = np.array(energy)
    assert layer.gradient.by_e == 1 + int(np.argmax(energy <= -1.0))
    assert layer.gradient.by_hundred == 1 + int(np.argmax(energy <= -np.log(100.0)))
    np.testing.assert_allclose(layer.gradient.log_energy, energy[layer.gradient.steps - 1], atol=1e-9)


def test_what_is_left_of_an_input_starts_from_the_input_kernel():
    n = 30
    W, V = (
        0.9 * np.linalg.qr(RNG.standard_normal((n, n)))[0] @ np.diag(np.linspace(0.2, 1.3, n)),
        RNG.standard_normal((n, 2)),
    )
    (layer,) = inspect({"weight_hh": tensor(W), "weight_ih": tensor(V)}, input_std=0.0).layers
    slope = layer.details["mean_square_slope"]
    state = V
    for k in range(1, 6):
        state = W @ state
        wanted = np.log(np.sum(state**2) / np.sum(V**2)) + k * np.log(slope)
        assert layer.forward.log_at(k) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_units_of_gates_keep_what_their_biases_keep(kind):
    """Kernels of zeros: each unit is on its own, c' = sigmoid(b) c."""
    torch.manual_seed(2)
    module = getattr(torch.nn, kind)(3, 7, dtype=torch.float64)
    with torch.no_grad():
        module.weight_hh_l0.zero_()
        module.bias_ih_l0.uniform_(-1.0, 4.0)
    (layer,) = inspect(module, input_std=0.0).layers
    block = 1
    gate = (
        torch.sigmoid((module.bias_ih_l0 + module.bias_hh_l0).chunk(4 if kind == "LSTM" else 3)[block]).detach().numpy()
    )
    np.testing.assert_allclose(layer.units.rate, -np.log(gate), rtol=1e-12)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_gradients_of_gates_are_those_of_drawn_cells(kind):
    """Chrono biases, where mean-field theory is good: gradients of eight draws by autograd, their median within a quarter."""
    n, horizon, logs, promised = 64, 60, [], []
    for seed in range(8):
        torch.manual_seed(seed)
        module = getattr(torch.nn, kind)(4, n)
        from signalprop.initialization.torch import init_recurrent_

        init_recurrent_(
            module,
            horizon,
            kind="gaussian",
            input_std=1.0,
            input_kernel=True,
            generator=torch.Generator().manual_seed(seed),
        )
        (layer,) = inspect(module).layers
        promised.append(layer.gradient.log_at(horizon))
        inputs = torch.randn(2 * horizon, 1, 4)
        with torch.no_grad():
            state = module(inputs[:horizon])[1]
        states = state if kind == "LSTM" else (state,)
        states = tuple(one.detach().requires_grad_() for one in states)
        end = module(inputs[horizon:], states if kind == "LSTM" else states[0])[1]
        ends = end if kind == "LSTM" else (end,)
        back = [torch.randn_like(one) for one in ends]
        gradients = torch.autograd.grad(ends, states, back)
        logs.append(
            np.log(sum(float(g.square().sum()) for g in gradients) / sum(float(b.square().sum()) for b in back))
        )
    assert np.median(logs) == pytest.approx(np.median(promised), rel=0.35)


@pytest.mark.parametrize("kind", ["LRU", "RotRNN", "DenseLinearRNN"])
@pytest.mark.parametrize("options", [{}, {"normalizer": "learned"}])
def test_layers_of_this_package(kind, options):
    """Against the recurrence that the layer says it is, by its own step."""
    from signalprop import nn

    if options and kind != "LRU":
        pytest.skip("of the LRU")
    own = {
        "LRU": {"r_min": 0.7, "r_max": 0.99},
        "RotRNN": {"heads": 2, "gamma_max": 0.99},
        "DenseLinearRNN": {"horizon": 20},
    }[kind]
    torch.manual_seed(3)
    layer = getattr(nn, kind)(3, 8, dtype=torch.float64, **own, **options)
    (report,) = inspect(torch.nn.Sequential(layer)).layers
    assert report.adapter == {"DenseLinearRNN": "dense"}.get(kind, kind.lower())
    assert report.name == "0"
    linear = layer.linear()
    left, back = linear.forward_energy(800, linear.B), linear.gradient_energy(800, linear.C)
    for path, wanted in ((report.forward, left), (report.gradient, back)):
        known = path.steps[path.steps <= 800]
        np.testing.assert_allclose(path.log_energy[: len(known)], np.log(wanted[known]), atol=1e-9)
        assert path.by_e == int(np.argmax(wanted <= np.exp(-1.0)))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_cells_of_flax_are_those_of_torch(kind):
    torch.manual_seed(4)
    gates = "ifgo" if kind == "lstm" else "rzn"
    cell = (torch.nn.LSTMCell if kind == "lstm" else torch.nn.GRUCell)(3, 8, dtype=torch.float64)
    tree = {}
    for i, gate in enumerate(gates):
        block = slice(8 * i, 8 * i + 8)
        tree[f"h{gate}"] = {
            "kernel": cell.weight_hh[block].T.detach().numpy(),
            "bias": cell.bias_hh[block].detach().numpy(),
        }
        tree[f"i{gate}"] = {
            "kernel": cell.weight_ih[block].T.detach().numpy(),
            "bias": cell.bias_ih[block].detach().numpy(),
        }
    (ours,), (theirs,) = inspect(cell).layers, inspect({"params": {"cell": tree}}).layers
    assert theirs.adapter == f"flax-{kind}"
    assert theirs.name == "params.cell"
    assert ours.kernels == theirs.kernels
    np.testing.assert_array_equal(ours.units.rate, theirs.units.rate)
    np.testing.assert_array_equal(ours.gradient.log_energy, theirs.gradient.log_energy)


def test_dense_kernels_by_their_names():
    W = 0.5 * np.eye(4)
    for name in (
        "cell.recurrent_kernel",
        "W_hh",
        "rnn.W_rec",
        "enc.h2h.weight",
        "reservoir",
        "core.hidden_to_hidden.kernel",
    ):
        (layer,) = inspect({name: W}).layers
        assert layer.adapter == "dense"
        assert (layer.gradient.by_e, layer.gradient.by_hundred) == (1, 4)  # 1/4 of the energy per step
    with pytest.raises(ValueError, match="no recurrence"):
        inspect({"mlp.weight": W})
    assert len(inspect({"mlp.weight": W, "bias": np.zeros(4)}, adapter="dense").layers) == 1
    (stacked,) = inspect({"gates.recurrent_kernel": np.hstack([W, 2 * W, 3 * W])}).layers
    assert [kernel.scale for kernel in stacked.kernels] == [0.5, 1.0, 1.5]
    assert stacked.gradient is None


def test_every_adapter_has_its_recurrence_stepped_here():
    here = {*DECAYS, "gated-delta", "rnn", "rnn-relu", "lstm", "gru", "lru", "rotrnn", "flax-lstm", "flax-gru", "dense"}
    assert set(ADAPTERS) == here
