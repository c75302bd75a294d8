"""Initializers of recurrent weights for PyTorch, in the manner of `torch.nn.init`; PyTorch is an extra, ``torch``.

Loaded when it is first used, as ``signalprop.initialization.torch``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar, Unpack

from signalprop._checks import shown
from signalprop._extras import required

with required("signalprop.initialization.torch", "torch"):
    import torch
    from torch import nn

from signalprop.initialization._entries import EntryScale, ScaleOptions
from signalprop.initialization._initialized import Initialized
from signalprop.initialization._torch_cells import recurrent_layers
from signalprop.initialization._torch_fill import dtype_name, gaussian, put_, require_fillable, require_own_memory
from signalprop.initialization._torch_inputs import input_std_of
from signalprop.initialization._torch_plan import Plan, has_memory_gates
from signalprop.initialization._torch_wish import checked_wish

__all__ = ["Initialized", "ginibre_", "init_recurrent_", "input_std_of"]

AnyTensor = TypeVar("AnyTensor", bound=torch.Tensor)


def ginibre_(
    tensor: AnyTensor,
    horizon: int | None = None,
    *,
    scale: float | None = None,
    generator: torch.Generator | None = None,
    **options: Unpack[ScaleOptions],
) -> AnyTensor:
    r"""Fill a recurrent kernel with independent Gaussian entries, E|w_ij|^2 = g^2/n, g from `safe_scale`.

    Parameters
    ----------
    tensor
        Shape (n, n), or (gates * n, n) with square gates stacked as in ``weight_hh_l0`` of `torch.nn.RNN`, `GRU` and `LSTM`;
        at most four; each gate then has fan-in n. Filled in place, outside of autograd.
        float16, bfloat16, float32 and float64 take real weights; complex64 and complex128 take complex weights, real and
        imaginary part independent with variance g^2/(2n) each. Drawn in float32 at least, then rounded to the type.
        A DTensor (FSDP2, tensor parallel) is filled shard by shard, n being the width of the whole kernel; on the meta device
        only shape and type are checked, as by `torch.nn.init`.
    horizon
        Number of steps T the signal should survive, 1 <= T <= 1e6.
    scale
        g itself, instead of `horizon`: ``scale=1.0`` is Glorot.
    generator
        Source of the random numbers, on the device of `tensor`; PyTorch's own where it is left out.
    **options
        ``criterion``, ``model``, ``tolerance``, ``quantile``, ``bound`` of `safe_scale`, with its defaults. For anything
        further call `safe_scale` and give its answer as `scale`.

    Returns
    -------
    torch.Tensor
        `tensor`.

    Raises
    ------
    ValueError
        Another shape or type, a tensor that is sparse, lazy or has entries that share memory, both or neither of
        `horizon` and `scale`, an option that the criterion does not read, or values out of range.

    Examples
    --------
    >>> import torch
    >>> w = ginibre_(torch.empty(512, 512), 200, criterion="bounded", generator=torch.Generator().manual_seed(0))
    >>> round(float(w.square().sum(1).mean().sqrt()), 2)      # g
    0.87
    """
    scales = EntryScale(horizon, scale, options)
    require_fillable(tensor, generator, "tensor")
    std = scales.std(tensor.shape, dtype_name(tensor), name="tensor")
    require_own_memory(tensor, generator, "tensor")
    put_(tensor, gaussian(tensor, std, generator))
    return tensor


def init_recurrent_(
    module: nn.Module,
    horizon: int | None = None,
    *,
    input_std: float | Mapping[str, float] | None = None,
    kind: str | None = None,
    leak: float | None = None,
    scale: float | Literal["critical"] | None = None,
    biases: str | None = "auto",
    input_kernel: bool = False,
    generator: torch.Generator | None = None,
    **options: Unpack[ScaleOptions],
) -> Initialized:
    r"""Start every RNN, GRU, LSTM and cell in a module for a memory: its recurrent kernels, and the biases of its gates.

    ``init_recurrent_(lstm, 200)`` fills the recurrent kernels of all layers and directions and sets the biases of the gates
    that keep the state, so that units remember for 2 to 200 steps whatever inputs do to the gates. What was set is returned as a
    table. Nothing is changed if any part cannot be filled; a parameter that modules share is filled once.

    Parameters
    ----------
    module
        A `torch.nn.RNN`, `GRU`, `LSTM`, `RNNCell`, `GRUCell`, `LSTMCell`, or a module that holds some.
    horizon
        T, the steps over which a gradient should last, 1 to 1e6. Gates read it; the start of a plain RNN does not depend on it.
    input_std
        s, what inputs and biases add to a preactivation: its standard deviation over units, steps and sequences, 0 or 1e-6 to
        100; for gates that keep the state at most 10. The biases of these gates and the critical scale depend on it. One number
        for all layers, or a number for the name of each ``weight_ih``, as `input_std_of` measures them. Left out it is worked
        out from the weights as they are, for inputs of unit variance per feature, and for layers above the first from
        mean-field theory of the states below; with `input_kernel`, and on the meta device, which has no numbers, it is 1.
        Biases count in a plain RNN, where they only add, and not beside gates, whose memory they set.
    kind
        Of the recurrent kernels, each gate by itself:

        - ``"gaussian"``: independent entries of variance g^2/n.
        - ``"orthogonal"``: g times an orthogonal matrix, `torch.nn.init.orthogonal_` on each n x n block.
        - ``"identity"``: g I; with `leak` (1 - a) I + a W, W Gaussian of scale g.

        Left out, each cell has its own (`signalprop.initialization.STARTS`): the identity for relu, orthogonal for the others.
    leak
        a, above 0 and at most 1, for ``kind="identity"``.
    scale
        g. Left out it is 1, and sqrt(2) for relu kernels that are not the identity. ``"critical"``, for plain RNNs: the scale at
        which a step keeps the mean energy of a gradient, chi = 1, `meanfield.critical_scale` of `input_std` for tanh, sqrt(2)
        for relu. A number given without horizon and kind is that of `ginibre_`: Gaussian kernels of scale g, and nothing else
        changes. Beside a horizon it is for the kernels of a module with gates.
    biases
        Of the forget gate of an LSTM and the update gate of a GRU, which keep the state where they are near 1; the input gate
        of an LSTM gets the negative. Of PyTorch's two vectors ``bias_ih`` gets these numbers and ``bias_hh`` zeros, for these
        gates alone.

        - ``"chrono"``: b = log u, u uniform in [1, T - 1], drawn for each unit: memories of 2 to T steps.
        - ``"constant"``: b = log(T - 1) for all, which keeps 1 - 1/T of the state per step.
        - ``"auto"``: ``"chrono"``; but None where an option of the linear theory is given, or no horizon.
        - None: biases stay as they are.

        For a horizon of 1 or 2 both have b = 0, gates half open: the shortest memory that the law has. In place of b stands
        b' with E sigmoid(b' + s z)^2 = sigmoid(b)^2, z standard normal and s what inputs add (`meanfield.keeping_bias`): with
        inputs, gates then keep as much energy per step as they would without. Long memories get about s^2/2 more.
    input_kernel
        Fill ``weight_ih`` too, Gaussian with standard deviation ``input_std/sqrt(input_size)``, so that inputs of unit variance
        per feature add `input_std` to each preactivation. Layers above the first get states h instead; there it is
        ``input_std/sqrt(input_size q)`` with q = E h^2 below, from mean-field theory (for relu, whose states grow, the average
        over the steps).
    generator
        Source of the random numbers, on the device of the parameters; PyTorch's own where it is left out.
    **options
        ``criterion``, ``model``, ``tolerance``, ``quantile``, ``bound`` of `safe_scale`: Gaussian kernels at the scale of the
        linear recurrence h <- W h for this horizon, and biases as they are.

    Returns
    -------
    Initialized
        Names of the parameters that were set: a list of str, which prints as a table of what they were set to. The rows of the
        table are its attribute ``rows``.

    Raises
    ------
    ValueError
        No recurrent kernel in the module, or a quantised one; a parameter that is computed from others (weight norm, pruning);
        gates without biases (``bias=False``); the identity for an LSTM with ``proj_size``; one parameter that would be filled in
        two ways; weights that are not finite, where `input_std` is worked out from them; inputs that add more than 10 to a gate;
        options that contradict each other, or values out of range; tensors as in `ginibre_`.

    Notes
    -----
    Without gates and at the scale of linear theory, which is what ``criterion="quantile"`` asks for, this is right for
    h <- W h, and for tanh while its signal is small. A gate multiplies the state by sigmoid(b + ..) per step, one half for b =
    0, so nothing is left of it after T steps whatever W is.

    Status H. Median of 8 draws of the log-energy of a gradient carried back over T = 200 steps, n = 256, by inputs that add s (in
    brackets with biases that make up for nothing):

    ==== ============ ============
    s    LSTM         GRU
    ==== ============ ============
    0.3  -3.3 (-3.4)  -2.9 (-3.0)
    1    -3.5 (-4.8)  -3.2 (-4.5)
    3    -3.4 (-25.7) -3.1 (-23.5)
    ==== ============ ============

    As PyTorch makes them, s = 1: LSTM -213, GRU -205, with kernels at the scale of linear theory -183 and -168. Tanh at
    the critical scale has -1.1 there, the start of relu -2.8: its h is about the absolute value of a random walk, and a gradient
    passes those units that have not been 0 on the way.

    All of this is about gradients, and what keeps a gradient is not yet what trains best. The start of tanh does not keep one
    where inputs add much; from the critical scale, which does, the adding problem was not learned. The guide on starting
    recurrent layers has a table of all trainings, with their conditions.

    Mean-field theory: Chen, Pennington and Schoenholz (arXiv:1806.05394); biases: Tallec and Ollivier (arXiv:1804.11188); the
    identity for relu: Le, Jaitly and Hinton (arXiv:1504.00941).

    An LSTM with ``proj_size`` p has gates of shape (n, p) and a projection (p, n). Both are filled: with variances g^2/p and
    1/n, or with orthonormal columns and rows, so that their product keeps lengths in p dimensions.

    Of a DTensor a Gaussian kernel is drawn shard by shard; orthogonal ones and biases are drawn whole, by the first process.

    Examples
    --------
    >>> from torch import nn
    >>> init_recurrent_(nn.LSTM(8, 512), 200)
    parameter     part             set to
    weight_hh_l0  kernel, 4 gates  orthogonal
    bias_ih_l0    forget gate      log U(1, 199): memories of 2 to 200 steps
                  input gate       minus that of the forget gate
    bias_hh_l0    both gates       0, PyTorch adds it to bias_ih
    All else stays as it was.
    >>> init_recurrent_(nn.GRU(8, 512), 200, input_std=1.0)
    parameter     part             set to
    weight_hh_l0  kernel, 3 gates  orthogonal
    bias_ih_l0    update gate      log U(1, 199), plus what makes up for inputs of
                                   std 1: memories of 2 to 200 steps
    bias_hh_l0    update gate      0, PyTorch adds it to bias_ih
    All else stays as it was.
    >>> init_recurrent_(nn.RNN(8, 64, num_layers=2), 100, criterion="bounded") == ["weight_hh_l0", "weight_hh_l1"]
    True
    """
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {shown(module)}.")
    layers = recurrent_layers(module)
    gated = any(has_memory_gates(layer) for layer in layers)
    wish = checked_wish(
        horizon,
        scale,
        options,
        kind=kind,
        leak=leak,
        biases=biases,
        input_std=input_std,
        input_kernel=input_kernel,
        generator=generator,
        gated=gated,
    )
    plan = Plan(wish)
    for layer in layers:
        plan.layer(layer)
    # All is drawn before anything is changed.
    for tensor, values in [(fill.tensor, fill.draw()) for fill in plan.fills]:
        put_(tensor, values)
    return Initialized([row for fill in plan.fills for row in fill.rows])
