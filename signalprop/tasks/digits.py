"""Sequential digits: the handwritten digits of scikit-learn, 8 x 8, one pixel per step."""

from __future__ import annotations

import numpy as np

from signalprop._checks import INT64_LIMIT, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._extras import required
from signalprop._streams import split_order
from signalprop.tasks.task import Kind, Split, Task, guess

IMAGES, PIXELS, TEST = 1797, 64, 360
_NUMBER_SECONDS = 5e-9
CLASSES = 10


def sequential_digits(*, repeat: int = 1, pause: int = 0, validation: int = 0) -> Task:
    """The 1797 digits of scikit-learn, pixel by pixel, row by row; the class is asked for after the last step.

    Parameters
    ----------
    repeat
        Steps that each pixel is held.
    pause
        Steps of zeros after the last pixel, over which a model has to remember. They are steps and not padding: `Split.lengths`
        counts them.
    validation
        Images taken from the training part.

    Returns
    -------
    Task
        Classification; inputs float32 (images, 64 repeat + pause, 1). The 360 test images are a fixed random choice. Pixels have
        mean 0 and variance 1 over the training part.

    Raises
    ------
    ValueError
        A number out of range; more steps than fit in memory.
    ImportError
        If scikit-learn is not installed; the images come with it.

    Examples
    --------
    >>> task = sequential_digits(pause=100)
    >>> task.train.inputs.shape, task.test.inputs.shape, task.classes
    ((1437, 164, 1), (360, 164, 1), 10)
    """
    held, zeros = whole_number(repeat, "repeat", 1, INT64_LIMIT), whole_number(pause, "pause", 0, INT64_LIMIT)
    steps = PIXELS * held + zeros
    refuse_beyond_bounds(
        f"The digits with repeat={held} and pause={zeros}, {steps} steps,",
        seconds=_NUMBER_SECONDS * float(IMAGES) * steps,
        memory=12.0 * IMAGES * steps,  # while they are put together
        instead="Hold the pixels for fewer steps.",
    )
    with required("the digits task", "sklearn"):
        from sklearn.datasets import load_digits
    images, labels = load_digits(return_X_y=True)
    kept = whole_number(validation, "validation", 0, len(labels) - TEST - 1)
    order = split_order(len(labels))
    rows = {"train": order[TEST + kept :], "validation": order[TEST : TEST + kept], "test": order[:TEST]}
    pixels = (images - images[rows["train"]].mean()) / images[rows["train"]].std()
    pixels = np.pad(np.repeat(pixels.astype(np.float32), held, axis=1), ((0, 0), (0, zeros)))[..., None]
    answers = labels.astype(np.int64)
    parts = {name: Split(pixels[row], answers[row], np.full(len(row), steps)) for name, row in rows.items()}
    chance, baseline = guess(answers[rows["train"]], answers[rows["test"]], CLASSES)
    return Task(
        name="digits",
        description=f"handwritten digits, {images.shape[1]} pixels in {steps} steps",
        kind=Kind.CLASSIFICATION,
        train=parts["train"],
        validation=parts["validation"] if kept else None,
        test=parts["test"],
        symbols=0,
        features=1,
        classes=CLASSES,
        chance=chance,
        baseline=baseline,
    )
