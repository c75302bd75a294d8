"""Steps and gradients of a batch of recurrent layers by hand: tanh, ReLU, linear, GRU and LSTM with PyTorch's equations.

M models of one cell run side by side, weights (M, gates n, n), states (M, steps, batch, n). A loop over steps in which every
operation writes into a buffer that is kept, and gradients of the weights as one product over all steps, take a third of the
time of automatic differentiation. The tests hold them against `torch.nn.RNN`, `GRU` and `LSTM`.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

_backward = torch.ops.aten


class Layer(ABC):
    """Buffers for `models` layers of width `n` on sequences of `steps` steps in batches of `batch`."""

    gates = 1

    def __init__(self, models: int, steps: int, batch: int, n: int) -> None:
        self.n, self.steps = n, steps
        self.inner = torch.empty(models, steps, batch, self.gates * n)  # preactivations, then values of the gates
        self.states = torch.zeros(models, steps + 1, batch, n)  # the first is 0 and stays it
        self.toward = torch.empty_like(self.inner)  # gradients of the preactivations
        self.carried = torch.empty(models, batch, n)  # gradient of the state

    def forward(self, W: Tensor, U: Tensor, b_input: Tensor, b_hidden: Tensor, inputs: Tensor) -> Tensor:
        """States (M, steps, batch, n) of inputs (M, steps, batch, features)."""
        if inputs.shape[:3] != self.inner.shape[:3]:
            raise ValueError(
                f"inputs must be (models, steps, batch) = {tuple(self.inner.shape[:3])}, got {tuple(inputs.shape[:3])}."
            )
        self._inputs = inputs.flatten(1, 2)
        bias = b_input + self._added(b_hidden)
        torch.baddbmm(bias[:, None], self._inputs, U.transpose(1, 2), out=self.inner.flatten(1, 2))
        self._forward(W.transpose(1, 2), b_hidden)
        return self.states[:, 1:]

    def backward(self, W: Tensor, answers: Tensor, into: dict[str, Tensor]) -> None:
        """Gradients of all weights, written `into`, from those of the states of the last steps, (M, answers, batch, n)."""
        self.carried.zero_()
        asked = answers.shape[1]
        for t in reversed(range(self.steps)):
            if t >= self.steps - asked:
                self.carried += answers[:, t - self.steps + asked]
            self._step_back(t, W)
        toward, hidden = self.toward.flatten(1, 2), self._toward_hidden().flatten(1, 2)
        torch.bmm(toward.transpose(1, 2), self._inputs, out=into["U"])
        torch.sum(toward, 1, out=into["b_input"])
        torch.sum(hidden, 1, out=into["b_hidden"])
        if "W" in into:
            torch.bmm(hidden.transpose(1, 2), self.states[:, :-1].flatten(1, 2), out=into["W"])

    def _added(self, b_hidden: Tensor) -> Tensor:
        """What of the second vector of biases only adds to the first."""
        return b_hidden

    def _toward_hidden(self) -> Tensor:
        """Gradients of W h + b_hidden."""
        return self.toward

    def _gate(self, array: Tensor, first: int, count: int = 1) -> Tensor:
        return array[..., first * self.n : (first + count) * self.n]

    @abstractmethod
    def _forward(self, W_transposed: Tensor, b_hidden: Tensor) -> None: ...

    @abstractmethod
    def _step_back(self, t: int, W: Tensor) -> None: ...


class Tanh(Layer):
    """h' = tanh(W h + U u + b)."""

    def _forward(self, W_transposed: Tensor, b_hidden: Tensor) -> None:
        for t in range(self.steps):
            new = self.states[:, t + 1]
            torch.baddbmm(self.inner[:, t], self.states[:, t], W_transposed, out=new)
            self._activate(new)

    def _step_back(self, t: int, W: Tensor) -> None:
        self._slope(self.carried, self.states[:, t + 1], self.toward[:, t])
        torch.bmm(self.toward[:, t], W, out=self.carried)

    def _activate(self, state: Tensor) -> None:
        state.tanh_()

    def _slope(self, gradient: Tensor, state: Tensor, out: Tensor) -> None:
        _backward.tanh_backward.grad_input(gradient, state, grad_input=out)


class ReLU(Tanh):
    """h' = max(0, W h + U u + b)."""

    def _activate(self, state: Tensor) -> None:
        state.relu_()

    def _slope(self, gradient: Tensor, state: Tensor, out: Tensor) -> None:
        _backward.threshold_backward.grad_input(gradient, state, 0.0, grad_input=out)


class Linear(Tanh):
    """h' = W h + U u + b."""

    def _activate(self, state: Tensor) -> None:
        pass

    def _slope(self, gradient: Tensor, state: Tensor, out: Tensor) -> None:
        out.copy_(gradient)


