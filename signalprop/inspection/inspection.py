"""`Inspection`: what the recurrences of a model remember, as numbers, text, Markdown, HTML and a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signalprop.inspection.record import LayerReport, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from signalprop.inspection.measured.record import BatchRun


@dataclass(frozen=True)
class Inspection:
    """What the recurrences of a model remember; ``print`` it for the page of text.

    Attributes
    ----------
    source
        The model or the file, in words.
    settings
        The horizon and the size of inputs that were asked for.
    layers
        A report for each recurrence, in the order of the model.
    run
        Of the batch; None where there was none.
    """

    source: str
    settings: Settings
    layers: tuple[LayerReport, ...]
    run: BatchRun | None = None

    def __str__(self) -> str:
        from signalprop.inspection.page import page

        return page(self)

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, name: str) -> LayerReport:
        """The report of the layer of this name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        from signalprop.inspection.plain import as_dict

        return as_dict(self)

    def as_markdown(self) -> str:
        """Verdicts and the table in Markdown."""
        from signalprop.inspection.markup import markdown

        return markdown(self)

    def to_html(self) -> str:
        """Verdicts and the table as a piece of HTML, without scripts or styles of its own."""
        from signalprop.inspection.markup import html

        return html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self) -> Figure:
        """The memory of every layer on one axis of steps."""
        from signalprop.inspection.picture import picture

        return picture(self)
