"""The results as Markdown tables."""

import pandas as pd

from signalprop.figures.stability import COLUMNS, by_layer, ratios

NOTE = """\
max/min: largest over smallest E||x_t||^2 of a layer in the course of a training, measured on held-out expressions; white: the
same for E||x_t||^2 of white inputs with the same weights; later: over the last two thirds of the training. over white: E||x_t||^2
over that of white inputs, after training. Median [smallest, largest] over seeds, in the first table over layers and seeds."""


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """What the figure draws: a row for each step of the log, without what it does not show."""
    return frame[list(COLUMNS)]


def markdown(frame: pd.DataFrame) -> str:
    """One line per variant and depth, then one per variant, depth and layer."""
    long = by_layer(frame)
    real, white = ratios(long), ratios(long, "energy_white")
    last = frame[frame["step"] == frame["steps"]]
    later = ratios(long[long["step"] >= long["step"].max() / 3])
    lines = _head("variant", "depth", "max/min", "later", "max/min, white", "test loss", "test accuracy", "seeds")
    for key, one in last.groupby(["variant", "depth"], sort=False):
        cells = [*key, *(_over(_of(table, key)["ratio"]) for table in (real, later, white))]
        lines.append(_line(*cells, _over(one["test_loss"]), _over(one["test_accuracy"]), len(one)))
    lines += ["", *_head("variant", "depth", "layer", "max/min", "last/first", "max/min, white", "over white, last")]
    end = long[long["step"] == long["step"].max()]
    end = end.assign(excess=end["energy"] / end["energy_white"])
    for key in last.groupby(["variant", "depth"], sort=False).groups:
        for layer, one in _of(real, key).groupby("layer"):
            quiet, excess = (each[each["layer"] == layer] for each in (_of(white, key), _of(end, key)))
            cells = [*key, layer, _over(one["ratio"]), _over(one["drift"])]
            lines.append(_line(*cells, _over(quiet["ratio"]), _over(excess["excess"])))
    return "\n".join([*lines, "", NOTE])


def _of(table: pd.DataFrame, key: tuple[str, int]) -> pd.DataFrame:
    return table[(table["variant"] == key[0]) & (table["depth"] == key[1])]


def _over(values: pd.Series) -> str:
    return f"{values.median():.3g} [{values.min():.3g}, {values.max():.3g}]"


def _head(*names: str) -> list[str]:
    return [_line(*names), "|" + " --- |" * len(names)]


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
