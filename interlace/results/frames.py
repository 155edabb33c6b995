"""Rows of an answer as a data frame."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from app.errors import NotInstalled

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]


def frame(rows: Sequence[Row]) -> "pd.DataFrame":
    """Return rows as a data frame of pandas, a column for each key.

    Raises
    ------
    NotInstalled
        Without pandas.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - takes a second
    except ModuleNotFoundError:
        raise NotInstalled(
            "Data frames need pandas, which no extra brings: pip install pandas."
        ) from None
    return pd.DataFrame(list(rows))


def chosen(name: str, tables: Mapping[str, Any]) -> Any:
    """Return the table of a name.

    Raises
    ------
    ValueError
        When there is none, with those that there are.
    """
    if name not in tables:
        raise ValueError(f"There is no table {name!r}: one of {', '.join(tables)}.")
    return tables[name]
