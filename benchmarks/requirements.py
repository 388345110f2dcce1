"""Measure the cost of requirements in addition to k: loss and time, compared with k alone.

`adult`: Adult with ARX's taxonomies, k = 10. "Repair only" takes the groups that the covey method
forms for k alone and repairs those that miss a requirement, as for every other method. Losses are
Total-IL divided by that of k alone on the same quasi-identifiers.

`census`: 600,000 rows of the census, k = 100, and no occupation in more than 1/l of a group. He's
cb has its own construction for this, by splitting; losses of the covey method are divided by cb's.

Times are processor seconds for clustering only, in one run.
Run: python -m benchmarks.requirements [--part PART ...] [--data FOLDER]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import tables

from covey import METHODS, KAnonymity, LDiversity, Schema, TCloseness
from covey.clustering import keep_constraints
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.measures.loss import measure_groups
from covey.schema.requirements import Requirement
from covey.tables import Table

PARTS = ("adult", "census")
K, CENSUS_K = 10, 100
LS = (2, 4, 6, 8, 10)
EFFORTS = ("fast",)  # more effort would take minutes for each l, and is not needed to beat cb
ASKED: tuple[tuple[str, float, Requirement], ...] = (
    ("occupation", 3, LDiversity(3, on="occupation", kind="frequency")),
    ("occupation", 5, LDiversity(5, on="occupation", kind="entropy")),
    ("salary-class", 0.2, TCloseness(0.2, on="salary-class", distance="equal")),
)


def schema_without(schema: Schema, sensitive: str) -> Schema:
    """The same quasi-identifiers, except the sensitive one."""
    quasi: dict[str, Any] = {
        name: {**column.model_dump(exclude={"role", "taxonomy"}), "taxonomy": column.taxonomy}
        for name, column in schema.quasi.items()
        if name != sensitive
    }
    rest = [name for name in schema.columns if name not in quasi and name != sensitive]
    return Schema.of(quasi=quasi, sensitive=[sensitive], insensitive=rest)


def formed(method: str, table: EncodedTable, k: int, **options: Any) -> Groups:
    groups = METHODS[method](table, k, **options)
    assert isinstance(groups, Groups)
    return groups


def timed(table: EncodedTable, form: Callable[[], Groups]) -> tuple[float, float]:
    """The loss of the groups, and the seconds to form them."""
    began = time.process_time()
    groups = form()
    seconds = time.process_time() - began
    return measure_groups(table, groups).total_il, seconds


def row(
    first: str, table: EncodedTable, base: Callable[[], Groups], *others: Callable[[], Groups]
) -> None:
    """Print the loss of the first way, and that of the others divided by it."""
    least, seconds = timed(table, base)
    cells = [f"{least:,.0f}, {seconds:.1f} s"]
    for way in others:
        lost, seconds = timed(table, way)
        cells.append(f"{lost / least:.2f}, {seconds:.1f} s")
    print(f"| {first} | " + " | ".join(cells) + " |", flush=True)


def head(*columns: str) -> None:
    print("| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")


def adult(folder: Path | None) -> None:
    frame, schema = tables.adult(folder), tables.adult_schema(folder)
    head("in addition to k = 10", "k alone", "fast", "balanced", "repair only")
    for sensitive, figure, requirement in ASKED:
        settings = schema_without(schema, sensitive)
        asked = [KAnonymity(K), requirement]
        table = encode(Table(frame), settings, require=asked)
        plain = replace(table, constraints=None)
        own = partial(formed, "covey", table, K)
        row(
            f"{requirement.name}, {figure:g}",
            table,
            partial(formed, "covey", plain, K),
            *(partial(own, effort=effort) for effort in ("fast", "balanced")),
            partial(keep_constraints, table, K, formed("covey", plain, K)),
        )


def census(folder: Path | None) -> None:
    frame = tables.census(folder, 600_000, tables.OCCUPATION)
    if frame is None:
        print("no census table: the comparison with cb is skipped")
        return
    schema = tables.census_schema(tables.OCCUPATION)
    head(f"l, in addition to k = {CENSUS_K}", "cb", *EFFORTS)
    for diversity in LS:
        requirement = LDiversity(diversity, on=tables.OCCUPATION, kind="frequency")
        table = encode(Table(frame), schema, require=[requirement])
        own = partial(formed, "covey", table, CENSUS_K)
        row(
            str(diversity),
            table,
            partial(formed, "cb", table, CENSUS_K, l=diversity),
            *(partial(own, effort=effort) for effort in EFFORTS),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="all by default")
    tables.add_data_option(parser)
    asked = parser.parse_args()
    for part in asked.part or PARTS:
        {"adult": adult, "census": census}[part](asked.data)


if __name__ == "__main__":
    main()
