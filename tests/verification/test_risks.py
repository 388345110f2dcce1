"""How many people of a population match each class, compared with brute force."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.verification.population import _count

TREE = {"top": {"ab": ["a", "b"], "cd": ["c", "d"]}}
UNDER = {"ab": "ab", "cd": "cd", "top": "abcd"}
SCHEMA = covey.Schema.of(
    quasi={
        "age": {"type": "numeric", "grid": 3},
        "letter": {"type": "categorical", "taxonomy": TREE},
        "seen": "date",
    },
    sensitive=["s"],
)
PERSON = st.tuples(
    st.none() | st.integers(0, 9),
    st.sampled_from([None, "a", "b", "c", "d"]),
    st.none() | st.integers(1, 9).map(lambda day: f"2024-01-0{day}"),
)
Person = tuple[int | None, str | None, str | None]


def people(rows: Sequence[Person]) -> pl.DataFrame:
    kinds = {"age": pl.Int64, "letter": pl.String, "seen": pl.String}
    return pl.DataFrame(rows, kinds, orient="row")


def covers(cell: str | None, value: object, *, is_letter: bool = False) -> bool:
    if cell is None or value is None:
        return cell is value or cell == "*" or (is_letter and cell == "top")
    if is_letter:
        return cell == "*" or str(value) in UNDER.get(cell, cell)
    if cell == "*":
        return True
    low, high = re.fullmatch(r"\[(.*), (.*)\]", cell).groups() if cell[0] == "[" else (cell, cell)  # type: ignore[union-attr]
    if isinstance(value, int):
        return float(low) <= value <= float(high)
    return str(low) <= str(value) <= str(high)


def expected(released: pl.DataFrame, everybody: Sequence[Person]) -> list[tuple[int, int]]:
    """The rows of each class, and the people of the population behind it."""
    classes = Counter(released.select("age", "letter", "seen").iter_rows())
    return [
        (
            rows,
            sum(
                covers(cells[0], age) and covers(cells[1], letter, is_letter=True)
                and covers(cells[2], seen)
                for age, letter, seen in everybody
            ),
        )
        for cells, rows in classes.items()
    ]  # fmt: skip


def judged(released: Any, everybody: Sequence[Person]) -> covey.Verdict:
    verdict = covey.verify(released, SCHEMA)
    return covey.population_risks(verdict, released, people(everybody), SCHEMA)


@given(st.lists(PERSON, min_size=4, max_size=12), st.lists(PERSON, max_size=25))
def test_a_class_covers_whoever_fits_it(table: list[Person], others: list[Person]) -> None:
    frame = people(table).with_columns(s=pl.lit("x"))
    released = covey.anonymize(frame, SCHEMA, require=covey.KAnonymity(2)).table
    found = expected(released, table + others)
    risks = judged(released, table + others).risks
    assert risks.population == len(table + others)
    assert all(behind >= rows for rows, behind in found)
    assert risks.uncovered == 0
    assert risks.journalist == pytest.approx(1 / min(behind for _, behind in found))
    assert risks.marketer == pytest.approx(sum(r / b for r, b in found) / len(table))
    assert None not in (risks.journalist, risks.marketer)
    assert (risks.prosecutor or 0) >= (risks.journalist or 0)
    assert (risks.prosecutor_average or 0) >= (risks.marketer or 0)


def test_a_population_that_lacks_people_is_told() -> None:
    one: Person = (1, "a", "2024-01-01")
    other: Person = (8, "c", "2024-01-08")
    table = [one] * 3 + [other] * 3
    frame = people(table).with_columns(s=pl.lit("x"))
    released = covey.anonymize(frame, SCHEMA, require=covey.KAnonymity(3)).table
    risks = judged(released, [one] * 6 + [other]).risks
    assert risks.uncovered == 1
    assert risks.journalist == pytest.approx(1 / 3)
    assert risks.marketer == pytest.approx((3 / 6 + 3 / 3) / 6)


def test_without_a_population_the_table_is_all_there_is() -> None:
    frame = people([(1, "a", None)] * 3 + [(2, "b", None)] * 2)
    risks = covey.verify(frame, SCHEMA).risks
    assert (risks.prosecutor, risks.journalist) == (1 / 2, 1 / 2)
    assert (risks.prosecutor_average, risks.marketer) == (2 / 5, 2 / 5)
    assert risks.population is None


def test_a_population_does_not_tell_persons_apart() -> None:
    table: list[Person] = [(1, "a", None)] * 4
    frame = people(table).with_columns(s=pl.Series(["p", "p", "q", "r"]))
    verdict = covey.verify(frame, SCHEMA, covey.KAnonymity(3, "s"))
    assert verdict.risks.prosecutor == 2 / 4
    risks = covey.population_risks(verdict, frame, people(table * 5), SCHEMA).risks
    assert (risks.prosecutor, risks.journalist, risks.marketer) == (2 / 4, None, None)
    assert risks.population == 20


def test_a_mean_may_stand_for_anyone_of_a_population() -> None:
    schema = covey.Schema.of(quasi={"age": {"type": "numeric", "render": "mean"}})
    frame = pl.DataFrame({"age": [1.0, 2, 8, 9]})
    released = covey.anonymize(frame, schema, require=covey.KAnonymity(2)).table
    verdict = covey.verify(released, schema)
    risks = covey.population_risks(verdict, released, frame, schema).risks
    assert (risks.prosecutor, risks.journalist, risks.marketer) == (1 / 2, None, None)
    assert risks.population == 4


def test_of_several_columns_of_persons_the_worst_counts() -> None:
    frame = pl.DataFrame({"q": ["x"] * 6, "one": [*"aabbcc"], "house": [*"AAAABC"]})
    schema = covey.Schema.of(quasi={"q": "categorical"}, insensitive=["one", "house"])
    asked = [covey.KAnonymity(3, "one"), covey.KAnonymity(3, "house")]
    risks = covey.verify(frame, schema, asked).risks
    assert (risks.person, risks.prosecutor) == ("house", 4 / 6)


def test_a_population_needs_the_quasi_identifiers() -> None:
    frame = people([(1, "a", None)])
    with pytest.raises(covey.SchemaError, match="'seen'"):
        covey.population_risks(covey.verify(frame, SCHEMA), frame, frame.drop("seen"), SCHEMA)


def test_counting_by_halves_is_counting() -> None:
    dice = np.random.default_rng(random.Random(1).randrange(100))
    points = dice.integers(0, 12, (5000, 3))
    points[:2000] = points[0]  # many in one place, where there is nothing to halve
    low = dice.integers(0, 12, (60, 3))
    high = low + dice.integers(-1, 9, (60, 3))
    low[0], high[0] = points[0], points[0]
    boxes = zip(low, high, strict=True)
    plain = [int(((points >= a) & (points <= b)).all(axis=1).sum()) for a, b in boxes]
    assert _count(points, low, high).tolist() == plain
    assert 0 in plain
    assert max(plain) >= 2000
