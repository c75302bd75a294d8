"""Two tasks whose inputs end long before the answer is due: sequential digits and copy memory."""

from dataclasses import dataclass

import torch
from torch import Tensor

from signalprop._streams import split_order

TEST_DIGITS = 360
COPY_TEST = 512
SYMBOLS, LENGTH = 8, 10


@dataclass(frozen=True)
class Task:
    """Inputs at the first `steps` steps, answers at the `answers` last ones, one of `classes` each."""

    name: str
    inputs: int
    steps: int
    answers: int
    classes: int

    @property
    def chance(self) -> float:
        """Accuracy of a guess; the loss of a guess is log(classes)."""
        return 1.0 / self.classes

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Training inputs (size, steps, inputs) and answers (size, answers)."""
        if self.name == "digits":
            pixels, labels = digits()[0]
            rows = torch.randint(len(labels), (size,), generator=generator)
            return pixels[rows], labels[rows]
        return _copy(size, generator)

    def test(self) -> tuple[Tensor, Tensor]:
        """Held-out inputs and answers, always the same."""
        if self.name == "digits":
            return digits()[1]
        return _copy(COPY_TEST, torch.Generator().manual_seed(0))


TASKS = {
    "digits": Task("digits", inputs=1, steps=64, answers=1, classes=10),
    "copy": Task("copy", inputs=SYMBOLS, steps=LENGTH, answers=LENGTH, classes=SYMBOLS),
}
_DIGITS: list[tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]] = []


def digits() -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Handwritten digits of scikit-learn, pixel by pixel: train and test (images, 64, 1) and labels (images, 1).

    Pixels have mean 0 and variance 1 over the training part; the 360 test images are a fixed random choice of the 1797.
    """
    if not _DIGITS:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        order = split_order(len(labels))
        train, test = order[TEST_DIGITS:], order[:TEST_DIGITS]
        images = (images - images[train].mean()) / images[train].std()
        pixels = torch.tensor(images, dtype=torch.float32)[..., None]
        answers = torch.tensor(labels)[:, None]
        _DIGITS.append(((pixels[train], answers[train]), (pixels[test], answers[test])))
    return _DIGITS[0]


def _copy(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Ten random symbols of eight, one-hot, to be said again in order at the last ten steps."""
    symbols = torch.randint(SYMBOLS, (size, LENGTH), generator=generator)
    return torch.nn.functional.one_hot(symbols, SYMBOLS).float(), symbols
