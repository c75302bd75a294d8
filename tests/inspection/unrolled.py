"""Recurrent layers of PyTorch by the formulas of its documentation, step by step and sequence by sequence, in one whole graph."""

import numpy as np
import torch

from signalprop._streams import stream


def step(cell, weights, x, state, project=None):
    """The next state, from formulas that share no code with the package."""
    w_ih, w_hh, *biases = weights
    b_ih, b_hh = biases or (torch.zeros(len(w_ih), dtype=w_ih.dtype),) * 2
    a, b = w_ih @ x + b_ih, w_hh @ state[0] + b_hh
    if cell == "tanh":
        return (torch.tanh(a + b),)
    if cell == "relu":
        return (torch.relu(a + b),)
    if cell == "gru":
        n = len(state[0])
        r, z = torch.sigmoid(a[:n] + b[:n]), torch.sigmoid(a[n : 2 * n] + b[n : 2 * n])
        new = torch.tanh(a[2 * n :] + r * b[2 * n :])
        return ((1 - z) * new + z * state[0],)
    n = len(state[1])
    i, f, g, o = (a + b).split(n)
    c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return (h if project is None else project @ h, c)


def energies_of(cell, weights, rows, v, start, project=None):
    """Log of ||dL/d(state)||^2 at lags 0, 1, .., relative to lag 0, L = <v, h_T>."""
    states = [tuple(part.clone().requires_grad_() for part in start)]
    for x in rows:
        # Copies, so that h and c of a step are not functions of each other.
        states.append(tuple(part.clone() for part in step(cell, weights, x, states[-1], project)))
    flat = [part for state in states for part in state]
    gradients = torch.autograd.grad(states[-1][0] @ v, flat, allow_unused=True)
    parts = len(start)
    squares = [0.0 if one is None else float(one.square().sum()) for one in gradients]
    energy = np.array([sum(squares[i : i + parts]) for i in range(0, len(squares), parts)])[::-1]
    with np.errstate(divide="ignore"):
        return np.log(energy / energy[0])


def layers(module, inputs, first, last, packed, cotangents, hidden=None):
    """For each layer and direction, in PyTorch's order, log-energies of gradients (samples, lags); inputs (time, batch, ..)."""
    mode = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}[module.mode]
    time, batch, _ = inputs.shape
    found = []
    for number in range(module.num_layers):
        outputs = []
        for end in ("", "_reverse")[: 2 if module.bidirectional else 1]:
            roles = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if module.bias else ()))
            weights = [getattr(module, f"{role}_l{number}{end}").detach() for role in roles]
            project = getattr(module, f"weight_hr_l{number}{end}").detach() if module.proj_size else None
            out = weights[1].shape[1]
            draws = stream(0, "cotangents", out).standard_normal((cotangents, batch, out))
            samples = np.full((cotangents, batch, time + 1), np.nan)
            written = torch.zeros(time, batch, out, dtype=inputs.dtype)
            for b in range(batch):
                whole = range(last[b]) if packed else range(time)
                order = list(whole)[::-1] if end else list(whole)
                run = order.index(first[b] if end else last[b] - 1) + 1
                start = _start(module, hidden, len(found), b, out, inputs.dtype)
                for c in range(cotangents):
                    v = torch.from_numpy(draws[c, b]).to(inputs.dtype)
                    logs = energies_of(mode, weights, [inputs[t, b] for t in order[:run]], v, start, project)
                    kept = last[b] - first[b] + 1
                    samples[c, b, :kept] = logs[:kept]
                state = start
                for t in order:
                    state = step(mode, weights, inputs[t, b], state, project)
                    written[t, b] = state[0]
            outputs.append(written)
            found.append(samples.reshape(-1, time + 1))
        inputs = torch.cat(outputs, -1)
    return found


def _start(module, hidden, place, b, out, dtype):
    if hidden is not None:
        return tuple(part[place, b] for part in (hidden if isinstance(hidden, tuple) else (hidden,)))
    sizes = (out, module.hidden_size) if module.mode == "LSTM" else (out,)
    return tuple(torch.zeros(size, dtype=dtype) for size in sizes)
