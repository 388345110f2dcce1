"""Measure how far each method is from the optimum, on tables small enough to compute it.

The tables are samples of the demonstration's people: 10 to 16 rows with three or four columns. The
oracle in tests/oracles computes the minimum Total-IL of any grouping. The output is the loss
divided by that minimum: 1 is the optimum. Run: python -m benchmarks.optimum [TABLES]
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from covey import METHODS, Schema, demo
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.tables import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from covey.reference.model import Column
from oracles.metrics import total_il
from oracles.optimum import optimum

SIZES = (2, 3, 4)


def sample(number: int) -> tuple[EncodedTable, dict[str, Column]]:
    """Some people, in the form that covey takes and in the form that the oracle takes."""
    random = np.random.default_rng(number)
    schema = demo.schema()
    names = random.permutation(list(schema.quasi))[: random.integers(3, 5)].tolist()
    rows = random.permutation(2_000)[: random.integers(10, 17)]
    frame = demo.people(2_000)[rows.tolist()].select(names)
    quasi = {name: schema.quasi[name].model_dump(exclude={"role"}) for name in names}
    for name in names:
        quasi[name]["taxonomy"] = schema.quasi[name].taxonomy
    table = encode(Table(frame), Schema.of(quasi=quasi))
    return table, table.plain


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    ratios: list[dict[str, object]] = []
    contenders: dict[str, Callable[..., Groups | Rings]] = {
        **METHODS,
        "covey, best": partial(METHODS["covey"], effort="best"),
    }
    for number in range(tables):
        table, oracle = sample(number)
        k = SIZES[number % len(SIZES)]  # only one size each, since the oracle is slow
        least, _ = optimum(oracle, k)
        for name, method in contenders.items():
            groups = method(table, k, seed=number)
            if least > 0 and isinstance(groups, Groups):
                loss = total_il(oracle, groups.labels.tolist())
                ratios.append({"method": name, "k": k, "ratio": loss / least})
    frame = pl.DataFrame(ratios)
    print(f"{tables} tables of 10 to 16 rows, Total-IL over the optimum: mean (worst)\n")
    print("| method | " + " | ".join(f"k = {k}" for k in SIZES) + " |")
    print("| --- " * (len(SIZES) + 1) + "|")
    for name in frame.group_by("method").agg(pl.col("ratio").mean()).sort("ratio")["method"]:
        cells = []
        for k in SIZES:
            own = frame.filter(pl.col("method") == name, pl.col("k") == k)["ratio"].to_numpy()
            cells.append(f"{own.mean():.3f} ({own.max():.2f})")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
