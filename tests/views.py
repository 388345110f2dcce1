"""Released cells beside their original, both written by hand."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from covey.encoding import EncodedTable, encode
from covey.generalisation import View
from covey.schema import Schema
from covey.tables import Table

Columns = pl.DataFrame | Mapping[str, Any]


def table_of(columns: Columns) -> Table:
    return Table(pl.DataFrame(columns))


def encoded(columns: Columns, quasi: Mapping[str, Any], **more: Any) -> EncodedTable:
    return encode(table_of(columns), Schema.of(quasi=quasi, **more))


def view_of(original: Columns, quasi: Mapping[str, Any], shown: Columns | None = None) -> View:
    """The cells that are `shown` of an original, which may be shown as it is."""
    return View.of(table_of(original if shown is None else shown), encoded(original, quasi))
