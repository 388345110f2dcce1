"""The description that covey writes into a Parquet file: compare it with what is known.

It must say nothing that the schema and the requirements do not say. Then it holds no text and no
number that could belong to a person.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from covey.errors import count
from covey.schema import Column, Schema, TableFormat, TaxonomyBuilder
from covey.schema.requirements import Requirement
from covey.schema.taxonomy import UNSHOWN
from covey.tables.batches import Batches

_WORDS = {
    *("fields", "name", "type", "missingValues", "covey", "version", "asked", "table", "columns"),
    *("format", "parquet", "model", "parents", "listed", ""),
    *("integer", "number", "string", "date", "datetime", "time", "duration", "boolean", "any"),
    *Column.model_fields,
    *TableFormat.model_fields,
    *TaxonomyBuilder.model_fields,
}
_VERSION = re.compile(r"\d+(\.\w{1,9}){1,4}")


def unjudged(table: Batches, schema: Schema, requirements: Sequence[Requirement]) -> Iterator[str]:
    """What the table holds besides its columns, except a description that says what is known."""
    yield from table.unread
    if table.description and not _is_known(table, schema, requirements):
        signs = count(len(table.description), "sign")
        yield f"a description that says something else than the schema ({signs})"


def _is_known(table: Batches, schema: Schema, requirements: Sequence[Requirement]) -> bool:
    try:
        found = json.loads(table.description)
        # Otherwise it has spaces, or a key twice, of which one is not read.
        if json.dumps(found, ensure_ascii=False) != table.description:
            return False
        version = found["covey"].pop("version")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    known = {*_WORDS, *table.names, *_values(table.dialect.written), *_said(schema, requirements)}
    return bool(_VERSION.fullmatch(str(version))) and known.issuperset(_values(found))


def _said(schema: Schema, requirements: Sequence[Requirement]) -> Iterator[Any]:
    """What a schema and requirements say."""
    for name, column in schema.columns.items():
        yield name
        yield from _values(column.model_dump(mode="json", exclude={"taxonomy", "confirmed"}))
        if isinstance(column.taxonomy, TaxonomyBuilder):
            yield from _values(column.taxonomy.model_dump(mode="json"))
        elif column.taxonomy is not None:
            labels = column.taxonomy_over(()).labels
            yield from (*labels, *(UNSHOWN + label for label in labels))
    for one in requirements:
        yield from (one.option, *_values(asdict(one)))


def _values(found: Any) -> Iterator[Any]:
    """All keys, texts and numbers."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield key
            yield from _values(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from _values(value)
    elif found is not None:
        yield found
