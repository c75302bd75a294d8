"""Every sentence and line to paste of the advice for cells, each once; names in braces are filled in."""

from __future__ import annotations

NAMES = {"tanh": "tanh RNN", "relu": "ReLU RNN", "gru": "GRU", "lstm": "LSTM"}

START_NAMES = {
    "default": "PyTorch's default",
    "glorot": "Gaussian, Glorot's scale",
    "orthogonal": "orthogonal",
    "identity": "identity",
    "biases": "PyTorch's weights, gates opened",
    "gaussian chrono": "Gaussian, gates opened",
    "orthogonal chrono": "orthogonal, gates opened",
    "gaussian critical": "Gaussian, g = {g}",
    "orthogonal critical": "orthogonal, g = {g}",
}
TITLES = ("start", "median", "90 % of draws")

GATES = {"lstm": "A forget gate (and an input gate with its negative)", "gru": "An update gate"}

SENTENCES = {
    "head": "{layer} of width {n}, horizon {steps}, inputs that add {s} to a preactivation",
    # Answers.
    "gates": "As PyTorch starts it, it forgets: of the energy of a gradient that is carried back {steps}, {default} is left in a typical draw. Open the gates that keep the state; then {advised} is left.",
    "gates_last": "As PyTorch starts it, a gradient that is carried back {steps} keeps {default} of its energy in a typical draw; with the start below it keeps {advised}.",
    "plain": "As PyTorch starts it, it forgets: of the energy of a gradient that is carried back {steps}, {default} is left in a typical draw. With {start} it is {advised}.",
    "faded_tanh": "As PyTorch starts it, it forgets: of the energy of a gradient that is carried back {steps}, {default} is left in a typical draw. {start} leave {advised}: inputs that add {s} flatten tanh too much for a memory this long. A gradient would last longer with smaller inputs, and in a GRU or an LSTM, whose gates keep it (--cell gru).",
    "faded_relu": "As PyTorch starts it, it forgets: of the energy of a gradient that is carried back {steps}, {default} is left in a typical draw. {start} leaves {advised}: by then nearly every unit has been zero once, and no gradient passes there. Take a GRU or an LSTM, whose gates keep it (--cell gru).",
    "lasts": "As PyTorch starts it, a gradient that is carried back {steps} keeps {default} of its energy in a typical draw. With {start} it keeps {advised}.",
    "orthogonal": "orthogonal recurrent weights",
    "identity": "the identity as recurrent weights",
    # Why.
    "half": "A gate whose bias is 0 keeps about half of the state at every step, whatever the recurrent weights are. That is why their scale hardly helps: Gaussian ones at Glorot's leave {glorot}.",
    "memories": "{gate} with bias log u, u uniform in [1, {before}] for every unit, gives memories of 2 to {steps} (Tallec and Ollivier, arXiv:1804.11188). Inputs open and shut a gate; to offset those that add {s}, biases rise by about {shift}.",
    "memories_short": "A horizon of {steps} gives gates a bias of 0: half open, the shortest memory they have.",
    "spread": "One draw of W is what you train. With this start 90 % of draws leave between {low} and {high}.",
    "kernel": "The recurrent weights come second: with the same biases orthogonal ones leave {orthogonal}, Gaussian ones {gaussian}, and PyTorch's own {biases}.",
    "slope": "The slope of tanh is below one wherever the state is not near zero, so every step takes away from a gradient, the more the larger the inputs are: orthogonal weights leave {orthogonal}, Gaussian ones at Glorot's scale {glorot}.",
    "critical": "Weights that are g = {g} times as large make up for it: a step then keeps the mean energy of a gradient (chi = 1, the edge of chaos; scale='critical'). Orthogonal ones of that size keep {critical} of a gradient, 90 % of draws {low} to {high}. But a gradient that flows is not yet one that teaches.",
    "order": "At that scale, driven by fresh inputs, draws agree within a factor of e for about {reach} steps: a number that grows like the width, where that of a linear layer grows like its square root.",
    "relu": "Gaussian weights at sqrt(2) keep the average energy of a gradient too, but draws of them end between {low} and {high}. With the identity the state is about the absolute value of a random walk, and a gradient passes the units that have not been zero on the way (Le, Jaitly and Hinton, arXiv:1504.00941).",
    "any_inputs": "Larger or smaller inputs hardly change this: but for its biases the cell only scales with them.",
    "other_sizes": "With inputs that add {sizes} it leaves {parts} in a typical draw.",
    "other_inputs": "The same start, made for inputs that add {sizes}, leaves {parts} in a typical draw.",
    # What to paste.
    "paste": "Paste",
    "paste_alone": "The same without this package",
    "elsewhere": "Keras, Flax and Equinox: the guide 'Start a recurrent layer' has the lines.",
    "size_gates": "The number that matters is what inputs add to a preactivation, {s} here. If you do not know it, leave input_std out: it is worked out from the input weights as they are, for inputs of unit variance; or measure it on a batch by input_std_of. PyTorch's own input weights add less than 1: sqrt(features/(3n)) for unit inputs.",
    "size_plain": "input_std_of measures on a batch what inputs add to a preactivation ({s} here). PyTorch's own input weights add sqrt(features/(3n)) for unit inputs; init_recurrent_(.., input_std=s, input_kernel=True) fills them so that they add s.",
    # Evidence.
    "flows": "These numbers are about what flows back, which has to be there before anything can be learned from far back. It is not yet what trains best.",
    "trained": "{task} over {horizon} steps ({conditions}). Best: {best}, loss {loss}.{tied}{default} The start above ({advised}) {verdict}.{instead}",
    "trained_none": "{task} over {horizon} steps ({conditions}): no start did better than a guess within these training steps.",
    "trained_under": "width {width}, {steps} Adam steps, learning rate tuned for each start, {seeds} seeds; a guess has loss 1",
    "trained_tied": " Not significantly worse: {starts}.",
    "trained_default": " PyTorch's default: {loss}.",
    "trained_is_best": "is the best",
    "trained_is_tied": "came to {loss}, not significantly worse",
    "trained_is_worse": "came to {loss}, which is worse",
    "trained_smaller": " PyTorch's input weights, which are smaller, did better.",
    "trained_instead": " Try the best first: {call}.",
    "untrained_cell": "No {layer} has been trained from these starts yet, so nothing is said about what trains best.",
    "untrained": "Nothing was trained near this width and horizon, so nothing is said about what trains best.",
    # Details.
    "columns": "What is left of the energy of a gradient after {steps}: the typical (median) draw, and the range of 90 % of draws.",
    "outside": "Read with care: the table of simulated draws has widths 32 to 512, 10 to 1000 steps, and inputs that add 0.1 to 3. Elsewhere the nearest width and input are read, and the trend in the number of steps. With smaller inputs than that a tanh layer keeps more than these numbers say.",
    "linear": "For a linear layer, h <- W h: {command}",
    "picture": "The picture: {command}",
    "status": "How sure: simulated, 24 to 400 draws per point of the table (H between its points); the median of the advised start has a standard error of {error} in natural log. To cite: signalprop cite init_recurrent",
    "status_outside": "How sure: outside of the table of simulated draws, so an estimate only. To cite: signalprop cite init_recurrent",
    "status_nothing": "How sure: simulated, 24 to 400 draws per point of the table (H between its points); with the advised start half of the draws or more leave nothing at all. To cite: signalprop cite init_recurrent",
}  # fmt: skip