class LSTM(Layer):
    """c' = f c + i k, h' = o tanh c'; gates in PyTorch's order i, f, k, o."""

    gates = 4

    def __init__(self, models: int, steps: int, batch: int, n: int) -> None:
        super().__init__(models, steps, batch, n)
        self.cells = torch.zeros(models, steps + 1, batch, n)
        self.tanh_cells = torch.empty(models, steps, batch, n)
        self.carried_cell, self.spare = torch.empty_like(self.carried), torch.empty_like(self.carried)

    def _forward(self, W_transposed: Tensor, b_hidden: Tensor) -> None:
        for t in range(self.steps):
            gates = self.inner[:, t]
            gates.baddbmm_(self.states[:, t], W_transposed)
            i, f, k, o = (self._gate(gates, place) for place in range(4))
            self._gate(gates, 0, 2).sigmoid_()
            k.tanh_()
            o.sigmoid_()
            cell = self.cells[:, t + 1]
            torch.mul(f, self.cells[:, t], out=cell)
            cell.addcmul_(i, k)
            torch.tanh(cell, out=self.tanh_cells[:, t])
            torch.mul(o, self.tanh_cells[:, t], out=self.states[:, t + 1])

    def backward(self, W: Tensor, answers: Tensor, into: dict[str, Tensor]) -> None:
        """As for every layer; the gradient of c, too, begins at 0."""
        self.carried_cell.zero_()
        super().backward(W, answers, into)

    def _step_back(self, t: int, W: Tensor) -> None:
        gates, toward = self.inner[:, t], self.toward[:, t]
        i, f, k, o = (self._gate(gates, place) for place in range(4))
        to_i, to_f, to_k, to_o = (self._gate(toward, place) for place in range(4))
        torch.mul(self.carried, self.tanh_cells[:, t], out=to_o)
        torch.mul(self.carried, o, out=self.spare)
        _backward.tanh_backward.grad_input(self.spare, self.tanh_cells[:, t], grad_input=self.spare)
        self.carried_cell += self.spare
        torch.mul(self.carried_cell, k, out=to_i)
        torch.mul(self.carried_cell, self.cells[:, t], out=to_f)
        torch.mul(self.carried_cell, i, out=to_k)
        pair = self._gate(toward, 0, 2)
        _backward.sigmoid_backward.grad_input(pair, self._gate(gates, 0, 2), grad_input=pair)
        _backward.tanh_backward.grad_input(to_k, k, grad_input=to_k)
        _backward.sigmoid_backward.grad_input(to_o, o, grad_input=to_o)
        self.carried_cell *= f
        torch.bmm(toward, W, out=self.carried)


class GRU(Layer):
    """h' = (1-z) k + z h, k = tanh(u + r y), y = W_k h + b; gates in PyTorch's order r, z, k."""

    gates = 3

    def __init__(self, models: int, steps: int, batch: int, n: int) -> None:
        super().__init__(models, steps, batch, n)
        self.hidden = torch.empty_like(self.inner)  # W h + b_hidden
        self.away = torch.empty(models, steps, batch, n)  # h - k
        self.hidden_toward = torch.empty_like(self.inner)
        self.spare = torch.empty_like(self.carried)

    def _added(self, b_hidden: Tensor) -> Tensor:
        return torch.zeros_like(b_hidden)

    def _toward_hidden(self) -> Tensor:
        return self.hidden_toward

    def _forward(self, W_transposed: Tensor, b_hidden: Tensor) -> None:
        for t in range(self.steps):
            gates, hidden, old = self.inner[:, t], self.hidden[:, t], self.states[:, t]
            torch.baddbmm(b_hidden[:, None], old, W_transposed, out=hidden)
            pair, k = self._gate(gates, 0, 2), self._gate(gates, 2)
            pair += self._gate(hidden, 0, 2)
            pair.sigmoid_()
            k.addcmul_(self._gate(gates, 0), self._gate(hidden, 2))
            k.tanh_()
            torch.sub(old, k, out=self.away[:, t])
            torch.addcmul(k, self._gate(gates, 1), self.away[:, t], out=self.states[:, t + 1])

    def _step_back(self, t: int, W: Tensor) -> None:
        gates, toward, hidden = self.inner[:, t], self.toward[:, t], self.hidden_toward[:, t]
        r, z, k = (self._gate(gates, place) for place in range(3))
        to_r, to_z, to_k = (self._gate(toward, place) for place in range(3))
        torch.mul(self.carried, self.away[:, t], out=to_z)
        torch.mul(self.carried, z, out=self.spare)
        torch.sub(self.carried, self.spare, out=to_k)
        _backward.tanh_backward.grad_input(to_k, k, grad_input=to_k)
        torch.mul(to_k, self._gate(self.hidden[:, t], 2), out=to_r)
        pair = self._gate(toward, 0, 2)
        _backward.sigmoid_backward.grad_input(pair, self._gate(gates, 0, 2), grad_input=pair)
        self._gate(hidden, 0, 2).copy_(pair)
        torch.mul(to_k, r, out=self._gate(hidden, 2))
        torch.baddbmm(self.spare, hidden, W, out=self.carried)


LAYERS: dict[str, type[Layer]] = {"tanh": Tanh, "relu": ReLU, "linear": Linear, "gru": GRU, "lstm": LSTM}
