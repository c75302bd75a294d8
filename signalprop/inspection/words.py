"""Every sentence of an inspection, each once; names in braces are replaced by text that is already formatted."""

from __future__ import annotations

VERDICTS = {
    "explodes": "explodes after {steps}",
    "never": "never forgets",
    "dead": "dead: keeps nothing from one step to the next",
    "at_once": "forgets within {steps}",
    "holds": "holds about {steps}",
    "holds_asked": "holds {horizon} steps",
    "fades": "holds about {steps} of {horizon}",
    "forgets_before": "forgets after about {steps} of {horizon}",
    "unknown": "not known",
}
"""A verdict for a layer as a whole."""

NOTES = {
    "never": "{units} never {forget}",
    "at_once": "{units} {forget} within 2 steps",
    "grows": "{units} {grow} from step to step",
    "lost": "in {storage} {units} {round} to no decay at all",
    "zero": "as stored in {storage} {units} {do} not decay at all",
    "if_cast": "computed in {storage}, {units} would round to no decay at all",
    "known_within": "stored in {storage}, a memory is known to {share} only",
    "overwritten": "{quantity} is {law}, as an initializer for all parameters leaves it",
}
"""What is said of single units, after the verdict."""

REMEDIES = {
    "never": "What never forgets adds up for as long as a sequence is: in long ones it overflows, or drowns the rest. If that is not meant, bound the decay away from 1, and keep the parameters that make it in float32.",
    "float32": "Keep the parameters that make the decay in float32, and compute the decay in it: there are few of them, and in {storage} a decay within {gap} of 1 is 1.",
    "zero": "A rate of 0, whose logarithm is minus infinity, never forgets. Initializers that draw in a short type leave such: draw in float32, away from 0.",
    "explodes": "What grows overflows in longer sequences. Scale the kernel down to a radius below 1, or use a recurrence that preserves norms: signalprop scale has the lines to paste.",
    "forgets_gate": "What is kept is set by the bias of the {gate}. For {horizon} steps: signalprop.initialization.torch.init_recurrent_(module, {horizon}), which makes up for what inputs do to the gate.",
    "forgets_dense": "This kernel loses the signal. For {horizon} steps: signalprop.initialization.torch.init_recurrent_(module, {horizon}); signalprop scale -n {n} -T {horizon} says up to when a kernel of this width can hold one.",
    "forgets_decay": "For a longer memory start decays nearer to 1: smaller step sizes, or smaller rates.",
    "dead": "A kernel of zeros remembers nothing: initialize it, or look whether it was loaded.",
    "overwritten": "The law of a decay is part of the layer: let initializers for all parameters leave it out, or fill it again after them.",
}
"""What to do about a finding."""

MEASURED = {
    "explodes": "explodes: a gradient is a hundred times larger after {steps}",
    "dead": "dead: a gradient is exactly 0 after {steps}",
    "never": "never forgets: nothing is lost over {steps}",
    "holds_all": "holds all {steps} of this batch",
    "too_short": "not known: the sequences of this batch are too short",
    "broken": "is {kind}{step} on{sequence}",
    "broken_inputs": "its inputs are {kind}{step} on{sequence}",
    "by_parameters": "by its parameters alone: {words}",
    "source_of_broken": "The first {kind} comes out of {where}{step}: what it was given is finite.",
    "source_of_broken_inputs": "The first {kind} was seen behind {where}{step}, which was given it: it is made between modules, by the code around it.",
    "not_called": "This batch did not reach {names}.",
}
"""What a run says."""

MEASURED_REMEDIES = {
    "dead": "Units of a rectifier that are shut for all inputs pass no gradient, and a state of zeros stays one: start with the identity and small inputs (signalprop.initialization.torch.init_recurrent_), lower the learning rate, or take a nonlinearity that leaks.",
    "never": "What never forgets adds up for as long as a sequence is. If that is not meant, let the state decay.",
    "broken": "States that grow leave the floats: bound the recurrence (a radius below 1, a decay below 1, tanh instead of relu), or normalize the inputs of the layer. Shorter sequences only hide it.",
    "half": "float16 ends at 65504: run this layer in bfloat16 or float32, or bound its states.",
    "broken_inputs": "Mend first what comes before it.",
}
"""What to do about it, where that differs from `REMEDIES`."""

MEASURED_ALONE = "Parameters of a kind that is not known here: measured alone."
MEASURED_TITLE = "Measured on {batch}, in {mode} mode"
MEASURED_COLUMNS = "Steps back from the end of a sequence until 1/e of the energy of a gradient is left, and until 1 % is: medians over sequences and random directions, then what parameters promise. States: ln of the squared length of the first and of the last. Exponent: the largest of Lyapunov, per step, with a 95 % interval. *: gradients of outputs with respect to inputs, where states cannot be reached."

HEAD = "{source}: {count}"
ALONE = "All this is from parameters alone. What inputs do to gates, and whether states are used, they do not say."
COLUMNS = "Steps until 1/e of an energy (squared length) is left, and until 1 % is: of an input, of a gradient carried back, and of single units on their own. Units are counted from 0."
KERNEL_COLUMNS = "g: scale, 1 for Glorot. Radius: the largest modulus of an eigenvalue. Largest: of the singular values. n/v: width of a Gaussian kernel that would hold a signal as long, as far as singular values decide. Departure: from a normal matrix, 0 to 1. s: what inputs add to a preactivation."
LAW_FITS = "{quantity}: {law}, as in {source}{others}."
LAW_OFF = "{quantity}: like no published start; the nearest is {law} ({source}), at a distance of {distance}."


def filled(table: dict[str, str], name: str, **values: object) -> str:
    """A sentence filled in."""
    return table[name].format(**values)
