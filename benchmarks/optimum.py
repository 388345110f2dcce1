"""Measure how far each method is from the optimum, on tables small enough to compute it.

The tables are samples of the demonstration's people: 10 to 16 rows with three or four columns. The
oracle in tests/oracles computes the minimum Total-IL of any grouping. The output is the loss
divided by that minimum: 1 is the optimum. A second table does the same for the covey method with
requirements in addition to k, on tables of eight rows. Run: python -m benchmarks.optimum [TABLES]
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import covey
from covey import (
    METHODS,
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Schema,
    TCloseness,
    demo,
)
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups, Rings
from covey.schema.requirements import Requirement
from covey.tables import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from covey.reference.model import Column, Numeric
from oracles.constrained import constrained_optimum, keeps
from oracles.metrics import total_il
from oracles.optimum import optimum
from oracles.rules import rule_of

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


REQUIREMENTS: list[list[Requirement]] = [
    [KAnonymity(2), LDiversity(2, "word")],
    [KAnonymity(2), LDiversity(2, "word", "frequency")],
    [KAnonymity(2), LDiversity(1.8, "word", "entropy")],
    [KAnonymity(2), LDiversity(2, "word", "recursive", 2.5)],
    [KAnonymity(3), TCloseness(0.25, "word")],
    [KAnonymity(3), TCloseness(0.25, "number")],
    [KAnonymity(2), AlphaK(0.6, "word")],
    [KAnonymity(3), BetaLikeness(1, "word")],
    [KAnonymity(3), DeltaDisclosure(1.2, "word")],
    [KAnonymity(2, "who"), LDiversity(2, "word")],
    [KAnonymity(2), LDiversity(2, "word"), TCloseness(0.3, "number")],
]


def under_requirements(number: int, require: list[Requirement]) -> float | None:
    """The loss of the covey method over the least one, on eight rows; None if there is none."""
    random = np.random.default_rng(number)
    frame = pl.DataFrame(
        {
            "x": random.random(8),
            "y": random.random(8),
            "word": random.choice(list("abc"), 8),
            "number": random.choice([-31.25, 31.0, 32.5, 310.0, 33.0], 8),
            "who": random.choice([f"person {place}" for place in range(8)], 8),
        }
    )
    schema = Schema.of(
        quasi={"x": "numeric", "y": "numeric"},
        sensitive={"word": "categorical", "number": "numeric"},
        identifier=["who"],
        require={"minimality": "accept"},
    )
    oracle = {name: Numeric(frame[name].to_list()) for name in ("x", "y")}
    best = constrained_optimum(oracle, keeps([rule_of(frame, one) for one in require]))
    if best is None:
        return None
    release = covey.anonymize(frame, schema, require=require, effort="best", register=False)
    return total_il(oracle, release.groups.labels.tolist()) / best[0]


def print_requirements(tables: int) -> None:
    """The covey method with requirements, over the optimum."""
    print(f"\n| requirements | mean (worst) of up to {tables} tables of 8 rows |\n| --- | --- |")
    for require in REQUIREMENTS:
        found = [under_requirements(number, require) for number in range(tables)]
        ratios = [ratio for ratio in found if ratio is not None]
        names = ", ".join(f"{one.name} (k = {one.k})" if isinstance(one, KAnonymity) else one.name
                          for one in require)  # fmt: skip
        print(f"| {names} | {np.mean(ratios):.3f} ({max(ratios):.2f}) |")


if __name__ == "__main__":
    main()
    print_requirements(20)
