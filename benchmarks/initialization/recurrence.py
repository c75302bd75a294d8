"""States of h_t = W h_{t-1} + B u_t from its impulse responses W^k B, at a cost that hardly grows with the horizon.

The inputs end long before the horizon, so the state is a sum of W^k B u over known lags k, and W^k comes by repeated squaring.
This is the same function of W, B and u as the loop over time steps, so automatic differentiation gives the gradient of
backpropagation through time, up to rounding; the tests compare both.
"""

import torch
from torch import Tensor


def impulse_responses(W: Tensor, B: Tensor, first: int, count: int) -> Tensor:
    """W^k B for k = first .. first+count-1 as (count, n, inputs)."""
    powers = [W]  # powers[i] = W^(2^i)
    while 2 ** len(powers) < max(count, first // 4):  # beyond that a few products with the last power cost less
        powers.append(powers[-1] @ powers[-1])
    times, rest = divmod(first, 2 ** (len(powers) - 1))
    block = B
    for _ in range(times):
        block = powers[-1] @ block
    for i, power in enumerate(powers[:-1]):
        if rest >> i & 1:
            block = power @ block
    inputs = B.shape[1]
    for power in powers:
        if block.shape[1] < count * inputs:
            block = torch.cat([block, power @ block], dim=1)
    return block[:, : count * inputs].T.reshape(count, inputs, -1).transpose(1, 2)


def last_states(W: Tensor, B: Tensor, inputs: Tensor, horizon: int, last: int) -> Tensor:
    """States of the last steps of a sequence of `horizon` steps, (batch, last, n).

    `inputs` (batch, steps, inputs) arrive at the first steps, zeros after them; the first state is B times the first input.
    """
    steps = inputs.shape[1]
    if steps + last > horizon:
        raise ValueError(f"{steps} steps of input and {last} of answers do not fit into horizon={horizon}.")
    responses = impulse_responses(W, B, horizon - last - steps + 1, last + steps - 1)
    # Answer j sees input i after horizon - last + j - i steps.
    lag = torch.arange(last)[:, None] - torch.arange(steps)[None, :] + steps - 1
    kernel = responses[lag].transpose(2, 3).reshape(last, -1, W.shape[0])
    return (inputs.flatten(1) @ kernel).transpose(0, 1)
