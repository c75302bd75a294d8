"""Callbacks of Lightning and of the Trainer of Hugging Face: by their contract, and in the packages where these are installed.

``.venv/bin/python -m pip install lightning transformers accelerate tensorboard`` lets `make test-slow` run the latter as well;
they are no dependencies of anything here.
"""

import csv
import subprocess
import sys
import types

import pytest
import torch

from signalprop.inspection import MemoryCallback, MemoryTrainerCallback

INSTALL = "pip install lightning transformers accelerate tensorboard"


def rows_of(path):
    with open(path, newline="") as file:
        return [int(row["step"]) for row in csv.DictReader(file)]


def model():
    torch.manual_seed(0)
    return torch.nn.RNN(3, 4, batch_first=True)


class Base:
    """What a trainer calls on every callback."""

    def on_train_epoch_end(self, *_):
        return "of the base"


@pytest.fixture
def contracts(monkeypatch):
    """Packages of the names with a base class each, as far as a callback needs them."""
    lightning, module = types.ModuleType("lightning"), types.ModuleType("lightning.pytorch")
    module.Callback = type("Callback", (Base,), {})
    transformers = types.ModuleType("transformers")
    transformers.TrainerCallback = type("TrainerCallback", (Base,), {})
    for name, one in (("lightning", lightning), ("lightning.pytorch", module), ("transformers", transformers)):
        monkeypatch.setitem(sys.modules, name, one)
    return module.Callback, transformers.TrainerCallback


def lightning_trainer(tmp_path, step=0, first=True):
    return types.SimpleNamespace(
        global_step=step, log_dir=None, default_root_dir=str(tmp_path), is_global_zero=first, loggers=[]
    )


def test_lightning_by_its_contract(contracts, tmp_path):
    callback = MemoryCallback(every=2, horizon=10)
    assert isinstance(callback, contracts[0])
    assert isinstance(callback, MemoryCallback)
    assert type(callback).__qualname__ == "MemoryCallback"
    assert type(callback) is type(MemoryCallback())
    assert callback.on_train_epoch_end() == "of the base"
    assert callback.table is None
    trainer, module = lightning_trainer(tmp_path), model()
    callback.on_train_start(trainer, module)
    for batch in range(8):  # two batches to a step
        trainer.global_step = (batch + 1) // 2
        callback.on_train_batch_end(trainer, module, None, None, batch)
    callback.on_train_end(trainer, module)
    assert rows_of(tmp_path / "memory.csv") == [0, 2, 4]
    again = MemoryCallback(every=2)
    again.on_train_start(lightning_trainer(tmp_path, step=3), module)
    assert list(again.table["step"]) == [0, 2, 3]
    with pytest.raises(ValueError, match="rows up to step 3 of an earlier training"):
        MemoryCallback(every=2).on_train_start(lightning_trainer(tmp_path), module)
    other = MemoryCallback(every=2)
    other.on_train_start(lightning_trainer(tmp_path / "other", first=False), module)
    assert len(other.table) == 1
    assert not (tmp_path / "other").exists()


def test_hugging_face_by_its_contract(contracts, tmp_path):
    callback = MemoryTrainerCallback(every=3)
    assert isinstance(callback, contracts[1])
    assert callback.on_train_epoch_end() == "of the base"
    args = types.SimpleNamespace(output_dir=str(tmp_path / "out"))
    state = types.SimpleNamespace(global_step=0, is_world_process_zero=True)
    callback.on_train_begin(args, state, None, model=model(), optimizer=None)
    for step in range(1, 8):
        state.global_step = step
        assert callback.on_step_end(args, state, None, model=None) is None
    callback.on_train_end(args, state, None)
    assert rows_of(tmp_path / "out" / "memory.csv") == [0, 3, 6]


def test_a_subclass_is_of_both(contracts):
    class Mine(MemoryCallback):
        pass

    assert isinstance(Mine(), contracts[0])
    assert type(Mine()).__name__ == "Mine"


def test_bad_input(contracts):
    for kind in (MemoryCallback, MemoryTrainerCallback):
        with pytest.raises(ValueError, match="every must be at least 1, got 0"):
            kind(every=0)
        with pytest.raises(ValueError, match="path must be a path"):
            kind(path=3)


@pytest.mark.parametrize(
    ("name", "package", "words"),
    [
        (
            "MemoryCallback",
            "lightning",
            "MemoryCallback needs Lightning, which is not installed; pip install lightning",
        ),
        ("MemoryTrainerCallback", "transformers", "which is not installed; pip install transformers"),
    ],
)
def test_without_the_package(name, package, words):
    code = f"import sys; sys.modules[{package!r}] = None; from signalprop.inspection import {name}; {name}()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert run.stderr.splitlines()[-1].endswith(words), run.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_in_lightning_itself(tmp_path):
    pl = pytest.importorskip("lightning.pytorch", reason=INSTALL)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.rnn = model()

        def training_step(self, batch, _):
            return self.rnn(batch)[0].square().mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.DataLoader(torch.ones(12, 5, 3), batch_size=2)

    def fit(epochs, **options):
        callback = MemoryCallback(every=2, path=tmp_path / "m.csv")
        trainer = pl.Trainer(
            max_epochs=epochs, accumulate_grad_batches=2, callbacks=[callback], default_root_dir=tmp_path, accelerator="cpu",
            logger=options.pop("logger", False), enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        trainer.fit(Module(), data, **options)
        return trainer, callback

    trainer, _ = fit(2)
    assert rows_of(tmp_path / "m.csv") == [0, 2, 4, 6]
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    _, callback = fit(3, ckpt_path=tmp_path / "last.ckpt")
    assert rows_of(tmp_path / "m.csv") == [0, 2, 4, 6, 8]
    assert set(callback.table["layer"]) == {"rnn"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_in_the_trainer_of_hugging_face_itself(tmp_path):
    transformers = pytest.importorskip("transformers", reason=INSTALL)
    pytest.importorskip("accelerate", reason=INSTALL)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = model()

        def forward(self, inputs, labels=None):
            return {"loss": self.rnn(inputs)[0].square().mean()}

    def train(steps, **options):
        callback = MemoryTrainerCallback(every=2)
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), max_steps=steps, per_device_train_batch_size=2, report_to=[], save_steps=3,
            use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        data = [{"inputs": torch.ones(5, 3), "labels": torch.zeros(1)} for _ in range(8)]
        trainer = transformers.Trainer(model=Model(), args=arguments, train_dataset=data, callbacks=[callback])
        trainer.train(**options)
        return callback

    train(5)
    assert rows_of(tmp_path / "out" / "memory.csv") == [0, 2, 4]
    callback = train(8, resume_from_checkpoint=str(tmp_path / "out" / "checkpoint-3"))
    assert rows_of(tmp_path / "out" / "memory.csv") == [0, 2, 3, 4, 6, 8]
    assert set(callback.table["layer"]) == {"rnn"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_folder_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboard", reason=INSTALL)
    from signalprop.inspection import watch

    with watch(model(), every=1, path=None, writer=tmp_path / "runs") as watcher:
        watcher.step()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(tmp_path / "runs"))
    found.Reload()
    assert [one.step for one in found.Scalars("memory/model/gradient_1e")] == [0, 1]
