"""`watch` inside a trainer: callbacks for Lightning and for the Trainer of Hugging Face.

Neither package is imported before a callback is made; the class of a callback is then also one of theirs.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signalprop._checks import path_of, whole_number
from signalprop._extras import required
from signalprop.inspection.watcher import Watcher, watch

if TYPE_CHECKING:
    import pandas as pd

NAME = "memory.csv"


class _Callback:
    """What both have in common: a watcher from the start of a training to its end, on the first of several processes a file."""

    watcher: Watcher | None = None

    def __init__(
        self,
        every: int = 100,
        path: str | os.PathLike[str] | None = None,
        *,
        horizon: int | None = None,
        writer: Any = None,
        layers: Any = None,
        input_std: float | None = None,
        adapter: str | None = None,
    ) -> None:
        super().__init__()
        self._every = whole_number(every, "every", 1)
        self._path = None if path is None else path_of(path, "path")
        self._writer = writer
        self._options = {"horizon": horizon, "layers": layers, "input_std": input_std, "adapter": adapter}

    @property
    def table(self) -> pd.DataFrame | None:
        """All rows so far; None before a training."""
        return None if self.watcher is None else self.watcher.table

    def _begin(self, model: Any, taken: int, folder: str | os.PathLike[str], first: bool, writer: Any) -> None:
        """`first`: whether this process is the one that writes; all of them look, for shards are gathered from all."""
        path = Path(folder) / NAME if self._path is None else self._path
        if first and self._path is None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self.watcher = watch(
            model,
            every=self._every,
            path=path if first else None,
            start=taken or None,
            writer=writer if first else None,
            **self._options,
        )

    def _at(self, step: int) -> None:
        if self.watcher is not None:
            self.watcher.at(step)

    def _end(self) -> None:
        if self.watcher is not None:
            self.watcher.close()


class MemoryCallback(_Callback):
    """`watch` as a callback of Lightning: ``Trainer(callbacks=[MemoryCallback(every=100)])``.

    Parameters
    ----------
    every
        Optimizer steps between two looks.
    path
        As for `watch`; by default ``memory.csv`` in the folder of the logger, or in ``default_root_dir``. A training that goes
        on from a checkpoint goes on with the file.
    horizon, layers, input_std, adapter
        As for `watch`.
    writer
        As for `watch`; by default the TensorBoard logger of the trainer, where it has one.

    Attributes
    ----------
    watcher
        The `Watcher`, from the start of the training on.

    Raises
    ------
    ImportError
        Neither ``lightning`` nor ``pytorch_lightning`` is installed; that one is used which is already imported.
    ValueError
        `every` below 1 or a path that is none, at once; else as for `watch`, when the training starts.

    Notes
    -----
    Steps are those of ``trainer.global_step``, so that accumulated batches count as one.
    """

    def __new__(cls, *args: Any, **options: Any) -> MemoryCallback:
        """An instance of a class that is a ``Callback`` of Lightning as well."""
        return object.__new__(_joined(cls, _lightning()))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Look for the first time."""
        writer = self._writer
        if writer is None:
            writers = (logger.experiment for logger in trainer.loggers if "TensorBoard" in type(logger).__name__)
            writer = next(iter(writers), None)
        folder = trainer.log_dir or trainer.default_root_dir
        self._begin(pl_module, trainer.global_step, folder, trainer.is_global_zero, writer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Look where enough steps are taken."""
        self._at(trainer.global_step)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Close what was opened."""
        self._end()


class MemoryTrainerCallback(_Callback):
    """`watch` as a callback of the Trainer of Hugging Face: ``Trainer(.., callbacks=[MemoryTrainerCallback(every=100)])``.

    Parameters
    ----------
    every
        Optimizer steps between two looks.
    path
        As for `watch`; by default ``memory.csv`` in ``args.output_dir``. A training that goes on from a checkpoint goes on with
        the file.
    horizon, writer, layers, input_std, adapter
        As for `watch`.

    Attributes
    ----------
    watcher
        The `Watcher`, from the start of the training on.

    Raises
    ------
    ImportError
        ``transformers`` is not installed.
    ValueError
        `every` below 1 or a path that is none, at once; else as for `watch`, when the training starts.

    Notes
    -----
    Steps are those of ``state.global_step``.
    """

    def __new__(cls, *args: Any, **options: Any) -> MemoryTrainerCallback:
        """An instance of a class that is a ``TrainerCallback`` of transformers as well."""
        with required("MemoryTrainerCallback", "transformers"):
            base = import_module("transformers").TrainerCallback
        return object.__new__(_joined(cls, base))

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **others: Any) -> None:
        """Look for the first time."""
        self._begin(model, state.global_step, args.output_dir, state.is_world_process_zero, self._writer)

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Look where enough steps are taken."""
        self._at(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Close what was opened."""
        self._end()


def _lightning() -> type:
    """The Callback of Lightning, of the package that the user's Trainer comes from."""
    if "lightning.pytorch" not in sys.modules and "pytorch_lightning" in sys.modules:
        return import_module("pytorch_lightning").Callback  # type: ignore[no-any-return]
    with required("MemoryCallback", "lightning"):
        return import_module("lightning.pytorch").Callback  # type: ignore[no-any-return]


_JOINED: dict[tuple[type, type], type] = {}


def _joined(own: type, base: type) -> type:
    """A class that is both, made once; under the name of our own, which is also what Lightning files its state under."""
    if issubclass(own, base):
        return own
    if (own, base) not in _JOINED:
        names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
        _JOINED[own, base] = type(own.__name__, (own, base), names)
    return _JOINED[own, base]
