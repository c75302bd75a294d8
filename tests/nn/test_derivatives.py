"""Forward mode, `torch.func` and mixed orders of the scans; `log_depth_scan`, plain PyTorch, is the oracle."""

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

from signalprop.nn import _dense_scan, _scan_operator
from signalprop.nn.scan import linear_scan, log_depth_scan, rotation_scan

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # inside PyTorch's forward mode
DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
SHAPES = ["N", "TN", "BTN", "1TN", "B1N", "1"]
BATCH, STEPS, NUMBERS = 2, 5, 3


def draw(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def arguments(shape="TN", dtype=torch.float64, initial=True, seed=0):
    sizes = {"B": BATCH, "T": STEPS, "N": NUMBERS, "1": 1}
    made = [0.7 * draw(*(sizes[axis] for axis in shape), dtype=dtype, seed=seed)]
    made.append(draw(BATCH, STEPS, NUMBERS, dtype=dtype, seed=seed + 1))
    if initial:
        made.append(draw(BATCH, NUMBERS, dtype=dtype, seed=seed + 2))
    return tuple(made)


def rotations(shape="TN", seed=0):
    decay, x, initial = arguments(shape, seed=seed)
    angle = draw(*decay.shape, seed=seed + 3)
    return decay, angle, torch.stack([x, x.cos()], -1), torch.stack([initial, initial.sin()], -1)


def plain_rotation(decay, angle, x, initial):
    """The oracle of `rotation_scan`: complex numbers in plain PyTorch."""
    a = torch.complex(decay * angle.cos(), decay * angle.sin())
    y = log_depth_scan(a, torch.complex(x[..., 0], x[..., 1]), torch.complex(initial[..., 0], initial[..., 1]))
    return torch.stack([y.real, y.imag], -1)


def near(found, wanted, tolerance=1e-11):
    torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


def test_tangent_by_hand():
    # dy_t = dy_{t-1}/2 + 1
    half, ones = torch.tensor([0.5]), torch.ones(1, 4, 1)
    y, tangent = jvp(lambda x: linear_scan(half, x), (draw(1, 4, 1, dtype=torch.float32),), (ones,))
    assert y.shape == tangent.shape
    assert tangent.flatten().tolist() == [1.0, 1.5, 1.75, 1.875]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("initial", [False, True])
def test_tangents(dtype, shape, initial):
    tolerance = 1e-5 if dtype in (torch.float32, torch.complex64) else 1e-12
    primals, tangents = arguments(shape, dtype, initial), arguments(shape, dtype, initial, seed=7)
    for place in [None, *range(len(primals))]:  # all arguments at once, then one alone
        some = [each if place in (None, i) else torch.zeros_like(each) for i, each in enumerate(tangents)]
        y, tangent = jvp(linear_scan, primals, tuple(some))
        wanted_y, wanted = jvp(log_depth_scan, primals, tuple(some))
        near(y, wanted_y, tolerance)
        near(tangent, wanted, tolerance)
        assert tangent.dtype == dtype


@pytest.mark.parametrize("shape", SHAPES)
def test_tangents_of_rotations(shape):
    primals, tangents = rotations(shape), rotations(shape, seed=7)
    near(jvp(rotation_scan, primals, tangents), jvp(plain_rotation, primals, tangents))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_dual_numbers(dtype, place):
    primals, tangents = arguments(dtype=dtype), arguments(dtype=dtype, seed=7)
    found = []
    for scan in (linear_scan, log_depth_scan):
        with forward_ad.dual_level():
            some = [
                forward_ad.make_dual(p, t) if i == place else p
                for i, (p, t) in enumerate(zip(primals, tangents, strict=True))
            ]
            found.append(forward_ad.unpack_dual(scan(*some)).tangent)
    near(*found)


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")  # inside PyTorch's linearize
def test_linearize():
    primals, tangents = arguments(), arguments(seed=7)
    _, push = linearize(linear_scan, *primals)
    near(push(*tangents), jvp(log_depth_scan, primals, tangents)[1])


@pytest.mark.parametrize(("dtype", "shape"), [(torch.float64, "BTN"), (torch.complex128, "N")])
def test_forward_mode_against_differences(dtype, shape):
    leaves = [each[..., :2].clone().requires_grad_() for each in arguments(shape, dtype)]
    assert gradcheck(
        linear_scan, leaves, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert gradgradcheck(linear_scan, leaves, check_fwd_over_rev=True, check_rev_over_rev=True)


TRANSFORMS = {
    "grad": grad,
    "vjp": lambda f, place: (
        lambda *x: vjp(lambda leaf: f(*x[:place], leaf, *x[place + 1 :]), x[place])[1](torch.tensor(1.0).double())
    ),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "hessian": hessian,
    "reverse over reverse": lambda f, place: jacrev(jacrev(f, place), place),
    "reverse over forward": lambda f, place: jacrev(jacfwd(f, place), place),
    "forward over forward": lambda f, place: jacfwd(jacfwd(f, place), place),
    "mixed": lambda f, place: jacfwd(jacrev(f, place), (place + 1) % 3),
    "third": lambda f, place: (
        lambda *x: jvp(
            lambda leaf: hessian(f, place)(*x[:place], leaf, *x[place + 1 :]), (x[place],), (x[place].cos(),)
        )
    ),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(("shape", "pairs"), [("N", False), ("BTN", False), ("TN", True)])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_transforms(name, shape, place, pairs):
    a, x, initial = arguments(shape)
    angle = draw(*a.shape, seed=4)

    def loss(scan):
        def of_reals(a, x, initial):
            return (scan(a, x, initial) ** 3).sin().sum()

        def of_planes(a, x, initial):
            turned = scan(a, angle, torch.stack([x, x.cos()], -1), torch.stack([initial, initial.sin()], -1))
            return (turned**3).sin().sum()

        return of_planes if pairs else of_reals

    scans = (rotation_scan, plain_rotation) if pairs else (linear_scan, log_depth_scan)
    found, wanted = (TRANSFORMS[name](loss(scan), place)(a, x, initial) for scan in scans)
    near(found, wanted, 1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "batched", [(0, None, None), (None, 0, None), (None, None, 0), (1, 0, None), (-1, 2, 1), (0, 0, 0)]
)
def test_vmap(dtype, shape, batched):
    made = arguments(shape, dtype)
    several = tuple(
        each if dim is None else torch.stack([each, each.conj() * 0.5, 1j * each if dtype.is_complex else -each], dim)
        for each, dim in zip(made, batched, strict=True)
    )
    near(vmap(linear_scan, batched)(*several), vmap(log_depth_scan, batched)(*several))

    def loss(scan):
        return lambda *x: (scan(*x).abs() ** 2).sum()

    def slopes(scan):
        return vmap(grad(loss(scan), (0, 1, 2)), batched)(*several)

    near(slopes(linear_scan), slopes(log_depth_scan))

    def pushed(scan):
        return vmap(lambda *x: jvp(scan, x, tuple(each.cos() for each in x)), batched)(*several)

    near(pushed(linear_scan), pushed(log_depth_scan))


@pytest.mark.parametrize("outer", [0, 1])
def test_vmap_in_vmap(outer):
    a, x, initial = arguments("N")
    many = torch.stack([x, 2 * x, -x]).unsqueeze(outer).repeat_interleave(2, outer)

    def twice(scan):
        return vmap(vmap(scan, (None, 0, None)), (None, outer, None))(a, many, initial)

    near(twice(linear_scan), twice(log_depth_scan))


def test_gradient_through_a_tangent():
    # Reverse mode of PyTorch itself over dual numbers: a Hessian-vector product.
    a, x, initial = arguments()
    found = []
    for scan in (linear_scan, log_depth_scan):
        leaf = a.clone().requires_grad_()
        with forward_ad.dual_level():
            y = scan(forward_ad.make_dual(leaf, a.cos()), x, initial)
            tangent = forward_ad.unpack_dual(y.pow(3).sum()).tangent
        found.append(torch.autograd.grad(tangent, leaf)[0])
    near(*found)


def test_zero_sizes():
    for shape in ((0, 4, 3), (2, 0, 3)):
        x = torch.ones(shape)
        y, tangent = jvp(linear_scan, (torch.ones(3), x), (torch.ones(3), x))
        assert y.shape == tangent.shape == shape
        assert vmap(linear_scan, (None, 0))(torch.ones(3), x.expand(2, *shape)).shape == (2, *shape)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [0, 1, 2, 7])
def test_devices_without_the_compiled_loop(pairs, shape, steps):
    sizes = {"B": 2, "T": steps, "N": 3, "1": 1}
    tail = (2,) if pairs else ()
    a = draw(*(1,) * (3 - len(shape)), *(sizes[axis] for axis in shape), *tail).expand(-1, -1, 3, *tail)
    x, initial, g = draw(2, steps, 3, *tail, seed=1), draw(2, 3, *tail, seed=2), draw(2, steps, 3, *tail, seed=3)
    y = _scan_operator.scan(a, x, initial)
    elsewhere = _scan_operator.scan._init_fn(a, x, initial)
    near(elsewhere, y)
    assert steps == 0 or elsewhere.data_ptr() != x.data_ptr()
    near(_scan_operator.scan_adjoint._init_fn(a, y, initial, g), _scan_operator.scan_adjoint(a, y, initial, g))


@pytest.mark.parametrize("batched", [(0, None, None), (None, 0, None), (None, 1, 0), (0, 0, None)])
def test_dense_under_transforms(batched):
    w, x, initial = 0.5 * draw(3, 3), draw(2, 5, 3, seed=1), draw(2, 3, seed=2)
    several = tuple(
        each if dim is None else torch.stack([each, each.cos()], dim)
        for each, dim in zip((w, x, initial), batched, strict=True)
    )

    def everything(scan):
        def loss(*x):
            return (scan(*x) ** 3).sin().sum()

        yield vmap(scan, batched)(*several)
        yield vmap(grad(loss, (0, 1, 2)), batched)(*several)
        yield vmap(lambda *x: jvp(scan, x, tuple(each.sin() for each in x)), batched)(*several)
        yield hessian(loss, (0, 1, 2))(w, x, initial)
        yield jacfwd(jacfwd(loss))(w, x, initial)

    for found, wanted in zip(everything(_dense_scan.dense_scan), everything(_dense_scan.in_plain_pytorch), strict=True):
        near(found, wanted, 1e-9)


def test_exported_program_trains_and_refuses_tangents():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.w = torch.nn.Parameter(0.5 * draw(3)), torch.nn.Parameter(0.3 * draw(3, 3))

        def forward(self, x):
            return _dense_scan.dense_scan(self.w, linear_scan(self.a, x), x[:, 0])

    model, x = Model(), draw(2, 4, 3)
    exported = torch.export.export(model, (x,)).module()
    found, wanted = (torch.autograd.grad(each(x).sin().sum(), list(each.parameters())) for each in (exported, model))
    near(found, wanted)
    with pytest.raises(
        NotImplementedError, match="no forward mode inside an exported program; differentiate the model"
    ):
        jvp(exported, (x,), (x,))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_transforms_inside_a_compiled_model(backend):
    torch._dynamo.reset()
    a, x, initial = arguments()

    def slopes(a, x):
        return jvp(lambda a: linear_scan(a, x, initial).sin(), (a,), (a.cos(),))[1], grad(
            lambda x: linear_scan(a, x).sin().sum()
        )(x)

    near(torch.compile(slopes, backend=backend, fullgraph=True)(a, x), slopes(a, x))