CODE = {
    "lstm": """\
import torch
from signalprop.initialization.torch import init_recurrent_
lstm = torch.nn.LSTM(16, {n})  # your layer; 16 inputs here
print(init_recurrent_(lstm, horizon={horizon}, input_std={s}))""",
    "gru": """\
import torch
from signalprop.initialization.torch import init_recurrent_
gru = torch.nn.GRU(16, {n})  # your layer; 16 inputs here
print(init_recurrent_(gru, horizon={horizon}, input_std={s}))""",
    "tanh": """\
import torch
from signalprop.initialization.torch import init_recurrent_
rnn = torch.nn.RNN(16, {n})  # your layer; 16 inputs here
print(init_recurrent_(rnn, horizon={horizon}))""",
    "relu": """\
import torch
from signalprop.initialization.torch import init_recurrent_
rnn = torch.nn.RNN(16, {n}, nonlinearity="relu")  # your layer; 16 inputs here
print(init_recurrent_(rnn, horizon={horizon}))""",
}

ALONE = {
    "lstm": """\
import torch
lstm = torch.nn.LSTM(16, {n})  # your layer; 16 inputs here
with torch.no_grad():
    for gate in lstm.weight_hh_l0.chunk(4):
        torch.nn.init.orthogonal_(gate)
    i, f, g, o = lstm.bias_ih_l0.chunk(4)  # PyTorch's order of the gates
    f.uniform_(1, {odds}).log_().add_({shift})  # the forget gate
    i.copy_(-f)  # the input gate: the negative
    for gate in lstm.bias_hh_l0.chunk(4)[:2]:  # PyTorch adds it to the above
        gate.zero_()""",
    "gru": """\
import torch
gru = torch.nn.GRU(16, {n})  # your layer; 16 inputs here
with torch.no_grad():
    for gate in gru.weight_hh_l0.chunk(3):
        torch.nn.init.orthogonal_(gate)
    r, z, n = gru.bias_ih_l0.chunk(3)  # PyTorch's order; z near 1 keeps
    z.uniform_(1, {odds}).log_().add_({shift})
    gru.bias_hh_l0.chunk(3)[1].zero_()  # PyTorch adds it to the above""",
    "tanh": """\
import torch
rnn = torch.nn.RNN(16, {n})  # your layer; 16 inputs here
torch.nn.init.orthogonal_(rnn.weight_hh_l0)""",
    "relu": """\
import torch
rnn = torch.nn.RNN(16, {n}, nonlinearity="relu")  # your layer; 16 inputs here
torch.nn.init.eye_(rnn.weight_hh_l0)""",
}


# Starts of the trainings; those with "wide" in their names had input weights that add 1, the others PyTorch's.
STARTS = {
    "default": "PyTorch's default",
    "gaussian": "Gaussian weights (g = 1)",
    "quantile": "Gaussian weights of linear theory's scale",
    "critical": "Gaussian weights at chi = 1",
    "orthogonal critical": "orthogonal weights at chi = 1",
    "he": "Gaussian weights at g = sqrt(2)",
    "orthogonal": "orthogonal weights",
    "identity": "the identity",
    "leaky": "near the identity (0.9 of it, plus 0.1 of a Gaussian)",
    "chrono": "PyTorch's weights with biases log u",
    "gaussian chrono": "Gaussian weights with biases log u",
    "orthogonal chrono": "orthogonal weights with biases log u",
    "one": "PyTorch's weights with gate bias 1",
    "log": "PyTorch's weights with gate bias log T",
}
WIDE = " with input weights that add 1"
NARROW = " with PyTorch's input weights"


def sentence(name: str, **values: object) -> str:
    """A sentence filled in."""
    return SENTENCES[name].format(**values)
