"""Files of weights: the same tensors whatever the format, and a sentence for what is none of them."""

import json
import pickle

import ml_dtypes
import numpy as np
import pytest
import torch
from weights import mamba2_like, write_safetensors

import signalprop
from signalprop.inspection import read_checkpoint

TENSORS = {
    "a.weight": torch.arange(6.0).reshape(2, 3) / 7,
    "half": torch.linspace(-3, 3, 5).half(),
    "brain": torch.linspace(-3, 3, 5).bfloat16(),
    "small": torch.linspace(-3, 3, 5).to(torch.float8_e4m3fn),
    "wide": torch.linspace(-3, 3, 4, dtype=torch.float64),
    "phase": torch.polar(torch.ones(3), torch.arange(3.0)),
    "count": torch.arange(4),
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
}


def as_numpy(tensor):
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64).numpy()


def check(found, wanted=TENSORS):
    assert set(found) == set(wanted)
    for name, tensor in wanted.items():
        assert found[name].shape == tuple(tensor.shape)
        assert found[name].storage == str(tensor.dtype).removeprefix("torch.")
        np.testing.assert_array_equal(found[name].load(), as_numpy(tensor))


def test_safetensors(tmp_path):
    check(read_checkpoint(write_safetensors(tmp_path / "m.safetensors", TENSORS)))


@pytest.mark.parametrize("old", [False, True])
def test_torch(tmp_path, old):
    # PyTorch's own old format has no float8.
    wanted = {name: one for name, one in TENSORS.items() if name != "small"} if old else TENSORS
    torch.save(wanted, tmp_path / "m.pt", _use_new_zipfile_serialization=not old)
    check(read_checkpoint(tmp_path / "m.pt"), wanted)


def test_numpy(tmp_path):
    wanted = {name: one for name, one in TENSORS.items() if name not in ("brain", "small")}
    np.savez(tmp_path / "m.npz", **{name: one.numpy() for name, one in wanted.items()})
    check(read_checkpoint(tmp_path / "m.npz"), wanted)


def test_numpy_with_bfloat16_of_jax(tmp_path):
    values = np.linspace(-3, 3, 5).astype(ml_dtypes.bfloat16)
    np.savez(tmp_path / "m.npz", b=values)
    found = read_checkpoint(tmp_path / "m.npz")["b"]
    assert found.storage == "bfloat16"
    np.testing.assert_array_equal(found.load(), values.astype(np.float64))


def test_training_checkpoints_are_nested(tmp_path):
    torch.save(
        {"state_dict": mamba2_like(), "epoch": 3, "optimizer": {"state": {0: {"step": torch.tensor(1.0)}}}},
        tmp_path / "m.ckpt",
    )
    (layer,) = signalprop.inspect(tmp_path / "m.ckpt").layers
    assert layer.name == "state_dict.mixer"


def test_folder_and_index(tmp_path):
    names = list(TENSORS)
    parts = {"one.safetensors": names[:4], "two.safetensors": names[4:]}
    for file, some in parts.items():
        write_safetensors(tmp_path / file, {name: TENSORS[name] for name in some})
    check(read_checkpoint(tmp_path))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {name: file for file, some in parts.items() for name in some}}))
    check(read_checkpoint(index))
    check(read_checkpoint(tmp_path))


def refused(path, words):
    with pytest.raises(ValueError, match=words) as info:
        read_checkpoint(path)
    assert "\n" not in str(info.value)


def test_files_that_are_none_of_these(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("weights")
    refused(text, "ends in")
    for ending in (".safetensors", ".npz", ".pt"):
        wrong = tmp_path / f"wrong{ending}"
        for content in (b"", b"hello, this is no file of weights", bytes(100)):
            wrong.write_bytes(content)
            refused(wrong, "not a")
    refused(tmp_path, "|".join(("is not", "ends in")))
    (tmp_path / "nothing").mkdir()
    refused(tmp_path / "nothing", "without weights")
    with pytest.raises(FileNotFoundError):
        read_checkpoint(tmp_path / "missing.pt")


def test_a_file_that_was_cut_off(tmp_path):
    path = write_safetensors(tmp_path / "m.safetensors", TENSORS)
    path.write_bytes(path.read_bytes()[:-9])
    refused(path, "cut off or damaged")


class Evil:
    def __reduce__(self):
        return print, ("code was run",)


@pytest.mark.parametrize("save", [torch.save, lambda o, p: p.write_bytes(pickle.dumps(o))])
def test_code_in_a_pickle_is_refused_and_not_run(tmp_path, capsys, save):
    save({"mixer": Evil()}, tmp_path / "m.pt")
    refused(tmp_path / "m.pt", "code in it")
    assert "code was run" not in capsys.readouterr().out


def test_a_whole_model_is_code(tmp_path):
    torch.save(torch.nn.LSTM(2, 3), tmp_path / "m.pt")
    refused(tmp_path / "m.pt", r"save model.state_dict\(\)")


def test_objects_of_numpy_are_refused(tmp_path):
    np.savez(tmp_path / "m.npz", a=np.array([Evil()], dtype=object))
    refused(tmp_path / "m.npz", "pickled object")


def test_an_index_does_not_lead_out_of_its_folder(tmp_path):
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    refused(index, "not beside it")
    index.write_text(json.dumps({"weight_map": {"a": "gone.safetensors"}}))
    refused(index, "missing")


def test_layers_are_in_the_order_of_their_numbers(tmp_path):
    tensors = {f"layers.{i}.{name}": one for i in (10, 2, 0, 1) for name, one in mamba2_like().items()}
    layers = signalprop.inspect(write_safetensors(tmp_path / "m.safetensors", tensors)).layers
    assert [layer.name for layer in layers] == [f"layers.{i}.mixer" for i in (0, 1, 2, 10)]


def test_formats_agree_on_the_whole_table(tmp_path):
    tensors = mamba2_like()
    torch.save(tensors, tmp_path / "m.pt")
    np.savez(tmp_path / "m.npz", **{name: one.numpy() for name, one in tensors.items()})
    write_safetensors(tmp_path / "m.safetensors", tensors)
    found = [signalprop.inspect(tmp_path / f"m.{ending}") for ending in ("pt", "npz", "safetensors")]
    found.append(signalprop.inspect(tensors))
    tables = [one.as_dict()["layers"] for one in found]
    assert all(table == tables[0] for table in tables)
