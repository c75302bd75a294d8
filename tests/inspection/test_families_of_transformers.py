"""Models of the package transformers, small and with random weights: nothing is downloaded."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import signalprop

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "vocab_size": 20,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
HEADS = {"num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32}
QWEN = {
    "head_dim": 8, "linear_num_value_heads": 8, "linear_num_key_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "num_experts": 2, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 8,
}  # fmt: skip
FAMILIES = {
    "Mamba": ("mamba", {"state_size": 8}),
    "Mamba2": ("mamba2", {"num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 1}),
    "FalconH1": ("mamba2", HEADS | {"mamba_d_ssm": 64, "mamba_n_heads": 8, "mamba_d_head": 8}),
    "Jamba": ("mamba", HEADS | {"num_experts": 2}),
    "Qwen3Next": ("gated-delta", HEADS | QWEN),
    "OlmoHybrid": ("gated-delta", HEADS),
    "KimiLinear": ("gated-delta", HEADS),
    "RecurrentGemma": ("rg-lru", {"num_attention_heads": 4, "lru_width": 32, "intermediate_size": 64}),
    "Rwkv": ("rwkv", {"attention_hidden_size": 32}),
    "xLSTM": ("mlstm", {"num_heads": 4}),
}
QUICK = ("Mamba2", "Qwen3Next")


def model(family):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = getattr(transformers, f"{family}Config")(**SMALL, **FAMILIES[family][1])
    return transformers.AutoModelForCausalLM.from_config(config)


@pytest.mark.filterwarnings("ignore")  # of the other package
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "family", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in FAMILIES]
)
def test_a_model_and_its_file_have_one_table(family, dtype, tmp_path):
    made = model(family).to(dtype)
    live = signalprop.inspect(made)
    save_file({name: one.contiguous().clone() for name, one in made.state_dict().items()}, tmp_path / "m.safetensors")
    saved = signalprop.inspect(tmp_path / "m.safetensors")
    assert {layer.adapter for layer in live.layers} == {FAMILIES[family][0]}
    for ours, theirs in zip(live.layers, saved.layers, strict=True):
        assert ours.name == theirs.name
        assert ours.storage == theirs.storage
        assert ours.laws == theirs.laws
        np.testing.assert_array_equal(ours.units.rate, theirs.units.rate)
        np.testing.assert_array_equal(ours.units.rounding.lost, theirs.units.rounding.lost)
    if family not in ("OlmoHybrid", "Qwen3Next"):  # whose beta, and size of keys, are in the code alone
        assert [one.gradient.by_e for one in live.layers] == [one.gradient.by_e for one in saved.layers]
    assert str(saved)


@pytest.mark.filterwarnings("ignore")
def test_the_gate_of_qwen_keeps_what_its_own_code_says():
    made = model("Qwen3Next")
    mixer = made.model.layers[0].linear_attn
    log_decay = -mixer.A_log.float().exp() * torch.nn.functional.softplus(torch.zeros(8) + mixer.dt_bias)
    layer = signalprop.inspect(made)["model.layers.0.linear_attn"]
    np.testing.assert_allclose(-layer.units.rate, log_decay.detach().numpy(), rtol=1e-6)
    assert any("Qwen3-Next" in law.source or "Qwen3-Next" in "".join(law.others) for law in layer.laws)


@pytest.mark.filterwarnings("ignore")
def test_heads_that_a_draw_in_bfloat16_leaves_without_decay():
    """One in some hundred numbers drawn uniformly in bfloat16 is 0, and the logarithm of its rate minus infinity."""
    made = model("Qwen3Next").to(torch.bfloat16)
    mixer = made.model.layers[1].linear_attn
    with torch.no_grad():
        draw = torch.empty(8, dtype=torch.bfloat16).uniform_(0.0, 16.0)
        draw[[2, 6]] = 0.0
        mixer.A_log.copy_(draw.log())
    assert "as stored in bfloat16 2 of 8 heads (heads 2 and 6) do not decay at all" in " ".join(
        str(signalprop.inspect(made)).split()
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_initializer_for_all_parameters_is_found():
    """A bias of the step size that is 0 is nobody's published start."""
    made = model("Jamba")
    overwritten = bool((made.model.layers[0].mamba.dt_proj.bias == 0.0).all())
    assert (
        "as an initializer for all parameters leaves it" in " ".join(str(signalprop.inspect(made)).split())
    ) == overwritten
