"""Judges a released table by its cells alone.

It must be able to catch the mistakes of everything that made the table, so it imports none of it:
no encoding, no groups, no clustering, no generalisation, no compiled code. It groups rows by the
cells of their quasi-identifiers, exactly as written, and counts.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from covey import tables
from covey.errors import SchemaError, TableError, ViolationError, count
from covey.requirements import KAnonymity, Requirement
from covey.schema import Role, Schema
from covey.tables import Table


@dataclass(frozen=True)
class Check:
    """One requirement: what was asked, what the table achieves."""

    requirement: str
    asked: float
    achieved: float
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """What a table keeps of what was asked.

    `k` counts a missing cell as a value of its own, which is the stricter reading: the promise is
    judged by it and then holds in both. `k_wildcard` lets a missing cell match anything; it is None
    where cells are missing in too many patterns to count that.
    """

    rows: int
    classes: int
    k: int
    k_wildcard: int | None
    largest_class: int
    identifiers: tuple[str, ...]  # columns of that role that the table still has
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether every requirement is kept and no identifier is left."""
        return not self.identifiers and all(check.holds for check in self.checks)

    def raise_if_violated(self) -> None:
        """Raise `ViolationError`, with all that is wrong, unless the verdict holds."""
        wrong = [
            f"{check.requirement} does not hold: asked {check.asked:g}, found {check.achieved:g}"
            for check in self.checks
            if not check.holds
        ]
        if self.identifiers:
            names = ", ".join(map(repr, self.identifiers))
            wrong.append(f"the table has {count(len(self.identifiers), 'identifier')}: {names}")
        if wrong:
            raise ViolationError("; ".join(wrong))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {"holds": self.holds, **asdict(self)}


def verify(
    frame: Any, schema: Schema, require: Requirement | Sequence[Requirement] | None = None
) -> Verdict:
    """Judge any table, also one that covey did not make.

    Without `require`, the schema's own requirements are asked for; a table with none is still
    told what it achieves.
    """
    table = tables.read(frame, schema)
    if not table.frame.height:
        raise TableError("the table has no rows")
    quasi = _quasi_columns(table, schema)
    classes = _classes([table.frame[name] for name in quasi])
    sizes = classes[ROWS].to_list()
    k = min(sizes)
    wildcard = _smallest_match(_classes([table.cells(name) for name in quasi]), k)
    return Verdict(
        rows=table.frame.height,
        classes=classes.height,
        k=k,
        k_wildcard=wildcard,
        largest_class=max(sizes),
        identifiers=tuple(n for n in schema.names(Role.IDENTIFIER) if n in table.frame.columns),
        checks=tuple(_check(requirement, k) for requirement in schema.requirements(require)),
    )


def _check(requirement: Requirement, k: int) -> Check:
    match requirement:
        case KAnonymity():
            return Check("k-anonymity", requirement.k, k, k >= requirement.k)


def _quasi_columns(table: Table, schema: Schema) -> list[str]:
    """The columns that show quasi-identifiers: their own, or their low and high ends."""
    present = table.frame.columns
    shown: list[str] = []
    for name in schema.quasi:
        ends = [f"{name}_low", f"{name}_high"]
        found = [name] if name in present else [end for end in ends if end in present]
        if len(found) != (1 if name in present else 2):
            raise SchemaError(f"quasi-identifier {name!r} is not in the table")
        shown += found
    if not shown:
        raise SchemaError("the schema names no quasi-identifier, so there is nothing to judge")
    tables.refuse_roleless(present, {*schema.columns, *shown})
    return shown


ROWS = "rows"


def _classes(columns: Sequence[pl.Series]) -> pl.DataFrame:
    """The distinct rows with their number; columns are named by their place."""
    cells = pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
    return cells.group_by(cells.columns).len(ROWS).cast({ROWS: pl.Int64})


# Pairs of patterns are compared, so their number is squared.
MOST_PATTERNS = 64


def _smallest_match(classes: pl.DataFrame, k: int) -> int | None:
    """The fewest rows that any row cannot be told from when a missing cell matches anything.

    Classes are compared pattern by pattern of missing cells: two patterns are joined on the
    columns that both of them show. Only classes smaller than the best answer so far can lower it,
    and none can lower it below `k`, since every row matches its own class.
    """
    patterns = _by_pattern(classes)
    if len(patterns) > MOST_PATTERNS:
        return None
    best = int(classes[ROWS].sum())
    for shown, part in patterns:
        candidates = part.filter(pl.col(ROWS) < best)
        if best > k and candidates.height:
            best = min(best, _fewest_matches(candidates, shown, patterns))
    return best


def _by_pattern(classes: pl.DataFrame) -> list[tuple[list[str], pl.DataFrame]]:
    """The classes that show the same columns together, with those columns."""
    quasi = classes.columns[:-1]
    pattern = pl.concat_str(pl.col(quasi).is_null().cast(pl.Int8)).alias("missing")  # "0100"
    parts = classes.with_columns(pattern).partition_by("missing", as_dict=True, include_key=False)
    return [
        ([name for name, absent in zip(quasi, str(key[0]), strict=True) if absent == "0"], part)
        for key, part in parts.items()
    ]


def _fewest_matches(
    candidates: pl.DataFrame, shown: list[str], patterns: list[tuple[list[str], pl.DataFrame]]
) -> int:
    total = np.zeros(candidates.height, dtype=np.int64)
    for other, part in patterns:
        common = [name for name in shown if name in other]
        if common:
            sums = part.group_by(common).agg(pl.col(ROWS).sum().alias("matches"))
            joined = candidates.join(sums, on=common, how="left", maintain_order="left")
            total += joined["matches"].fill_null(0).to_numpy()
        else:
            total += int(part[ROWS].sum())
    return int(total.min())
