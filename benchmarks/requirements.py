"""What it costs to ask for more than k: loss and time beside k alone, and beside merging only.

Adult with ARX's taxonomies, k = 10. "Merging only" takes the groups that covey's own method forms
for k alone and puts those together that miss what is asked. Losses are Total-IL over that of k
alone on the same quasi-identifiers; seconds are of clustering alone, one run, on all processors.
Run: python -m benchmarks.requirements [--data FOLDER]
"""

import argparse
import time
from dataclasses import replace
from typing import Any

from benchmarks import tables

from covey import METHODS, KAnonymity, LDiversity, Schema, TCloseness
from covey.clustering import keep_demands
from covey.encoding import EncodedTable, encode
from covey.groups import Groups
from covey.loss import measure_groups
from covey.requirements import Requirement
from covey.tables import Table

K = 10
ASKED: tuple[tuple[str, float, Requirement], ...] = (
    ("occupation", 3, LDiversity(3, on="occupation", kind="frequency")),
    ("occupation", 5, LDiversity(5, on="occupation", kind="entropy")),
    ("salary-class", 0.2, TCloseness(0.2, on="salary-class", distance="equal")),
)


def schema_without(schema: Schema, sensitive: str) -> Schema:
    """The same quasi-identifiers but for the sensitive one."""
    quasi: dict[str, Any] = {
        name: {**column.model_dump(exclude={"role", "taxonomy"}), "taxonomy": column.taxonomy}
        for name, column in schema.quasi.items()
        if name != sensitive
    }
    rest = [name for name in schema.columns if name not in quasi and name != sensitive]
    return Schema.of(quasi=quasi, sensitive=[sensitive], insensitive=rest)


def own(table: EncodedTable, **options: Any) -> Groups:
    groups = METHODS["covey"](table, K, **options)
    assert isinstance(groups, Groups)
    return groups


def told(table: EncodedTable, groups: Groups, began: float, base: float) -> str:
    seconds = time.perf_counter() - began
    return f"{measure_groups(table, groups).total_il / base:.2f}, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    tables.add_data_option(parser)
    folder = parser.parse_args().data
    frame, schema = tables.adult(folder), tables.adult_schema(folder)
    print("| asked besides k = 10 | k alone | fast | balanced | merging only |")
    print("| --- " * 5 + "|")
    for sensitive, figure, requirement in ASKED:
        settings = schema_without(schema, sensitive)
        asked = [KAnonymity(K), requirement]
        table = encode(Table(frame), settings, require=asked)
        plain = replace(table, demands=None)
        own(encode(Table(frame[:200]), settings, require=asked))  # compiled, or from the cache
        began = time.perf_counter()
        groups = own(plain)
        base = measure_groups(table, groups).total_il
        cells = [f"{base:,.0f}, {time.perf_counter() - began:.1f} s"]
        for effort in ("fast", "balanced"):
            began = time.perf_counter()
            cells.append(told(table, own(table, effort=effort), began, base))
        began = time.perf_counter()
        merged = keep_demands(table, K, groups)
        cells.append(told(table, merged, began, base))
        print(f"| {requirement.name}, {figure:g} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
