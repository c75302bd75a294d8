"""Does the norm of the state stay constant through training? RotRNN beside LRU: `python -m benchmarks.stability`.

Classifiers of short ListOps expressions, of depth 2, 4 and 6, are trained side by side on the same examples: RotRNN with phases
up to 2 pi and with the small ones published for this task, LRU with a recomputed and with a learned normaliser (`design`).
E||x_t||^2 of each layer is measured on the same held-out expressions.
The log of each finished training goes to ``results.csv``; a later run goes on where the file ends. Needs the extra ``torch``.
"""
