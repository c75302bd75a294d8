"""Libraries that only part of the package needs, and what to do where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Literal, NamedTuple

Library = Literal["torch", "jax", "distributed", "sklearn", "tensorboard", "lightning", "transformers"]


class _Entry(NamedTuple):
    name: str
    package: str
    """What `pip install` calls it: the library itself, which works from a checkout as well."""


_LIBRARIES: dict[Library, _Entry] = {
    "torch": _Entry("PyTorch", "torch"),
    "jax": _Entry("JAX", "jax"),
    "distributed": _Entry("Dask", "distributed"),
    "sklearn": _Entry("scikit-learn", "scikit-learn"),
    "tensorboard": _Entry("TensorBoard", "tensorboard"),
    "lightning": _Entry("Lightning", "lightning"),
    "transformers": _Entry("the Transformers of Hugging Face", "transformers"),
}


def missing(what: str, library: Library) -> str:
    """The sentence for `what` where the library is not installed."""
    name, package = _LIBRARIES[library]
    return f"{what} needs {name}, which is not installed; pip install {package}"


def installed(library: Library) -> bool:
    """Whether the library can be imported; this does not import it."""
    try:
        return find_spec(library) is not None
    except ValueError:  # made unavailable in sys.modules
        return False


@contextmanager
def required(what: str, library: Library) -> Iterator[None]:
    """Wrap the imports of a library: where it is missing, say who needs it and how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != library:
            raise
        raise ImportError(missing(what, library)) from error
