"""The command line ``signalprop``."""

from signalprop.cli._app import app, main

__all__ = ["app", "main"]
