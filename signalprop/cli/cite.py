"""The command ``signalprop cite``: what a command line used, as BibTeX or JSON."""

from __future__ import annotations

import copy
from enum import StrEnum
from typing import Annotated, Any

import typer

from signalprop.cli import _completion as completion
from signalprop.cli._terminal import print_json, print_text, sentences

# Options that cite does not know belong to the command whose references are asked for.
CONTEXT = {"ignore_unknown_options": True}


def cite(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND [OPTION]... | TOPIC",
            help="A command line without signalprop, or topics.",
            autocompletion=completion.topics,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List all topics with their references.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """BibTeX of what a command used.

    Put cite before a command: signalprop cite sample -n 100 -k 50 --method tempered. Options that pick no method may be left
    out: signalprop cite energy --field real. Or name topics: signalprop cite tempered hill. On its own: software and paper.
    """
    from signalprop import citations

    commands = context.find_root().command.commands  # type: ignore[attr-defined]
    with sentences():
        if listed:
            topics = tuple(citations.TOPICS)
        elif words and words[0] in commands and not all(map(citations.is_topic, words)):
            topics = _used_by(commands[words[0]], words[1:], context)
        else:
            topics = citations.resolve(*(words or ()))
    if as_json:
        keys = dict.fromkeys(key for name in topics for key in citations.TOPICS[name].keys)
        print_json(
            {
                "topics": [
                    {
                        "topic": name,
                        "about": citations.TOPICS[name].about,
                        "references": list(citations.TOPICS[name].keys),
                    }
                    for name in topics
                ],
                "references": [citations.fields(key) | {"bibtex": citations.entries()[key]} for key in keys],
            }
        )
    elif listed:
        for name in topics:
            topic = citations.TOPICS[name]
            print_text(f"{name:<13} {topic.about}: {', '.join(topic.keys) or 'see its options'}", " " * 14)
    else:
        print(citations.bibtex(topics))


def _used_by(command: Any, arguments: list[str], context: typer.Context) -> tuple[str, ...]:
    """Topics of a command line, read by the command's own parser; what it requires may be missing."""
    from signalprop import citations
    from signalprop._configurations import content_of

    lenient = copy.copy(command)
    lenient.params = [copy.copy(parameter) for parameter in command.params]
    for parameter in lenient.params:
        parameter.required = False
    values: dict[str, Any] = lenient.make_context(command.name, arguments, parent=context.parent).params
    if values.get("plan") is not None:  # signalprop run PLAN.toml
        from signalprop.montecarlo.plan import Plan

        plan = Plan.load(values["plan"])
        return citations.resolve("run", *plan.fields, plan.method, plan.activation)
    if values.get("config") is not None:  # signalprop train --config; options beside it come first
        content = content_of(values["config"])
        for option, section, key in (("task", "task", "name"), ("layer", "model", "layer")):
            table = content.get(section)
            values[option] = values[option] or (table.get(key) if isinstance(table, dict) else None)
    picked = {option: values.get(option) for option in citations.TOPICS[citations.canonical(command.name)].options}
    return citations.resolve(
        command.name, **{name: _text(value) for name, value in picked.items() if value is not None}
    )


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, StrEnum) else value)
