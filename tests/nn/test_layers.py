import copy
import io

import numpy as np
import pytest
import torch
from layers import BOUNDED, MAKERS, by_definition, draw, make
from scipy import stats
from torch.autograd import gradcheck
from torch.nn import functional

from signalprop import safe_scale
from signalprop.nn import LRU, Bidirectional, DenseLinearRNN, RotRNN, parameter_groups

KINDS = list(MAKERS)


def near(found, wanted, tolerance=1e-12):
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [1, 2, 7, 33])
def test_definition(kind, steps):
    layer, inputs = make(kind), draw(2, steps, 3)
    outputs, energy = by_definition(layer, inputs)
    near(layer(inputs), outputs)
    near(layer.states(inputs).square().sum(-1), energy)
    near(layer.state_energy(inputs), energy.mean(0))


@pytest.mark.parametrize("kind", KINDS)
def test_without_feedthrough(kind):
    layer, inputs = make(kind, feedthrough=False), draw(2, 7, 3)
    assert "D" not in dict(layer.named_parameters())
    near(layer(inputs), by_definition(layer, inputs)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_and_chunks_are_the_sequence(kind):
    layer, inputs = make(kind), draw(2, 12, 3)
    whole = layer(inputs)
    state = layer.initial_state(2)
    outputs = []
    for u in inputs.unbind(1):
        y, state = layer.step(u, state)
        outputs.append(y)
    near(torch.stack(outputs, 1), whole)
    state = layer.initial_state(2)
    chunks = []
    for chunk in inputs.split([0, 5, 1, 6, 0], 1):
        y, state = layer.advance(chunk, state)
        chunks.append(y)
    near(torch.cat(chunks, 1), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    layer, inputs = make(kind), draw(2, 4, 3).requires_grad_()
    names = [name for name, _ in layer.named_parameters()]
    leaves = [parameter.detach().clone().requires_grad_() for parameter in layer.parameters()]

    def outputs(inputs, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (inputs,))

    assert gradcheck(outputs, (inputs, *leaves))


@pytest.mark.parametrize("kind", KINDS)
def test_empty_batch_and_empty_sequence(kind):
    layer = make(kind)
    assert layer(torch.empty(0, 4, 3).double()).shape == (0, 4, 3)
    assert layer(torch.empty(2, 0, 3).double()).shape == (2, 0, 3)


@pytest.mark.parametrize("size", [2, 6])
@pytest.mark.parametrize("heads", [1, 3])
def test_rotrnn_is_an_lru_with_shared_moduli(size, heads):
    torch.manual_seed(size)
    rotrnn = RotRNN(3, size * heads, heads=heads, dtype=torch.float64)
    lru = LRU(3, size * heads // 2, dtype=torch.float64)
    with torch.no_grad():
        p = torch.linalg.matrix_exp(rotrnn.M - rotrnn.M.mT)
        b = p.mT @ rotrnn.B / torch.linalg.vector_norm(rotrnn.B, dim=(1, 2), keepdim=True)
        c = torch.cat([rotrnn.C[:, h * size : (h + 1) * size] @ p[h] for h in range(heads)], 1)
        lru.nu.copy_(rotrnn.g.repeat_interleave(size // 2))
        lru.theta.copy_(rotrnn.theta.flatten().log())
        lru.B.copy_(b.reshape(-1, 2, 3))
        lru.C.copy_(c.reshape(3, -1, 2) * torch.tensor([1.0, -1.0]))
        lru.D.copy_(rotrnn.D)
    inputs = draw(2, 200, 3)
    near(lru(inputs), rotrnn(inputs), 1e-10)


def test_conjugate_pair_is_a_plane():
    # lambda = r e^{+-i theta}, rows b and conj(b), readout c and conj(c): two complex states against one real head.
    torch.manual_seed(3)
    rotrnn = RotRNN(2, 2, feedthrough=False, dtype=torch.float64)
    with torch.no_grad():
        rotrnn.M.zero_()
    b = rotrnn.B.detach()[0].numpy()
    r = np.exp(-np.exp(rotrnn.g.item()))
    xi = np.sqrt((1 - r**2) / (b**2).sum())
    b, c = xi * (b[0] + 1j * b[1]), rotrnn.C.detach().numpy() @ np.array([0.5, -0.5j])
    inputs = draw(1, 50, 2)
    state = np.zeros(2, complex)
    turn = r * np.exp(1j * rotrnn.theta.item() * np.array([1, -1]))
    outputs = []
    for u in inputs[0].numpy():
        state = turn * state + np.array([b @ u, b.conj() @ u])
        outputs.append(c * state[0] + c.conj() * state[1])
    near(rotrnn(inputs)[0], torch.from_numpy(np.array(outputs).real), 1e-10)
    assert np.abs(np.array(outputs).imag).max() < 1e-14


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_bidirectional_is_two_passes_over_the_inputs(kind, other):
    both, inputs = Bidirectional(make(kind), make(other, seed=1, feedthrough=False)), draw(3, 9, 3)
    back = both.back(inputs.flip(1)).flip(1)
    near(both(inputs), both.ahead(inputs) + back)
    near(both(inputs, torch.tensor([9, 9, 9])), both(inputs))
    lengths = [9, 4, 1]
    padded = both(inputs, torch.tensor(lengths))
    for item, length in enumerate(lengths):
        near(padded[item, :length], both(inputs[item : item + 1, :length])[0])


def test_lru_starts_on_the_ring():
    torch.manual_seed(0)
    layer = LRU(20, 4000, r_min=0.4, r_max=0.9, max_phase=2.0, normalizer="learned", dtype=torch.float64)
    modulus = torch.exp(-torch.exp(layer.nu)).detach().numpy()
    assert stats.kstest(modulus**2, stats.uniform(0.16, 0.81 - 0.16).cdf).pvalue > 0.01
    assert stats.kstest(layer.theta.exp().detach().numpy(), stats.uniform(0, 2.0).cdf).pvalue > 0.01
    near(layer.gamma_log.exp(), torch.sqrt(1 - torch.from_numpy(modulus) ** 2))
    for weights, parts_of in ((layer.B, 2 / (1 / 20)), (layer.C, 2 / (2 / 4000))):
        squares = (weights.detach().square() * parts_of).numpy()
        assert abs(squares.mean() - 1) < 4 * np.sqrt(2 / squares.size)


def test_rotrnn_starts_between_its_bounds():
    torch.manual_seed(0)
    layer = RotRNN(2, 8000, heads=2000, gamma_min=0.5, gamma_max=0.999, max_phase=0.3, dtype=torch.float64)
    low, high = np.log(-np.log(0.999)), np.log(-np.log(0.5))
    assert stats.kstest(layer.g.detach().numpy(), stats.uniform(low, high - low).cdf).pvalue > 0.01
    assert stats.kstest(layer.theta.detach().flatten().numpy(), stats.uniform(0, 0.3).cdf).pvalue > 0.01


def test_dense_starts_at_the_safe_scale_or_orthogonal():
    torch.manual_seed(0)
    layer = DenseLinearRNN(2, 300, horizon=50, scale_options=BOUNDED)
    wanted = safe_scale(300, 50, criterion="bounded").scale ** 2 / 300
    assert abs(layer.W.square().mean().item() / wanted - 1) < 4 * np.sqrt(2 / 300**2)
    layer = DenseLinearRNN(2, 50, horizon=50, kernel="orthogonal", dtype=torch.float64)
    near(layer.W @ layer.W.T, torch.eye(50).double())
    # Norm-keeping W: E||x_t||^2/d_state = t/(horizon + 1) in the mean over B.
    energy = layer.B.square().sum().item() / 50 * 51
    assert abs(energy - 1) < 4 * np.sqrt(2 / layer.B.numel())


def test_normaliser_follows_the_weights_or_is_learned():
    recomputed, learned = make("lru"), make("lru learned")
    inputs = draw(1, 5, 3)
    near(recomputed(inputs), learned(inputs))
    for layer in (recomputed, learned):
        with torch.no_grad():
            layer.nu.add_(1.0)
        near(layer(inputs), by_definition(layer, inputs)[0])
    assert not torch.allclose(recomputed(inputs), learned(inputs))


@pytest.mark.parametrize("log_rate", [-17.0, -25.0, -40.0])
def test_no_cancellation_near_one(log_rate):
    # gamma is 1 - 4e-8 and closer: one in float32, but 1 - gamma^2 is not zero.
    for kind, name in (("rotrnn", "g"), ("lru", "nu")):
        enters = []
        for dtype in (torch.float32, torch.float64):
            layer = make(kind, dtype=torch.float64).to(dtype)
            with torch.no_grad():
                getattr(layer, name).fill_(log_rate)
            enters.append(layer.system().enter.double())
            loss = layer(draw(1, 4, 3, dtype=dtype)).sum()
            assert all(torch.isfinite(each).all() for each in torch.autograd.grad(loss, list(layer.parameters())))
        torch.testing.assert_close(*enters, rtol=1e-4, atol=0.0)
        assert enters[0].abs().max() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_mixed_precision_keeps_the_dynamics_in_float32(kind):
    layer, inputs = make(kind, dtype=torch.float32), draw(2, 50, 3, dtype=torch.float32)
    plain, system = layer(inputs), layer.system()
    with torch.autocast("cpu", torch.bfloat16):
        for inside, outside in zip(layer.system()[1:3], system[1:3], strict=True):
            assert torch.equal(inside, outside)
        states, mixed = layer.states(inputs), layer(inputs)
        layer(inputs.bfloat16()).sum().backward()
        drive = functional.linear(inputs, system.enter)
    assert drive.dtype == torch.bfloat16
    assert states.dtype == mixed.dtype == torch.float32
    drive = drive.float()
    if system.first is not None:
        drive[:, 0] *= system.first
    gates = layer._gates(inputs, system)
    drive, transition = (drive, system.transition) if gates is None else (gates.enter * drive, (gates.decay,))
    assert torch.equal(states, layer._scan(transition, drive, torch.zeros_like(drive[:, 0])))
    # Rounding to 8 bits happens to inputs, weights and outputs, but is not accumulated over time.
    scale = plain.abs().max().item()
    assert 0 < (mixed - plain).abs().max().item() < 0.05 * scale
    assert all(parameter.grad.dtype == torch.float32 for parameter in layer.parameters())
    half = layer(inputs.bfloat16())
    assert half.dtype == torch.bfloat16
    assert (half.float() - plain).abs().max().item() < 0.05 * scale


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_copied(kind):
    layer, inputs = make(kind), draw(2, 6, 3)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = make(kind, seed=7)
    assert not torch.equal(other(inputs), layer(inputs))
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(inputs), layer(inputs))
    assert torch.equal(copy.deepcopy(layer)(inputs), layer(inputs))
    layer.reset_parameters()
    assert not torch.equal(other(inputs), layer(inputs))


def test_parameters_of_the_dynamics_apart():
    layer = make("rotrnn")
    rest, dynamics = parameter_groups(layer, 1e-2, weight_decay=0.1, dynamics_factor=0.5)
    assert {id(each) for each in dynamics["params"]} == {id(each) for each in (layer.g, layer.theta, layer.M)}
    assert {id(each) for each in rest["params"]} == {id(each) for each in (layer.B, layer.C, layer.D)}
    assert (rest["lr"], rest["weight_decay"], dynamics["lr"], dynamics["weight_decay"]) == (1e-2, 0.1, 5e-3, 0.0)


@pytest.mark.parametrize("kind", ["lru", "rotrnn odd", "dense"])
def test_not_finite_is_named(kind):
    layer, inputs = make(kind, check_finite=True), draw(2, 6, 3)
    layer(inputs)
    broken = inputs.clone()
    broken[1, 4, 2] = torch.nan
    name = type(layer).__name__
    with pytest.raises(
        ValueError, match=rf"the inputs of {name}\(d_model=3, .*\) become nan at step 4 of batch item 1"
    ):
        layer(broken)
    assert torch.isnan(make(kind)(broken)[1, 4:]).any()
    with torch.no_grad():
        layer.C.fill_(torch.inf)
    with pytest.raises(
        FloatingPointError, match=rf"the outputs of {name}.* at step 0 of batch item 0 .*inputs are finite"
    ):
        layer(inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_inputs(kind):
    layer = make(kind)
    for shape in ((4, 3), (2, 4, 5)):
        with pytest.raises(ValueError, match=r"inputs must have shape \(batch, time, 3\), got"):
            layer(torch.ones(shape).double())
    with pytest.raises(ValueError, match=r"inputs must be real floating-point numbers, got type torch.int64"):
        layer(torch.ones(2, 4, 3).long())
    with pytest.raises(ValueError, match=r"the inputs of a step must have shape \(batch, 3\)"):
        layer.step(torch.ones(2, 4, 3).double(), layer.initial_state(2))
    with pytest.raises(ValueError, match=r"the state has a batch of 1, got a batch of 2"):
        layer.step(torch.ones(2, 3).double(), layer.initial_state(1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LRU(0, 4), "d_model must be at least 1, got 0"),
        (lambda: LRU(4, 2.5), "d_state must be a whole number, got 2.5"),
        (lambda: LRU(4, 4, r_min=0.9, r_max=0.5), "and r_max > 0, got r_min=0.9 and r_max=0.5"),
        (lambda: LRU(4, 4, r_max=1.1), "got r_min=0.0 and r_max=1.1"),
        (lambda: LRU(4, 4, max_phase=7.0), r"max_phase must lie in \(0, 2 pi\], got 7.0"),
        (lambda: LRU(4, 4, normalizer="none"), "normalizer must be one of .* got 'none'"),
        (lambda: LRU(4, 4, feedthrough="no"), "feedthrough must be True or False, got 'no'"),
        (lambda: LRU(4, 4, check_finite=1), "check_finite must be True or False, got 1"),
        (lambda: LRU(4, 4, dtype="bfloat16"), "the parameters are float16, .* got dtype=bfloat16"),
        (lambda: RotRNN(4, 8, first_step_rule="false"), "first_step_rule must be True or False, got 'false'"),
        (lambda: Bidirectional(LRU(4, 4), 3), "back must be a torch.nn.Module, got int"),
        (lambda: Bidirectional(LRU(4, 4), LRU(5, 4)), "must have the same d_model, got d_model=4 and d_model=5"),
        (lambda: LRU(4, 4)(3.0), "inputs must be a torch.Tensor, got float"),
        (lambda: Bidirectional(LRU(4, 4), LRU(4, 4))(None), "inputs must be a torch.Tensor, got NoneType"),
        (lambda: LRU(4, 4, dtype=torch.complex64), "float32 or float64, got dtype=torch.complex64"),
        (lambda: RotRNN(4, 4, dtype=torch.float8_e5m2), "float32 or float64, got dtype=torch.float8_e5m2"),
        (lambda: RotRNN(4, 10, heads=4), "divisible by the number of heads, got d_state=10 and heads=4"),
        (lambda: RotRNN(4, 8, heads=0), "heads must be at least 1, got 0"),
        (lambda: RotRNN(4, 8, gamma_max=1.0), "0 < gamma_min <= gamma_max < 1, got gamma_min=0.9 and gamma_max=1.0"),
        (lambda: RotRNN(4, 8, gamma_min=0.0), "got gamma_min=0.0"),
        (lambda: RotRNN(4, 8, gamma_min=float("nan")), "got gamma_min=nan"),
        (lambda: RotRNN(4, 8, max_phase=0.0), r"max_phase must lie in \(0, 2 pi\], got 0.0"),
        (lambda: DenseLinearRNN(4, 8, horizon=0), "horizon must be at least 1, got 0"),
        (lambda: DenseLinearRNN(4, 8, horizon=9, scale_options="glorot"), "scale_options must be a dict, got str"),
        (lambda: DenseLinearRNN(4, 8, horizon=9, kernel="haar"), "kernel must be one of .* got 'haar'"),
        (lambda: DenseLinearRNN(4, 8, horizon=9, kernel="orthogonal", scale_options=BOUNDED), "no scale to choose"),
        (lambda: DenseLinearRNN(4, 8, horizon=9, scale_options={"criterion": "x"}), "criterion must be one of"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
