"""Rows of data frames."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd


def records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table, each by the names of its columns, which are text."""
    return cast("list[dict[str, Any]]", frame.to_dict("records"))
