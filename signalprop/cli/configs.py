"""``signalprop configs``: the settings of trainings that come with the package."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop.cli import _completion as completion
from signalprop.cli._options import Json
from signalprop.cli._terminal import print_json, print_rows, sentences


def configs(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Print this one.", autocompletion=completion.configuration_names),
    ] = None,
    as_json: Json = False,
) -> None:
    """Settings for train --config.

    Lists those that come with the package; with a NAME prints that TOML file, to be saved and changed.
    """
    with sentences():
        from signalprop._configurations import configurations, content_of, title
        from signalprop.fields import one_of

        found = configurations()
        if name is not None:
            one_of(name, found, "NAME")
    if name is None:
        titles = {each: title(text) for each, text in found.items()}
        if as_json:
            print_json(titles)
        else:
            print_rows(titles.items())
    elif as_json:
        print_json(content_of(name))
    else:
        print(found[name], end="")
