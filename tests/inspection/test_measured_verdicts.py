"""What is said of a model on a batch, where numbers leave the floats, and what is refused."""

import json
import math

import pytest
import torch
from torch import nn

import signalprop
from signalprop.inspection import inspect
from signalprop.inspection.page import page

NAME = "relu recurrence  "


def rectifier(factor, units=4, dtype=torch.float32):
    """h' = relu(factor h + x), one input for all units."""
    cell = nn.RNN(1, units, nonlinearity="relu", bias=False)
    with torch.no_grad():
        cell.weight_hh_l0.copy_(factor * torch.eye(units))
        cell.weight_ih_l0.fill_(1.0)
    return cell.to(dtype)


def said(model, batch, **options):
    found = inspect(model, batch, **options)
    text = page(found, 200).splitlines()
    return next(line for line in text[3:] if line.startswith(NAME))


def test_verdicts():
    x = torch.ones(300, 2, 1)
    assert said(rectifier(1.0), x).startswith(f"{NAME}never forgets: nothing is lost over 300 steps")
    assert said(rectifier(math.exp(-0.0101)), x).startswith(f"{NAME}holds about 50 steps")
    assert said(rectifier(math.exp(-0.0101)), x, horizon=40).startswith(f"{NAME}holds 40 steps")
    assert said(rectifier(math.exp(-0.0101)), x, horizon=200).startswith(f"{NAME}holds about 50 of 200 steps")
    assert said(rectifier(math.exp(-0.02)), x, horizon=300).startswith(f"{NAME}forgets after about 116 of 300 steps")
    assert said(rectifier(math.exp(-0.001)), x).startswith(f"{NAME}holds all 300 steps of this batch")
    assert said(rectifier(0.05), x).startswith(f"{NAME}forgets within 1 step")
    assert said(rectifier(1.2), x[:30]).startswith(
        f"{NAME}explodes: a gradient is a hundred times larger after 13 steps"
    )


def test_a_rectifier_that_is_shut_is_dead():
    line = said(rectifier(1.0), -torch.ones(60, 2, 1))
    assert line.startswith(f"{NAME}dead: a gradient is exactly 0 after 1 step; by its parameters alone: ")
    text = str(inspect(rectifier(1.0), -torch.ones(60, 2, 1)))
    assert "Units of a rectifier that are shut" in text


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_first_step_that_is_infinite(dtype):
    """h_t = (2^t - 1) overflows where it is beyond the largest number."""
    cell, x = rectifier(2.0, dtype=dtype), torch.ones(200, 2, 1, dtype=dtype)
    states = cell(x)[0]
    first = int(torch.isinf(states[:, 0, 0]).int().argmax()) + 1
    found = inspect(cell, x)
    broken = found.layers[0].measured.broken
    assert (broken.kind, broken.step, broken.sequence, broken.inputs) == ("infinite", first, 0, False)
    assert found.layers[0].measured.gradient.reach == first - 1  # what comes before is measured
    assert f"{NAME}is infinite from step {first} on (sequence 0)" in page(found, 200)
    assert ("float16 ends at 65504" in page(found, 200)) == (dtype == torch.float16)
    assert found.run.broken.where == "RNN"
    assert f"The first infinity comes out of RNN at step {first} of sequence 0" in page(found, 200)


class Logarithm(nn.Module):
    def forward(self, inputs):
        return torch.log(inputs)


def test_nan_that_a_layer_is_given():
    model = nn.Sequential(nn.Identity(), Logarithm(), nn.GRU(2, 3, batch_first=True))
    x = torch.rand(3, 20, 2) + 0.5
    x[1, 6, 1] = -1.0
    found = inspect(model, x)
    text = page(found, 80)
    assert "The first NaN comes out of 1 at step 7 of sequence 1: what it was given is\nfinite." in text
    broken = found["2"].measured.broken
    assert (broken.kind, broken.step, broken.sequence, broken.inputs) == ("NaN", 7, 1, True)
    assert "2  its inputs are NaN from step 7 on (sequence 1)" in page(found, 200)
    assert (found["2"].measured.shortest, found["2"].measured.longest) == (6, 20)


