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
from benchmarks.suite import Row, growth, measure, tasks
from signalprop._provenance import provenance

BASELINE = Path(__file__).with_name("baseline.json")


def section(name: str, task: dict[str, Any]) -> str:
    """The part of the report on one task."""
    table = markdown(task["about"], name, [Row(**row) for row in task["rows"]])
    return f"{table}\n\n{task['more']}" if task["more"] else table


def write(directory: Path, measured: dict[str, Any], facts: dict[str, Any]) -> None:
    """results.json and RESULTS.md; tasks that were not run keep what an earlier run wrote there."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "results.json"
    before = json.loads(path.read_text())["tasks"] if path.exists() else {}
    known = {**before, **measured}
    kept = {name: known[name] for name in tasks() if name in known}
    fits = growth(Row(**row) for task in kept.values() for row in task["rows"])
    content = {
        **facts, "tasks": kept, "growth": [asdict(fit) for fit in fits], "installation": installation.sizes(),
    }  # fmt: skip
    path.write_text(json.dumps(content, indent=1) + "\n")
    parts = [heading(facts), *(section(name, task) for name, task in kept.items()), growth_table(fits)]
    (directory / "RESULTS.md").write_text("\n\n".join([*parts, installation.markdown()]) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the named tasks, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split(": ", 1)[1])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"one or several of: {', '.join(tasks())}")
    parser.add_argument("--quick", action="store_true", help="few sizes: a minute or two")
    parser.add_argument("--write", type=Path, metavar="DIRECTORY", help="write results.json and RESULTS.md there")
    parser.add_argument("--baseline", action="store_true", help=f"make these ratios the baseline ({BASELINE.name})")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a ratio is past the baseline")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.tasks if name not in tasks()]
    if unknown:
        parser.error(f"no task {unknown[0]!r}; there are {', '.join(tasks())}")
    facts = provenance()
    print(heading(facts))
    measured: dict[str, Any] = {}
    rows: list[Row] = []
    for name in chosen.tasks or tasks():
        module = import_module(f"benchmarks.{name}")
        mine = [row for comparison in module.comparisons(chosen.quick) for row in measure(name, comparison)]
        more = module.accuracy(chosen.quick) if hasattr(module, "accuracy") else ""
        about = (module.__doc__ or "").strip()
        measured[name] = {
            "about": about, "git_revision": facts["git_revision"], "quick": chosen.quick, "more": more,
            "rows": [asdict(row) for row in mine],
        }  # fmt: skip
        print(f"\n{section(name, measured[name])}", flush=True)
        rows += mine
    print(f"\n{growth_table(growth(rows))}")
    ratios = guard.ratios(rows)
    past = guard.past(ratios, guard.load(BASELINE))
    for line in past:
        print(f"WARNING: {line}", file=sys.stderr)
    if chosen.write is not None:
        write(chosen.write, measured, facts)
    if chosen.baseline:
        guard.save(BASELINE, ratios, facts)
    return 1 if past and chosen.strict else 0


if __name__ == "__main__":
    sys.exit(main())
