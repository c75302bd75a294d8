"""``signalprop info``: versions, machine and revision, for reports."""

from __future__ import annotations

from signalprop.cli._options import Json
from signalprop.cli._terminal import print_json, print_rows


def info(as_json: Json = False) -> None:
    """Versions, machine, git revision: for reports."""
    from signalprop._provenance import provenance

    facts = provenance()
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            print_rows((library, version or "not installed") for library, version in value.items())
        else:
            print_rows([(name.replace("_", " "), str(value) if value is not None else "unknown")])