def test_nan_between_modules():
    class Divides(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrence = nn.GRU(2, 3)

        def forward(self, inputs):
            return self.recurrence(inputs / inputs.abs().mean(-1, keepdim=True))[0]

    x = torch.rand(20, 1, 2)
    x[0] = 0.0
    found = inspect(Divides(), x)
    assert "was seen behind recurrence" in page(found, 200)
    assert found.layers[0].measured.gradient is None
    assert "its inputs are NaN from step 1 on" in page(found, 200)


def test_page_json_markdown_html_and_picture():
    torch.manual_seed(0)
    module = nn.LSTM(3, 8, num_layers=2, batch_first=True)
    found = signalprop.inspect(module, torch.randn(3, 60, 3), horizon=50)
    text = page(found, 80)
    assert "Measured on float32 (3, 60, 3), in training mode" in text
    assert max(map(len, text.splitlines())) <= 80
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert content["run"]["training"] is True
    measured = content["layers"][1]["measured"]
    assert measured["how"] == "states"
    assert len(measured["gradient"]["log_energy"]) == len(measured["gradient"]["steps"])
    assert len(measured["exponents"]["values"]) == 4
    assert content["layers"][1]["verdict_by_parameters"] == "at_once"
    assert "measured 1/e" in found.as_markdown()
    assert "<th>measured 1/e</th>" in found.to_html()
    rows = [line for line in found.as_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    figure = found.plot()
    assert len(figure.axes) == 2
    labels = {line.get_label() for line in figure.axes[1].get_lines()}
    assert {"measured: LSTM of 8 units", "measured: _l1"} <= labels


def refused(words, model, batch):
    with pytest.raises(ValueError, match=words) as info:
        inspect(model, batch)
    assert "\n" not in str(info.value)
    assert str(info.value).endswith(".")


def test_batches_that_are_refused():
    module = nn.GRU(2, 3)
    refused("batch must be what the model is called with", module, 3)
    refused("batch must hold a tensor", module, {})
    refused("batch must hold a tensor", module, (1, 2))
    refused(r"batch must have at least one sequence of one step, got shape \(0, 1, 2\)", module, torch.zeros(0, 1, 2))
    refused("batch is on meta, the model on cpu", module, torch.zeros(4, 1, 2, device="meta"))
    refused("model must run on the batch, and raises ", module, torch.zeros(4, 1, 5))
    refused("model must run on the batch, and raises TypeError", module, {"other": torch.zeros(4, 1, 2)})
    x = torch.zeros(4, 1, 2)
    x[2, 0, 1] = math.nan
    refused(r"batch is not finite: nan at position \[2, 0, 1\];", module, x)
    x[3] = math.inf
    refused(r"input of the batch is not finite: nan at position \[2, 0, 1\], and 2 more", module, (x, None, 1.0))
    refused(
        "hx of the batch is not finite",
        module,
        {"input": x.nan_to_num(0.0, 0.0), "hx": torch.full((1, 1, 3), math.inf)},
    )
    refused(
        "lengths must be whole numbers from 1", module, {"input": torch.zeros(4, 2, 2), "lengths": torch.tensor([0, 4])}
    )
    mask = torch.tensor([[1, 1, 1, 1], [0, 0, 0, 0]])
    refused(
        "attention_mask must leave each sequence a step, and sequence 1 has none",
        module,
        {"input": torch.zeros(4, 2, 2), "attention_mask": mask},
    )
    refused("batch is for a torch.nn.Module", module.state_dict(), torch.zeros(4, 1, 2))
    refused("has no recurrence that is known here", nn.Linear(2, 2), torch.zeros(4, 1, 2))
    with torch.no_grad():
        module.weight_hh_l0[0, 0] = math.nan
    refused(r"weight_hh_l0 is not finite: nan at position \[0, 0\]", module, torch.zeros(4, 1, 2))
