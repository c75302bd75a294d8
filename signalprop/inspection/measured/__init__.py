"""What the recurrences of a PyTorch model remember on a batch, measured: energies of states and of gradients, and exponents.

A model is run once, as it is. What each recurrence was given is kept, and the recurrence is stepped again by itself: forward
for its states, backward for a gradient, in chunks of a few steps, so that no graph holds a whole sequence. Files here need
PyTorch, but for `record` and `verdicts`.
"""
