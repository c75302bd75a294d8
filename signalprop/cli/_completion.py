"""Names that the shell completes."""

from __future__ import annotations

from collections.abc import Iterable


def check_names(incomplete: str) -> list[str]:
    """Names of checks, for ``verify --only``."""
    from signalprop.verify import all_checks

    return _matching((check.name for check in all_checks()), incomplete)


def figure_names(incomplete: str) -> list[str]:
    """Names of figures, for ``reproduce --only``."""
    from signalprop.figures.base import FIGURES

    return _matching(FIGURES, incomplete)


def configuration_names(incomplete: str) -> list[str]:
    """Settings of trainings that come with the package, for ``train --config``."""
    from signalprop._configurations import configurations

    return _matching(configurations(), incomplete)


def topics(incomplete: str) -> list[str]:
    """Commands and topics, for ``cite``."""
    from signalprop import citations

    return _matching(citations.names(), incomplete)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})
