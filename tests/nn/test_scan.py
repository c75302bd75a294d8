import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from signalprop.nn.scan import linear_scan, log_depth_scan, rotation_scan

SCANS = [linear_scan, log_depth_scan]
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
TOLERANCE = {torch.float32: 2e-5, torch.complex64: 2e-5, torch.float64: 1e-13, torch.complex128: 1e-13}


def draw(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def sequential(a, x, initial=None):
    """The definition, one number at a time."""
    a = a.expand(x.shape).numpy()
    y = np.zeros(x.shape, np.result_type(a, x.numpy()))
    for b in range(x.shape[0]):
        for n in range(x.shape[2]):
            state = 0.0 if initial is None else initial[b, n].item()
            for t in range(x.shape[1]):
                state = a[b, t, n] * state + x[b, t, n].item()
                y[b, t, n] = state
    return torch.from_numpy(y)


def assert_near(found, wanted, dtype):
    assert found.dtype == dtype
    torch.testing.assert_close(found, wanted.to(dtype), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("steps", [1, 2, 3, 65, 70])
@pytest.mark.parametrize("shape", ["N", "TN", "BTN", "1", "1TN", "B1N"])
def test_definition(scan, dtype, steps, shape):
    sizes = {"B": 3, "T": steps, "N": 5, "1": 1}
    a = 0.5 * draw(*(sizes[axis] for axis in shape), dtype=dtype)
    x, initial = draw(3, steps, 5, dtype=dtype, seed=1), draw(3, 5, dtype=dtype, seed=2)
    assert_near(scan(a, x, initial), sequential(a, x, initial), dtype)
    assert_near(scan(a, x), sequential(a, x), dtype)


@pytest.mark.parametrize("steps", [1, 5, 66])
@pytest.mark.parametrize("shape", ["N", "TN", "BTN"])
def test_rotations_are_complex_numbers(steps, shape):
    sizes = {"B": 3, "T": steps, "N": 5}
    size = [sizes[axis] for axis in shape]
    decay, angle = draw(*size, seed=1).sigmoid(), 10 * draw(*size, seed=2)
    x, initial = draw(3, steps, 5, 2, seed=3), draw(3, 5, 2, seed=4)
    y = rotation_scan(decay, angle, x, initial)
    as_complex = sequential(torch.polar(decay, angle), torch.view_as_complex(x), torch.view_as_complex(initial))
    torch.testing.assert_close(y, torch.view_as_real(as_complex), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("shape", ["N", "TN", "BTN", "B1N"])
def test_gradients_of_first_and_second_order(dtype, steps, shape):
    sizes = {"B": 2, "T": steps, "N": 3, "1": 1}
    a = draw(*(sizes[axis] for axis in shape), dtype=dtype).requires_grad_()
    x = draw(2, steps, 3, dtype=dtype, seed=1).requires_grad_()
    initial = draw(2, 3, dtype=dtype, seed=2).requires_grad_()
    assert gradcheck(linear_scan, (a, x, initial))
    assert gradgradcheck(linear_scan, (a, x, initial))


def test_gradients_of_rotations():
    decay, angle = draw(3, seed=1).sigmoid().requires_grad_(), draw(6, 3, seed=2).requires_grad_()
    x, initial = draw(2, 6, 3, 2, seed=3).requires_grad_(), draw(2, 3, 2, seed=4).requires_grad_()
    assert gradcheck(rotation_scan, (decay, angle, x, initial))
    assert gradgradcheck(rotation_scan, (decay, angle, x, initial))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", ["N", "TN", "BTN"])
def test_gradients_of_many_blocks_agree(dtype, shape):
    # 200 steps are more than three blocks of the adjoint, the last one not full.
    sizes = {"B": 2, "T": 200, "N": 3}
    arguments = [0.5 * draw(*(sizes[axis] for axis in shape), dtype=dtype)]
    arguments += [draw(2, 200, 3, dtype=dtype, seed=1), draw(2, 3, dtype=dtype, seed=2)]
    g = draw(2, 200, 3, dtype=dtype, seed=3)
    found = []
    for scan in SCANS:
        leaves = [each.clone().requires_grad_() for each in arguments]
        found.append(torch.autograd.grad(scan(*leaves), leaves, g))
    for compiled, plain in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layout_in_memory_does_not_matter(scan, dtype):
    a, x = 0.5 * draw(6, dtype=dtype)[::2], draw(9, 3, 4, dtype=dtype).permute(2, 0, 1)
    assert not x.is_contiguous()
    y = scan(a, x)
    assert torch.equal(y, scan(a.contiguous(), x.contiguous()))
    assert_near(y, sequential(a, x), dtype)


def test_lazy_conjugates_and_expanded_gradients():
    a, x = draw(3, dtype=torch.complex128), draw(2, 5, 3, dtype=torch.complex128)
    torch.testing.assert_close(linear_scan(a.conj(), x.conj()), linear_scan(a, x).conj())
    leaf = x.clone().requires_grad_()
    linear_scan(a, leaf).real.sum().backward()  # the gradient of a sum has stride zero
    other = x.clone().requires_grad_()
    log_depth_scan(a, other).real.sum().backward()
    torch.testing.assert_close(leaf.grad, other.grad)


@pytest.mark.parametrize("scan", SCANS)
def test_nothing_in_nothing_out(scan):
    a = torch.ones(3, requires_grad=True)
    for shape in ((0, 4, 3), (2, 0, 3)):
        y = scan(a, torch.ones(shape))
        assert y.shape == shape
        (gradient,) = torch.autograd.grad(y.sum(), a, materialize_grads=True)
        assert torch.equal(gradient, torch.zeros(3))


def test_many_threads_same_numbers():
    threads = torch.get_num_threads()
    wide, tall = (1, 300, 2000), (7, 300, 400)
    try:
        for shape in (wide, tall):
            found = []
            for count in (1, 3):
                torch.set_num_threads(count)
                a, x = torch.full(shape[2:], 0.9, requires_grad=True), draw(*shape, dtype=torch.float32)
                y = linear_scan(a, x)
                found.append((y, *torch.autograd.grad(y, a, x)))
            for one, many in zip(*found, strict=True):
                assert torch.equal(one, many)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sixteen_bits_are_computed_in_thirtytwo(dtype):
    a, x = torch.full((3,), 0.99), draw(2, 500, 3, dtype=torch.float32).to(dtype)
    assert torch.equal(linear_scan(a.to(dtype), x), linear_scan(a.to(dtype).float(), x.float()).to(dtype))
    assert linear_scan(a, x).dtype == torch.float32


def test_types_are_joined():
    x = draw(2, 4, 3, dtype=torch.float32)
    assert linear_scan(torch.ones(3, dtype=torch.float64), x).dtype == torch.float64
    assert linear_scan(torch.full((3,), 1j), x).dtype == torch.complex64


def test_compiled_model_gives_the_same():
    torch._dynamo.reset()
    a, x = 0.5 * draw(3, dtype=torch.complex128), draw(2, 9, 3, dtype=torch.complex128)
    decay, angle, planes = draw(3).sigmoid(), draw(3), draw(2, 9, 3, 2)

    def model(a, x, decay, angle, planes):
        return linear_scan(a, x).abs().sum() + rotation_scan(decay, angle, planes).sin().sum()

    found = []
    for run in (model, torch.compile(model, backend="aot_eager", fullgraph=True)):
        leaves = [each.clone().requires_grad_() for each in (a, x, decay, angle, planes)]
        value = run(*leaves)
        found.append((value.detach(), *torch.autograd.grad(value, leaves)))
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain)


def test_meta_tensors_have_shapes():
    assert linear_scan(torch.ones(3, device="meta"), torch.ones(2, 5, 3, device="meta")).shape == (2, 5, 3)
    pairs = rotation_scan(
        torch.ones(3, device="meta"), torch.ones(3, device="meta"), torch.ones(2, 5, 3, 2, device="meta")
    )
    assert pairs.shape == (2, 5, 3, 2)


def test_operator_passes_the_checks_of_pytorch():
    from signalprop.nn._scan_operator import scan, scan_adjoint

    a, x, initial = (draw(*size).requires_grad_() for size in ((1, 1, 3, 2), (2, 4, 3, 2), (2, 3, 2)))
    torch.library.opcheck(scan, (a, x, initial))
    torch.library.opcheck(scan_adjoint, (a, x, initial, x), test_utils=("test_schema", "test_faketensor"))


def test_long_sums_of_gradients_stay_exact():
    # The gradient of a = 0 sums x_t y_{t-1} = 1 over 2^20 steps.
    steps = 2**20
    a = torch.zeros(1, requires_grad=True)
    linear_scan(a, torch.ones(1, steps, 1)).sum().backward()
    assert math.isclose(a.grad.item(), steps - 1, rel_tol=1e-6)


@pytest.mark.parametrize("scan", SCANS)
def test_bad_shapes(scan):
    x = torch.ones(2, 4, 3)
    with pytest.raises(ValueError, match=r"inputs must have shape \(batch, time, numbers\), got \(4, 3\)"):
        scan(torch.ones(3), torch.ones(4, 3))
    for a in (torch.ones(4), torch.ones(3, 3), torch.ones(1, 2, 4, 3), torch.tensor(0.5)):
        with pytest.raises(ValueError, match=r"coefficients must have shape \(3,\), \(4, 3\) or \(2, 4, 3\)"):
            scan(a, x)
    with pytest.raises(ValueError, match=r"initial must have shape \(2, 3\), got \(3,\)"):
        scan(torch.ones(3), x, torch.ones(3))
    with pytest.raises(ValueError, match=r"must hold real or complex numbers .* got torch.int64"):
        scan(torch.ones(3).long(), x.long(), torch.ones(2, 3).long())


@pytest.mark.parametrize("scan", SCANS)
def test_bad_kinds(scan):
    a, x = torch.ones(3), torch.ones(2, 4, 3)
    for place, name in enumerate(("coefficients", "inputs", "initial")):
        arguments = [a, x, x[:, 0]]
        arguments[place] = arguments[place].numpy()
        with pytest.raises(ValueError, match=f"{name} must be a torch.Tensor, got ndarray"):
            scan(*arguments)


def test_bad_rotations():
    with pytest.raises(ValueError, match=r"decay must be a torch.Tensor, got float"):
        rotation_scan(0.5, torch.ones(3), torch.ones(2, 4, 3, 2))
    with pytest.raises(ValueError, match=r"decay and angle must fit each other, got \(4, 3\) and \(2,\)"):
        rotation_scan(torch.ones(4, 3), torch.ones(2), torch.ones(2, 4, 3, 2))
    with pytest.raises(ValueError, match=r"angle must be a torch.Tensor, got NoneType"):
        rotation_scan(torch.ones(3), None, torch.ones(2, 4, 3, 2))
    x = torch.ones(2, 4, 3, 2)
    with pytest.raises(ValueError, match=r"inputs must have shape \(batch, time, planes, 2\), got \(2, 4, 3\)"):
        rotation_scan(torch.ones(3), torch.ones(3), x[..., 0])
    with pytest.raises(ValueError, match=r"angle must hold real numbers, got type torch.complex64"):
        rotation_scan(torch.ones(3), torch.full((3,), 1j), x)
    with pytest.raises(ValueError, match=r"decay and angle must have shape \(3,\), \(4, 3\) or \(2, 4, 3\)"):
        rotation_scan(torch.ones(4), torch.ones(4), x)
    with pytest.raises(ValueError, match=r"initial must have shape \(2, 3, 2\)"):
        rotation_scan(torch.ones(3), torch.ones(3), x, torch.ones(2, 3))
