"""The results as a Markdown table."""

import pandas as pd


def markdown(frame: pd.DataFrame) -> str:
    """One line per variant and depth."""
    return str(frame.groupby(["variant", "depth"]).size())
