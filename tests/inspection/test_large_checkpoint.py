"""A checkpoint of 1 GB is read one layer at a time, with progress."""

import json
import subprocess
import sys

import pytest

import signalprop
from signalprop import _progress

LAYERS = 40


def write(path, layers, width):
    """Layers of Mamba 2 with projections, zeros in a sparse file: only the header takes room."""
    header, place = {}, 0
    shapes = {
        "A_log": [64],
        "dt_bias": [64],
        "D": [64],
        "in_proj.weight": [4 * width, width],
        "out_proj.weight": [width, 2 * width],
    }
    for i in range(layers):
        for name, shape in shapes.items():
            size = 4 * shape[0] * (shape[1] if len(shape) == 2 else 1)
            header[f"layers.{i}.mixer.{name}"] = {"dtype": "F32", "shape": shape, "data_offsets": [place, place + size]}
            place += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + place)
    return path


@pytest.mark.slow
def test_memory_stays_small(tmp_path):
    path = write(tmp_path / "m.safetensors", LAYERS, 1024)
    assert path.stat().st_size > 1e9
    program = (
        "import resource, sys, signalprop; "
        "found = signalprop.inspect(sys.argv[1]); "
        "print(len(found.layers), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(said[0]) == LAYERS
    kilobytes = int(said[1]) / (1024 if sys.platform == "darwin" else 1)
    assert kilobytes < 500_000


def test_progress_is_reported_by_layer(tmp_path):
    shares, texts = [], []

    class Meter:
        def __call__(self, title):
            return self

        def __enter__(self):
            def report(share, text=""):
                shares.append(share)
                texts.append(text)

            return report

        def __exit__(self, *_):
            return None

    with _progress.using(Meter()):
        signalprop.inspect(write(tmp_path / "m.safetensors", 4, 8))
    assert shares == [0.0, 0.25, 0.5, 0.75]
    assert texts[2] == "layers.2.mixer"
