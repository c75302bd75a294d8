"""``python maintenance/vulnerabilities.py PIP-AUDIT``: known vulnerabilities of the pins of constraints.txt; 1 if there are any.

Asks the services that the program knows, one after the other, until one has answered for some package. Where none does, because
the network does not reach them or a mirror stands in their place, a sentence says that nothing was looked up, and the exit code
is 0.
"""

import json
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parents[1] / "constraints.txt"
SERVICES = ("pypi", "osv")
PATIENCE = 600  # seconds per service


def main(program):
    """Print what is known; the exit code says whether it is nothing."""
    said = []
    for service in SERVICES:
        found, problem = ask(program, service)
        looked_up = [one for one in found if "vulns" in one]
        if looked_up:
            return report(looked_up, [one["name"] for one in found if "vulns" not in one])
        said.append(f"{service}: {problem or 'it knows none of the packages'}")
    print(f"known vulnerabilities: nothing was looked up, no service answers from here ({'; '.join(said)})")
    return 0


def ask(program, service):
    """What a service says of each package, and the problem where it says nothing."""
    line = [program, "--vulnerability-service", service, "--requirement", str(PINS), "--no-deps", "--disable-pip"]
    line += ["--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)
        return json.loads(done.stdout)["dependencies"], None
    except subprocess.TimeoutExpired:
        return [], f"no answer in {PATIENCE} s"
    except OSError as error:
        return [], f"{program} cannot be run ({error.strerror})"
    except (ValueError, KeyError):
        lines = done.stderr.strip().splitlines() or ["it printed nothing"]
        return [], lines[-1][:160]


def report(looked_up, others):
    """Print vulnerabilities, one line each, and what could not be looked up."""
    count = 0
    for one in looked_up:
        for vulnerability in one["vulns"]:
            count += 1
            mended = ", ".join(vulnerability["fix_versions"]) or "no release"
            print(f"{one['name']} {one['version']}: {vulnerability['id']}, mended in {mended}")
    print(f"known vulnerabilities: {count} in {len(looked_up)} packages")
    if others:
        print(f"not looked up: {', '.join(others)}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
