"""The recursions against PyTorch's own cells: exact in their assumptions with fresh weights, as measured with one W."""

import numpy as np
import pytest

from signalprop.meanfield import chrono_biases, gru_gradient, lstm_gradient
from signalprop.meanfield._gates import rule, unit_means
from signalprop.meanfield.gated import _candidate

torch = pytest.importorskip("torch")


def log_energies(kind, n, steps, g, s, biases, draws, *, fresh, burn):
    """log of the energy of a gradient through PyTorch's cell by torch.autograd, a random direction at its end."""
    gates = {"lstm": 4, "gru": 3}[kind]
    make = torch.Generator().manual_seed(2)
    options = {"generator": make, "dtype": torch.float64}
    cell = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}[kind](gates * n, n, dtype=torch.float64)
    parameters = {
        "weight_ih": torch.eye(gates * n, dtype=torch.float64),
        "bias_ih": torch.cat([torch.as_tensor(np.broadcast_to(one, n).copy(), dtype=torch.float64) for one in biases]),
        "bias_hh": torch.zeros(gates * n, dtype=torch.float64),
    }

    def weights():
        return torch.randn(gates * n, n, **options) * g / n**0.5

    def step(state, w):
        x = s * torch.randn(1, gates * n, **options)
        new = torch.func.functional_call(
            cell, {**parameters, "weight_hh": w}, (x, state if kind == "lstm" else state[0])
        )
        return new if kind == "lstm" else (new,)

    found = []
    for _ in range(draws):
        w, state = weights(), (torch.zeros(1, n, dtype=torch.float64),) * (2 if kind == "lstm" else 1)
        with torch.no_grad():
            for _ in range(burn):
                state = step(state, weights() if fresh else w)
        begin = state = tuple(one.clone().requires_grad_() for one in state)
        for _ in range(steps):
            state = step(state, weights() if fresh else w)
        loss = sum((one * torch.randn(1, n, **options)).sum() for one in state)
        parts = torch.autograd.grad(loss, begin)
        found.append(float(sum((part**2).sum() for part in parts)) / n / len(parts))
    return np.log(found)


CASES = [
    ("lstm", 1.0, 1.0, {"forget_gate": 1.0}),
    ("lstm", 3.0, 0.5, {"input_gate": 0.5, "candidate": 0.7, "output_gate": -0.3}),
    ("gru", 1.0, 1.0, {"update_gate": 1.0}),
    ("gru", 1.5, 0.5, {"reset_gate": 0.5, "candidate": 0.7}),
]
ORDER = {
    "lstm": ("input_gate", "forget_gate", "candidate", "output_gate"),
    "gru": ("reset_gate", "update_gate", "candidate"),
}
LAW = {"lstm": lstm_gradient, "gru": gru_gradient}


@pytest.mark.parametrize(("kind", "g", "s", "biases"), CASES)
def test_fresh_weights(kind, g, s, biases):
    steps = 8
    listed = [biases.get(name, 0.0) for name in ORDER[kind]]
    found = np.exp(log_energies(kind, 96, steps, g, s, listed, 24, fresh=True, burn=12))
    law = LAW[kind](steps, g, s, **biases)
    noise = found.std() / found.mean() / np.sqrt(found.size)
    assert noise < 0.1
    assert found.mean() / np.exp(law.log_energy[-1]) == pytest.approx(1.0, abs=0.08 + 3.5 * noise)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "g", "bias", "measured"),
    [("lstm", 1.0, 1.0, -40.8), ("lstm", 3.0, 1.0, 3.0), ("gru", 1.0, 1.0, -47.6), ("gru", 3.0, 1.0, -3.9)],
)
def test_one_w_as_far_off_as_stated(kind, g, bias, measured):
    gate = ORDER[kind][1]
    listed = [bias if name == gate else 0.0 for name in ORDER[kind]]
    found = np.median(log_energies(kind, 128, 100, g, 1.0, listed, 12, fresh=False, burn=50))
    assert found == pytest.approx(measured, abs=2.5)
    assert LAW[kind](100, g, 1.0, **{gate: bias}).log_energy[-1] < found - 4.0


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "measured"), [("lstm", -4.6), ("gru", -4.2)])
def test_chrono_biases_within_half_a_unit_of_log(kind, measured):
    forget = chrono_biases(128, 100)
    listed = [-forget, forget, 0.0, 0.0] if kind == "lstm" else [0.0, forget, 0.0]
    found = np.median(log_energies(kind, 128, 100, 1.0, 1.0, listed, 8, fresh=False, burn=200))
    named = {"input_gate": -forget, "forget_gate": forget} if kind == "lstm" else {"update_gate": forget}
    assert found == pytest.approx(measured, abs=0.4)
    assert LAW[kind](100, 1.0, 1.0, **named).log_energy[-1] == pytest.approx(found, abs=0.8)


