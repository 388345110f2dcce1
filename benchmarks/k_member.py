"""Exact greedy k-member: how its time grows with the rows.

Invented people, the demonstration's eight quasi-identifiers. Run: python benchmarks/k_member.py [K]
"""

import math
import sys
import time

import covey
from covey import demo
from covey.encoding import encode
from covey.tables import Table

SIZES = (15_000, 30_000, 60_000, 120_000, 240_000)


def main() -> None:
    k = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    schema = demo.schema()
    method = covey.METHODS["k-member"]
    method(encode(Table(demo.people(100)), schema), k)  # compiled, or loaded from the cache
    before: tuple[int, float] | None = None
    for rows in SIZES:
        table = encode(Table(demo.people(rows)), schema)
        began = time.perf_counter()
        method(table, k)
        seconds = time.perf_counter() - began
        growth = f"{math.log(seconds / before[1], rows / before[0]):.2f}" if before else ""
        print(f"k = {k}, {rows:>9,} rows {seconds:8.2f} s   exponent {growth}")
        before = rows, seconds


if __name__ == "__main__":
    main()
