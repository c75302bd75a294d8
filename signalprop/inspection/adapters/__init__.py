"""Families of recurrent layers, one file each, in the order in which they are asked: the first that knows a tensor has it."""

from __future__ import annotations

from signalprop._registry import Later, Registry
from signalprop.inspection.record import Adapter

_HERE = "signalprop.inspection.adapters"

ADAPTERS: Registry[Adapter] = Registry(
    "adapter",
    Adapter,
    {
        "rnn": Later(f"{_HERE}.rnn:RNN"),
        "rnn-relu": Later(f"{_HERE}.rnn:RNN_RELU"),
        "lstm": Later(f"{_HERE}.gated_cells:LSTM"),
        "gru": Later(f"{_HERE}.gated_cells:GRU"),
        "mamba": Later(f"{_HERE}.mamba:MAMBA"),
        "mamba2": Later(f"{_HERE}.mamba2:MAMBA2"),
        "gated-delta": Later(f"{_HERE}.gated_delta:GATED_DELTA"),
        "rg-lru": Later(f"{_HERE}.rg_lru:RG_LRU"),
        "lru": Later(f"{_HERE}.diagonal:LRU"),
        "rotrnn": Later(f"{_HERE}.rotrnn:ROTRNN"),
        "s4d": Later(f"{_HERE}.diagonal:S4D"),
        "s5": Later(f"{_HERE}.diagonal:S5"),
        "rwkv": Later(f"{_HERE}.rwkv:RWKV"),
        "rwkv7": Later(f"{_HERE}.rwkv:RWKV7"),
        "mlstm": Later(f"{_HERE}.mlstm:MLSTM"),
        "flax-lstm": Later(f"{_HERE}.flax_cells:FLAX_LSTM"),
        "flax-gru": Later(f"{_HERE}.flax_cells:FLAX_GRU"),
        "dense": Later(f"{_HERE}.dense:DENSE"),
    },
)
"""Every adapter by name; `signalprop.inspection.ADAPTERS.register` adds one."""
