"""The scan y_t = a_t y_{t-1} + x_t, values and all gradients: complex64, batch 16, 64 numbers, all cores.

Floor: one elementwise multiply-add forward and one back, which read and write what a scan and its gradient must.
"""

import jax
import jax.numpy as jnp
import numpy as np
import torch

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop.nn.scan import linear_scan, log_depth_scan

BATCH, NUMBERS = 16, 64


def loop(a, x, initial):
    y, states = initial, []
    for x_t in x.unbind(1):
        y = a * y + x_t
        states.append(y)
    return torch.stack(states, 1)


def doubling(a, x, initial):
    """The associative scan that is usually written: log2 T sweeps over everything, coefficients of full shape."""
    x = torch.cat([x[:, :1] + a * initial[:, None], x[:, 1:]], 1)
    powers = a.expand(x.shape)
    step = 1
    while step < x.shape[1]:
        x = torch.cat([x[:, :step], powers[:, step:] * x[:, :-step] + x[:, step:]], 1)
        powers = torch.cat([powers[:, :step], powers[:, step:] * powers[:, :-step]], 1)
        step *= 2
    return x


def fourier(a, x, initial):
    x = torch.cat([x[:, :1] + a * initial[:, None], x[:, 1:]], 1)
    steps = x.shape[1]
    powers = torch.exp(torch.log(a) * torch.arange(steps)[:, None])
    product = torch.fft.fft(powers, 2 * steps, 0) * torch.fft.fft(x, 2 * steps, 1)
    return torch.fft.ifft(product, dim=1)[:, :steps]


def jax_loop(a, x, initial):
    def step(y, x_t):
        y = a * y + x_t
        return y, y

    return jax.lax.scan(step, initial, x.swapaxes(0, 1))[1].swapaxes(0, 1)


def jax_associative(a, x, initial):
    x = x.at[:, 0].add(a * initial)

    def join(earlier, later):
        return later[0] * earlier[0], later[0] * earlier[1] + later[1]

    return jax.lax.associative_scan(join, (jnp.broadcast_to(a, x.shape), x), axis=1)[1]


def in_torch(scan, arrays):
    a, x, initial = (torch.from_numpy(array).requires_grad_() for array in arrays[:3])
    g = torch.from_numpy(arrays[3])

    def call():
        y = scan(a, x, initial)
        return (y.detach(), *torch.autograd.grad(y, (a, x, initial), g))

    return call


def in_jax(scan, arrays):
    a, x, initial, g = (jnp.asarray(array) for array in arrays)

    @jax.jit
    def both(a, x, initial):
        y, pull = jax.vjp(scan, a, x, initial)
        # JAX's gradient of a real loss is the conjugate of PyTorch's.
        return (y, *(jnp.conj(each) for each in pull(jnp.conj(g))))

    return lambda: jax.block_until_ready(both(a, x, initial))


def draw(batch, steps, numbers):
    rng = np.random.default_rng(0)

    def gaussian(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)

    a = (rng.uniform(0.9, 0.999, numbers) * np.exp(1j * rng.uniform(0, 3, numbers))).astype(np.complex64)
    return a, gaussian(batch, steps, numbers), gaussian(batch, numbers), gaussian(batch, steps, numbers)


def comparisons(quick):
    for steps in (256, 1024) if quick else (128, 256, 512, 1024, 2048):
        arrays = draw(BATCH, steps, NUMBERS)
        yield Comparison(
            "values and gradients", "steps", steps, "",
            [
                Contender("linear_scan (compiled loop)", OURS, in_torch(linear_scan, arrays), 1, 1.0),
                Contender("one product and one copy", FLOOR, floor(arrays), 1, 1.0),
                Contender("log_depth_scan", OTHER, in_torch(log_depth_scan, arrays), 1, 1.0),
                Contender("PyTorch, loop over time", OTHER, in_torch(loop, arrays), 1, 1.0),
                Contender("PyTorch, associative scan by doubling", OTHER, in_torch(doubling, arrays), 1, 1.0),
                Contender("PyTorch, convolution by FFT", OTHER, in_torch(fourier, arrays), 1, 1.0),
                Contender("jax.lax.scan, jitted", OTHER, in_jax(jax_loop, arrays), 1, 1.0),
                Contender("jax.lax.associative_scan, jitted", OTHER, in_jax(jax_associative, arrays), 1, 1.0),
            ],
            rounds=5,
        )  # fmt: skip


def floor(arrays):
    """What any scan and its gradient read and write: both passes as one elementwise product each way."""
    a, x, _, g = (torch.from_numpy(array) for array in arrays)
    return lambda: (torch.addcmul(x, a, x), torch.addcmul(g, a, g))