def test_states_settle_where_pytorch_has_them():
    for kind, biases in (
        ("lstm", {"candidate": 0.8, "forget_gate": 1.0}),
        ("gru", {"candidate": 0.8, "candidate_hidden": 0.5}),
    ):
        torch.manual_seed(0)
        n, g, s = 512, 2.0, 0.7
        gates = {"lstm": 4, "gru": 3}[kind]
        cell = {"lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}[kind](1, n)
        order = ORDER[kind]
        with torch.no_grad():
            cell.weight_ih.zero_()
            cell.bias_hh.zero_()
            if kind == "gru":
                cell.bias_hh[2 * n :] = biases["candidate_hidden"]
            state, mean = torch.zeros(1, n), []
            state = (state, state) if kind == "lstm" else state
            for step in range(30):
                cell.weight_hh.copy_(torch.randn(gates * n, n) * g / n**0.5)
                for place, name in enumerate(order):
                    cell.bias_ih[place * n : (place + 1) * n] = biases.get(name, 0.0) + s * torch.randn(n)
                state = cell(torch.zeros(1, 1), state)
                if step >= 20:
                    mean.append(float((state[0] ** 2).mean()))
        assert LAW[kind](0, g, s, **biases).state_energy == pytest.approx(np.mean(mean), rel=0.05)


def test_without_coupling_a_unit_keeps_its_gate():
    """g to 0: the energy of unit i falls by E f_i^2 per step, whatever the others do."""
    forget, steps, s = np.array([0.0, 2.0, 5.0]), 20, 0.8
    f2 = unit_means(lambda a: 1.0 / (1.0 + np.exp(-a)) ** 2, forget, np.asarray(s * s))
    path = lstm_gradient(steps, 1e-6, s, forget_gate=forget).log_energy
    law = gru_gradient(steps, 1e-6, s, update_gate=forget).log_energy
    assert law == pytest.approx(np.log([np.mean(f2**t) for t in range(steps + 1)]), rel=1e-9)
    # A tangent of c passes once to h in each step: half of the start is in h and lost.
    assert np.diff(path)[-1] == pytest.approx(np.diff(law)[-1], abs=1e-2)


def test_means_of_gates_against_monte_carlo_and_quadrature():
    from scipy import integrate, stats

    for mean, variance in ((0.0, 1e-4), (2.0, 1.0), (-3.0, 30.0)):
        want = integrate.quad(
            lambda a, m=mean, v=variance: stats.norm.pdf(a, m, v**0.5) * np.tanh(a) ** 4,
            mean - 12 * variance**0.5, mean + 12 * variance**0.5, epsabs=1e-14, epsrel=1e-13, limit=500,
        )[0]  # fmt: skip
        found = unit_means(lambda a: np.tanh(a) ** 4, np.array([mean]), np.asarray(variance))
        assert found[0] == pytest.approx(want, rel=1e-11)
    z, weights = rule(1.0)
    assert [float(weights @ z**k) for k in (2, 4)] == pytest.approx([1.0, 3.0], rel=1e-13)


def test_what_passes_through_the_candidate_of_a_gru_by_definition():
    """E (1 - k^2)^2 (r^2 + r'^2 y^2) over three independent Gaussians, in place of y given u + r y."""
    from numpy.polynomial.hermite_e import hermegauss

    gate, hidden, s = 0.7, 0.5, 0.6
    biases = {"reset_gate": np.array([0.3]), "candidate": np.array([0.4]), "candidate_hidden": np.array([-0.5])}
    z, weights = hermegauss(60)
    weights = weights / weights.sum()
    r = 1.0 / (1.0 + np.exp(-0.3 - gate**0.5 * z))[:, None, None]
    y, u = (-0.5 + hidden**0.5 * z)[:, None], 0.4 + s * z
    k = np.tanh(u + r * y)
    through = (1.0 - k**2) ** 2 * (r**2 + (r * (1.0 - r)) ** 2 * y**2)
    want = [np.einsum("abc,a,b,c->", one, weights, weights, weights) for one in (k, k**2, through)]
    found = [float(one[0]) for one in _candidate(biases, gate, hidden, s)]
    assert found == pytest.approx(want, rel=1e-8)


def test_cells_with_a_mean_settle_where_draws_do():
    """One LSTM unit without coupling, 20000 copies, candidates of one sign: E c is not 0."""
    rng = np.random.default_rng(6)
    s, forget, candidate = 1.0, 0.5, 0.7
    c = np.zeros(20_000)
    for _ in range(60):
        f, i, k = (b + s * rng.standard_normal(c.size) for b in (forget, 0.0, candidate))
        c = c / (1.0 + np.exp(-f)) + np.tanh(k) / (1.0 + np.exp(-i))
    o = 1.0 / (1.0 + np.exp(-s * rng.standard_normal(c.size)))
    h2 = (o * np.tanh(c)) ** 2
    found = lstm_gradient(0, 1e-6, s, forget_gate=forget, candidate=candidate).state_energy
    assert found == pytest.approx(h2.mean(), rel=0.03)  # four standard errors, and c is not quite Gaussian


@pytest.mark.parametrize(("features", "low", "high"), [(1, 0.1, 0.4), (8, 0.2, 0.55), (0, 0.85, 1.1)])
def test_states_grow_where_few_features_move_all_gates(features, low, high):
    """Chrono biases at s = 2: what is found over what is drawn; 0 features are inputs of its own for each gate and unit."""
    rng, n, s, steps = np.random.default_rng(9), 128, 2.0, 500
    b = chrono_biases(n, 100, s)
    found = lstm_gradient(0, 1.0, s, input_gate=-b, forget_gate=b).state_energy
    drawn = []
    for _ in range(6):
        w, u = (rng.standard_normal((4 * n, size)) / np.sqrt(max(size, 1)) for size in (n, features))
        h = c = np.zeros(n)
        for t in range(steps):
            x = rng.standard_normal(4 * n) if features == 0 else u @ rng.standard_normal(features)
            i, f, k, o = (w @ h + s * x).reshape(4, n)
            i, f, o = (1.0 / (1.0 + np.exp(-a)) for a in (i - b, f + b, o))
            c = f * c + i * np.tanh(k)
            h = o * np.tanh(c)
            drawn += [np.mean(h**2)] * (t >= 250)
    assert low < found / np.mean(drawn) < high


def test_equal_units_are_one_unit():
    one = gru_gradient(30, 2.0, 0.5, update_gate=1.0)
    many = gru_gradient(30, 2.0, 0.5, update_gate=np.ones(5), reset_gate=np.zeros(5))
    assert one.log_energy == pytest.approx(many.log_energy, rel=1e-12)
    assert one.log_energy.shape == (31,)
    assert one.log_energy[0] == 0.0


def test_long_products_stay_in_range():
    path = lstm_gradient(5000, 1.0, 1.0).log_energy
    assert path[-1] < -5000
    assert path[-1] - path[-2] == pytest.approx(path[-2] - path[-3], rel=1e-9)


def test_chrono_biases_follow_their_law():
    from scipy import stats

    found = np.exp(chrono_biases(1000, 50.0))
    assert stats.kstest(found, stats.uniform(1.0, 48.0).cdf).statistic < 1e-3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lstm_gradient(10, 0.0, 1.0), "scale must be a positive finite number, got 0.0"),
        (lambda: lstm_gradient(10, 1e3, 1.0), "scale must lie between 1e-06 and 100"),
        (lambda: lstm_gradient(10, 1.0, -1.0), "input_std must lie between 0 and 100"),
        (lambda: gru_gradient(10**7, 1.0, 1.0), "horizon must be at most 1000000"),
        (
            lambda: gru_gradient(10, 1.0, 1.0, update_gate=[1.0, 2.0], reset_gate=[1.0, 2.0, 3.0]),
            "must have one entry for each unit",
        ),
        (lambda: gru_gradient(10, 1.0, 1.0, update_gate=np.zeros((2, 2))), "update_gate must be a number or a list"),
        (
            lambda: lstm_gradient(10, 1.0, 1.0, forget_gate=[1.0, 1000.0]),
            "forget_gate must lie between -100 and 100, got 1000",
        ),
        (lambda: chrono_biases(4, 2.0), "memory must be above 2 steps"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
