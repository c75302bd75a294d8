"""Files of weights and models for the tests of `signalprop.inspection`."""

import json
from pathlib import Path

import numpy as np
import torch

_KINDS = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.int64: "I64",
    torch.complex64: "C64",
}


def write_safetensors(path: Path, tensors: dict[str, torch.Tensor]) -> Path:
    """The format by its description, independently of the reader."""
    header, blobs, place = {"__metadata__": {"format": "pt"}}, [], 0
    for name, tensor in tensors.items():
        raw = tensor.detach().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        header[name] = {
            "dtype": _KINDS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [place, place + len(raw)],
        }
        blobs.append(raw)
        place += len(raw)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blobs))
    return path


def inverse_softplus(step: np.ndarray) -> np.ndarray:
    return step + np.log(-np.expm1(-step))


def mamba2_like(heads: int = 8, seed: int = 0) -> dict[str, torch.Tensor]:
    """Parameters of the law of mamba_ssm."""
    rng = np.random.default_rng(seed)
    step = np.exp(rng.uniform(np.log(1e-3), np.log(1e-1), heads))
    return {
        "mixer.A_log": torch.tensor(np.log(rng.uniform(1.0, 16.0, heads)), dtype=torch.float32),
        "mixer.dt_bias": torch.tensor(inverse_softplus(step), dtype=torch.float32),
        "mixer.D": torch.ones(heads),
    }
