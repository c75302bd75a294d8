"""``python -m benchmarks [TASK ...]``: measure, print the tables, and compare ratios with the committed baseline."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import guard, installation
from benchmarks.report import growth_table, heading, markdown
from benchmarks.suite import Row, growth, measure
from signalprop._provenance import provenance

TASKS = (
    "counting",
    "polynomials",
    "energies",
    "sampling",
    "rare_events",
    "bookkeeping",
    "scan",
    "initializers",
    "startup",
)
BASELINE = Path(__file__).with_name("baseline.json")


def main(arguments: list[str] | None = None) -> int:
    """Run the named tasks, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split(": ", 1)[1])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"one or several of: {', '.join(TASKS)}")
    parser.add_argument("--quick", action="store_true", help="few sizes: a minute or two")
    parser.add_argument("--write", type=Path, metavar="DIRECTORY", help="write results.json and RESULTS.md there")
    parser.add_argument("--baseline", action="store_true", help=f"make these ratios the baseline ({BASELINE.name})")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a ratio is past the baseline")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.tasks if name not in TASKS]
    if unknown:
        parser.error(f"no task {unknown[0]!r}; there are {', '.join(TASKS)}")
    facts = provenance()
    parts = [heading(facts)]
    print(parts[0])
    rows: list[Row] = []
    for name in chosen.tasks or TASKS:
        module = import_module(f"benchmarks.{name}")
        mine = [row for comparison in module.comparisons(chosen.quick) for row in measure(name, comparison)]
        text = markdown((module.__doc__ or "").strip(), name, mine)
        if hasattr(module, "accuracy"):
            text += "\n\n" + module.accuracy(chosen.quick)
        parts.append(text)
        print(f"\n{text}", flush=True)
        rows += mine
    fits = growth(rows)
    if fits:
        parts.append(growth_table(fits))
    if not chosen.tasks:
        parts.append(installation.markdown())
    print("", *parts[len(parts) - bool(fits) - (not chosen.tasks) :], sep="\n\n")
    ratios = guard.ratios(rows)
    past = guard.past(ratios, guard.load(BASELINE))
    for line in past:
        print(f"WARNING: {line}", file=sys.stderr)
    if chosen.write is not None:
        chosen.write.mkdir(parents=True, exist_ok=True)
        content: dict[str, Any] = {
            **facts,
            "quick": chosen.quick,
            "rows": [asdict(row) for row in rows],
            "growth": [asdict(fit) for fit in fits],
            "installation": installation.sizes(),
        }
        (chosen.write / "results.json").write_text(json.dumps(content, indent=1) + "\n")
        (chosen.write / "RESULTS.md").write_text("\n\n".join(parts) + "\n")
    if chosen.baseline:
        guard.save(BASELINE, ratios, facts)
    return 1 if past and chosen.strict else 0


if __name__ == "__main__":
    sys.exit(main())
