"""What an inspection says, in text, JSON, Markdown, HTML and as a picture, and on the command line."""

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner
from weights import inverse_softplus, mamba2_like, write_safetensors

import signalprop
from signalprop.cli import app
from signalprop.inspection import inspect
from signalprop.inspection.page import page


def heads(rates, dtype=torch.float32):
    """A layer of Mamba 2 whose heads decay at these rates per step."""
    step = 0.01
    bias = np.full(len(rates), inverse_softplus(np.array(step)))
    with np.errstate(divide="ignore"):
        A_log = np.log(np.array(rates) / step)
    return {
        "A_log": torch.tensor(A_log, dtype=dtype),
        "dt_bias": torch.tensor(bias, dtype=dtype),
        "D": torch.ones(len(rates)),
    }


def lines(model, **options):
    return page(inspect({"mixer": model}, **options), 200).splitlines()


def test_verdicts():
    assert lines(heads([0.01] * 4))[3] == "mixer  holds about 50 steps"
    assert lines(heads([0.01] * 4), horizon=40)[3] == "mixer  holds 40 steps"
    assert lines(heads([0.01] * 4), horizon=200)[3] == "mixer  holds about 50 of 200 steps"
    assert lines(heads([0.01] * 4), horizon=2000)[3] == "mixer  forgets after about 231 of 2000 steps"
    assert lines(heads([2.0] * 4))[3] == "mixer  forgets within 2 steps"
    assert lines(heads([0.0] * 4))[3].startswith("mixer  never forgets")


def test_heads_are_named():
    said = lines(heads([0.01, 0.02, 0.0, 0.01, 3.0]))[3]
    assert "as stored in float32 1 of 5 heads (head 2) does not decay at all" in said
    assert "head 4 forgets within 2 steps" in said
    assert "heads 0 and 3 forget within 2 steps" in lines(heads([3.0, 0.02, 0.01, 3.0]))[3]
    assert "7 of 9 heads forget within 2 steps" in lines(heads([3.0] * 7 + [0.01] * 2))[3]


def test_memories_far_beyond_the_horizon_never_end():
    said = lines(heads([0.01, 1e-5, 0.02, 1e-5]), horizon=100)[3]
    assert "heads 1 and 3 never forget" in said
    assert "never" not in lines(heads([0.01, 1e-5, 0.02, 1e-5]), horizon=10_000)[3]


def test_a_cast_to_bfloat16_is_foreseen():
    """Rates of 0.001 are decays of 0.999, which bfloat16 rounds to 1."""
    model = heads([0.05, 0.001, 0.03, 0.001])
    assert "computed in bfloat16, 2 of 4 heads (heads 1 and 3) would round to no decay at all" in lines(model)[3]
    assert any("float32" in line for line in lines(model)[4:8])
    assert "bfloat16" not in lines(heads([0.05, 0.02]))[3]


def test_the_log_of_a_zero_is_found():
    """A uniform from 0 to 16 drawn in bfloat16 has zeros: their log is minus infinity, and the head does not decay."""
    model = heads([0.05, 0.0, 0.03, 0.07], torch.bfloat16)
    assert torch.isneginf(model["A_log"][1])
    assert "as stored in bfloat16 1 of 4 heads (head 1) does not decay at all" in lines(model)[3]


def test_a_decay_that_float32_rounds_to_one():
    said = lines(heads([0.05, 1e-9, 0.03, 0.07]))[3]
    assert "in float32 1 of 4 heads (head 1) rounds to no decay at all" in said


def test_gates_of_an_lstm_in_bfloat16():
    """A forget bias of 7 keeps 0.9991, which bfloat16 has not."""
    torch.manual_seed(0)
    module = torch.nn.LSTM(4, 8)
    with torch.no_grad():
        for vector in (module.bias_ih_l0, module.bias_hh_l0):
            vector.zero_()
        module.bias_ih_l0[8:16] = torch.tensor([7.0, 7.0, 2.0, 2.0, 2.0, 2.0, 2.0, 7.0])
    wanted = torch.sigmoid(module.bias_ih_l0[8:16].bfloat16()) == 1.0
    found = inspect(module.to(torch.bfloat16), input_std=0.0).layers[0].units.rounding.lost
    assert (found == wanted.numpy()).all()
    assert found.sum() == 3


