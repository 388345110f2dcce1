"""JSON: one record in each line, or a list of records."""

import io
import re

import polars as pl

from covey.schema import TableFormat
from covey.tables.formats.common import Found, damaged

BEGINS = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*["}]')
LIST_BEGINS = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")


def read(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read records, one in each line."""
    with damaged("file of JSON lines, or a column mixes types of values"):
        text = io.BytesIO(data.removeprefix(b"\xef\xbb\xbf"))
        return Found(pl.read_ndjson(text, infer_schema_length=None))


def read_list(data: bytes, _: str | None, __: TableFormat) -> Found:
    """Read a list of records."""
    with damaged("JSON file, or a column mixes types of values"):
        text = io.BytesIO(data.removeprefix(b"\xef\xbb\xbf"))
        return Found(pl.read_json(text, infer_schema_length=None))


def write(frame: pl.DataFrame) -> bytes:
    """One record in each line; times are texts as in a CSV file."""
    memory = io.BytesIO()
    frame.with_columns(pl.selectors.temporal().cast(pl.String)).write_ndjson(memory)
    return memory.getvalue()
