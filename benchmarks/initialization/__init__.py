"""What the initial scale of a dense linear recurrence does to its training: `python -m benchmarks.initialization`.

h_t = W h_{t-1} + B u_t, logits = C h_t + c, all of W, B, C, c trained, float32 on one CPU core. The seven starts of W (`starts`)
meet two tasks (`tasks`) at horizons far beyond sqrt(n); everything else is the same for all of them (`training`).
One row per finished training goes to ``results.csv``; a later run goes on where the file ends. Needs the extra ``bench``.
"""