def test_overwritten_parameters_are_found():
    torch.manual_seed(1)
    model = {"A_log": 0.02 * torch.randn(64), "dt_bias": torch.zeros(64), "D": torch.ones(64)}
    said = lines(model)[3]
    assert "A_log is normal with standard deviation 0.02, as an initializer for all parameters leaves it" in said
    assert "dt_bias is 0 everywhere" in said


def test_growth_is_an_explosion():
    torch.manual_seed(0)
    rnn = torch.nn.RNN(4, 64, nonlinearity="relu")
    with torch.no_grad():
        rnn.weight_hh_l0.mul_(3.0)
    text = str(inspect(rnn))
    assert "explodes after" in text
    assert "signalprop scale" in text


def test_an_lstm_is_told_to_open_its_forget_gate():
    torch.manual_seed(0)
    text = page(inspect(torch.nn.LSTM(4, 32), horizon=100), 200)
    assert "init_recurrent_(module, 100)" in text
    assert "forget gate" in text


@pytest.mark.parametrize("width", [80, 60])
def test_the_page_fits(width):
    found = inspect(
        {"a": {"mixer": heads([0.01, 0.0, 3.0])}, "b": heads([0.01] * 30), "c": torch.nn.LSTM(4, 16).state_dict()}
    )
    for line in page(found, width).splitlines():
        assert len(line) <= max(width, 80), line


def test_plain_numbers():
    found = inspect({"mixer": heads([0.01, 0.0, 3.0])}, horizon=100)
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    (layer,) = content["layers"]
    assert layer["verdict"] == "holds_asked"
    assert {one["code"]: one["units"] for one in layer["findings"]} == {"at_once": [[2]], "zero": [[1]]}
    assert layer["gradient"]["steps_to_1_over_e"] == found["mixer"].gradient.by_e
    assert layer["units"]["never_forget"] == 1


def test_markdown_and_html():
    found = inspect({"mixer<x>": heads([0.01, 0.0])})
    assert "| `mixer<x>` |" in found.as_markdown()
    assert "mixer&lt;x&gt;" in found.to_html()
    assert "<x>" not in found.to_html()
    assert found.to_html() == found._repr_html_()


def test_picture(tmp_path):
    found = inspect({"mixer": heads([0.01, 0.0, 3.0]), "rnn": torch.nn.RNN(3, 8).state_dict()}, horizon=100)
    found.plot().savefig(tmp_path / "p.png")
    assert (tmp_path / "p.png").stat().st_size > 1000


def test_command(tmp_path):
    path = write_safetensors(tmp_path / "m.safetensors", mamba2_like())
    said = CliRunner().invoke(app, ["inspect", str(path), "--horizon", "100"])
    assert said.exit_code == 0
    assert "mixer" in said.stdout
    told = CliRunner().invoke(app, ["inspect", str(path), "--json", "--plot", str(tmp_path / "p.svg")])
    assert json.loads(told.stdout)["layers"] == signalprop.inspect(path).as_dict()["layers"]
    assert (tmp_path / "p.svg").exists()
    wrong = CliRunner().invoke(app, ["inspect", str(path), "--as", "lstm"])
    assert wrong.exit_code == 2
    assert "no recurrence that --adapter lstm reads" in wrong.stderr
    assert CliRunner().invoke(app, ["inspect", str(tmp_path / "none.pt")]).exit_code == 2


def test_a_live_module_and_its_file_have_one_table(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.ModuleDict(
        {"lstm": torch.nn.LSTM(4, 16, num_layers=2, bidirectional=True), "rnn": torch.nn.RNN(4, 8)}
    )
    for dtype in (torch.float32, torch.bfloat16):
        cast = model.to(dtype)
        path = write_safetensors(tmp_path / "m.safetensors", dict(cast.state_dict()))
        live, saved = signalprop.inspect(cast), signalprop.inspect(path)
        assert live.as_dict()["layers"] == saved.as_dict()["layers"]
        assert {layer.storage for layer in live.layers} == {str(dtype).removeprefix("torch.")}
        assert [layer.name for layer in live.layers] == ["lstm", "lstm_l0_reverse", "lstm_l1", "lstm_l1_reverse", "rnn"]
