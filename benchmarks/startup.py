"""Start-up: whole commands as a user types them, kernels cached."""

import subprocess
import sys

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender


def command(*arguments):
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def comparisons(quick):
    floor = Contender("python -c pass", FLOOR, command("-c", "pass"))
    signalprop = ("-m", "signalprop")
    for case, ours, others in (
        ("import signalprop", command("-c", "import signalprop"), {"import numpy": command("-c", "import numpy")}),
        ("signalprop --help", command(*signalprop, "--help"), {}),
        ("signalprop energy -n 2500 -k 250 --field real",
         command(*signalprop, *["energy", "-n", "2500", "-k", "250", "--field", "real"]), {}),
        ("signalprop scale -n 4096 -T 64", command(*signalprop, *["scale", "-n", "4096", "-T", "64"]), {}),
        ("signalprop sample -n 1000 -k 63", command(*signalprop, *["sample", "-n", "1000", "-k", "63"]),
         {"import numba": command("-c", "import numba"), "import torch": command("-c", "import torch")}),
    ):  # fmt: skip
        contenders = [Contender(case, OURS, ours), floor, *(Contender(n, OTHER, call) for n, call in others.items())]
        yield Comparison(case, "commands", 1, "", contenders, rounds=3 if quick else 7)
