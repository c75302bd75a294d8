"""Initial weights of an n x n recurrent matrix in PyTorch, against torch.nn.init; two threads of PyTorch's own."""

import torch

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop.initialization.torch import ginibre_

HORIZON = 100


def comparisons(quick):
    for n in (256, 1024) if quick else (128, 256, 512, 1024, 2048):
        w = torch.empty(n, n)
        yield Comparison(
            "an n x n matrix, horizon 100", "n", n, "a matrix",
            [
                Contender("ginibre_", OURS, lambda w=w: ginibre_(w, horizon=HORIZON), 1, 2.0),
                Contender("torch.nn.init.normal_", FLOOR, lambda w=w: torch.nn.init.normal_(w), 1, 2.0),
                Contender("torch.nn.init.xavier_normal_", OTHER, lambda w=w: torch.nn.init.xavier_normal_(w), 1, 2.0),
                Contender("torch.nn.init.orthogonal_", OTHER, lambda w=w: torch.nn.init.orthogonal_(w), 1, 3.0),
            ],
            rounds=5,
        )  # fmt: skip
