"""``python -m benchmarks [NAME ...]``: run the benchmarks and print their tables."""

import sys
from importlib import import_module

from signalprop._provenance import provenance

NAMES = ("enumeration", "energies", "samplers", "plans", "scan", "tempered", "startup")


def main() -> int:
    """Run the named benchmarks, or all of them."""
    chosen = sys.argv[1:] or NAMES
    unknown = [name for name in chosen if name not in NAMES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    facts = provenance()
    print(f"signalprop {facts['signalprop']} ({facts['git_revision']}), {facts['machine']}, Python {facts['python']}\n")
    for name in chosen:
        module = import_module(f"benchmarks.{name}")
        print(module.__doc__.strip().splitlines()[0])
        for what, value, comment in module.rows():
            print(f"  {what:<58} {value:>16}  {comment}")
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
