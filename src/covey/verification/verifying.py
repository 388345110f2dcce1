"""Verify a released table by its cells alone, in memory or beyond it.

The verifier must catch the mistakes of all code that makes a release, so it imports none of it: no
encoding, no groups, no clustering, no generalisation, no compiled code. It groups rows by the
cells of their quasi-identifiers, exactly as written, and counts.
"""

import contextlib
import io
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl

from covey.errors import TableError
from covey.schema import Schema
from covey.schema.requirements import Requirement
from covey.tables.batches import Batches, batches
from covey.tables.merging import merged
from covey.verification.carried import unjudged
from covey.verification.survey import CLASS, Survey, owners
from covey.verification.verdict import Verdict

Persons = Mapping[str, pl.Series | Sequence[object]]
T = TypeVar("T")

LINES = 1_000_000  # that are judged at once


def verify(  # noqa: PLR0913 - those of anonymize
    frame: Any,
    schema: Schema,
    require: Requirement | Sequence[Requirement] | None = None,
    *,
    k: int | None = None,
    l: Any = None,  # noqa: E741 - its name in the literature
    t: Any = None,
    person: str | Literal[False] | None = None,
    limit_share: bool | None = None,
    persons: Persons | Iterable[Persons] | None = None,
) -> Verdict:
    """Verify any table, also one that covey did not make.

    Without `require`, the requirements of the schema apply, with `k`, `l`, `t`, `person` and
    `limit_share` as in `anonymize`. The verdict always says what the table achieves, even without
    requirements. If persons are counted but the table does not have their column, pass it in
    `persons`: its name, with one cell for each row of the table; for a table in batches, one such
    mapping for each batch, or one for all rows.
    """
    requirements = schema.requirements(
        require, k=k, l=l, t=t, person=person, limit_share=limit_share
    )
    table = batches(frame, schema, declared=schema.table.of_release())
    surveys = (Survey.of(batch, schema) for batch in table)
    whole = merged(surveys)
    if whole is None:
        raise TableError("the table has no rows")
    # No one who made the table could know the seed, and choose cells whose hashes are the same.
    survey = replace(whole, seed=secrets.randbits(64))
    lines = (
        survey.coded(batch, owners(requirements, batch, schema, given))
        for batch, given in _with_persons(table, persons or {}, survey.rows)
    )
    with classes_together(lines, survey.rows) as buckets:
        judged = merged(survey.judge(bucket, requirements) for bucket in buckets)
    assert judged is not None
    return replace(
        survey.verdict(judged, requirements), unjudged=(*unjudged(table, schema, requirements),)
    )


def _with_persons(
    table: Batches, persons: Persons | Iterable[Persons], rows: int
) -> Iterator[tuple[Any, Persons]]:
    """Each batch with its persons."""
    wrong = TableError("the person column must have one cell for each row of the table")
    if not isinstance(persons, Mapping):
        try:
            yield from zip(table, persons, strict=True)
        except ValueError:
            raise wrong from None
        return
    columns = {name: pl.Series(name, cells) for name, cells in persons.items()}
    if any(len(cells) != rows for cells in columns.values()):
        raise wrong
    start = 0
    for batch in table:
        height = batch.frame.height
        yield batch, {name: cells.slice(start, height) for name, cells in columns.items()}
        start += height


# ── classes brought together ────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def classes_together(lines: Iterable[pl.DataFrame], rows: int) -> Iterator[Iterator[pl.DataFrame]]:
    """The same lines in buckets that hold all lines of their classes.

    If there is more than one bucket, the lines are in files meanwhile: only numbers, in a folder
    that only its owner can open, which is removed at the end, even after an error.
    """
    number = -(-rows // LINES)
    if number < 2:
        yield iter([pl.concat(lines)])
        return
    with tempfile.TemporaryDirectory(prefix="covey-") as folder:
        for part, some in enumerate(_gathered(lines)):
            bucket = (pl.col(CLASS[0]) % number).alias(_BUCKET)
            parts = some.with_columns(bucket).partition_by(_BUCKET, as_dict=True, include_key=False)
            for (key,), found in parts.items():
                found.write_ipc(Path(folder) / f"{key}-{part}", compression="uncompressed")
        found_again = (_read(Path(folder), key) for key in range(number))
        yield (bucket for bucket in found_again if bucket is not None)


_BUCKET = "bucket"


def _gathered(lines: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same lines, about as many at a time as a bucket has, so that files are not many."""
    waiting: list[pl.DataFrame] = []
    for some in lines:
        waiting.append(some)
        if sum(part.height for part in waiting) >= LINES:
            yield pl.concat(waiting)
            waiting = []
    if waiting:
        yield pl.concat(waiting)


def _read(folder: Path, key: int) -> pl.DataFrame | None:
    parts = [pl.read_ipc(io.BytesIO(path.read_bytes())) for path in folder.glob(f"{key}-*")]
    return pl.concat(parts) if parts else None
