"""Before and after: correct counts, and none that reveals fewer than k people."""

import math
import re
from datetime import date, timedelta
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.encoding import encode
from covey.generalisation import View
from covey.measures.histograms import (
    ANYTHING,
    EVERYTHING,
    MISSING,
    MOST_BINS,
    OTHERS,
    PRESENT,
    Bin,
    Distribution,
    PersonCounts,
    class_sizes,
    distributions,
)
from covey.tables import Table
from examples import examples
from views import encoded, view_of

TREE = {"Europe": {"North": ["no", "se"], "South": ["it", "es", "gr"]}, "Asia": ["jp", "in"]}
LEAVES = {"Europe": ["no", "se", "it", "es", "gr"], "North": ["no", "se"],
          "South": ["it", "es", "gr"], "Asia": ["jp", "in"]}  # fmt: skip
SCHEMA = covey.Schema.from_dict(
    {
        "columns": {
            "age": {"role": "quasi", "type": "numeric"},
            "height": {"role": "quasi", "type": "numeric"},
            "born": {"role": "quasi", "type": "date"},
            "country": {"role": "quasi", "type": "categorical", "taxonomy": TREE},
            "job": {"role": "quasi", "type": "categorical"},
        }
    }
)
AGES = st.none() | st.integers(-3, 90)
HEIGHTS = st.none() | st.integers(100, 200).map(lambda cm: cm / 100)
DAYS = st.none() | st.integers(-9000, 9000).map(lambda days: date(1990, 5, 17) + timedelta(days))
COUNTRIES = st.none() | st.sampled_from(LEAVES["Europe"] + LEAVES["Asia"])
JOBS = st.none() | st.integers(0, 30).map(lambda number: f"job {number // 3}")
PEOPLE = st.lists(st.tuples(AGES, HEIGHTS, DAYS, COUNTRIES, JOBS), min_size=6, max_size=60)
NAMES = ("age", "height", "born", "country", "job")
AGE: dict[str, Any] = {"age": "numeric"}


def frame_of(people: list[tuple[Any, ...]]) -> pl.DataFrame:
    kinds = (pl.Int64, pl.Float64, pl.Date, pl.String, pl.String)
    columns = zip(*people, strict=True)
    return pl.DataFrame(
        [pl.Series(n, list(c), dtype=k) for n, c, k in zip(NAMES, columns, kinds, strict=True)]
    )


# What labels say, read without any of covey's code.


def day(text: str, *, last: bool) -> date:
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 3:
        return date(*parts)
    year, month = (parts[0], 12 if last else 1) if len(parts) == 1 else parts
    if not last:
        return date(year, month, 1)
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(1)


def ends(label: str, column: str) -> tuple[Any, Any, bool]:
    """The first value, the last, and whether that one is beyond."""
    if label in (EVERYTHING, PRESENT):
        return None, None, False
    if column == "born":
        if label.startswith("before "):
            return None, day(label[7:], last=False), True
        if label.startswith("from "):
            return day(label[5:], last=False), None, False
        low, _, high = label.partition(" to ")
        return day(low, last=False), day(high or low, last=True), False
    if label.startswith("under "):
        return None, float(label[6:]), True
    if label.endswith(" and more"):
        return float(label[:-9]), None, False
    low, _, high = label.partition(" to ")
    return float(low), float((high or low).removeprefix("under ")), high.startswith("under")


def holds(label: str, value: Any, column: str, labels: list[str]) -> bool:
    if label == OTHERS:
        return not any(holds(other, value, column, labels) for other in labels if other != OTHERS)
    if value is None:
        return label == EVERYTHING or (label.endswith(MISSING) and label != PRESENT)
    if column in ("country", "job"):
        return label in (EVERYTHING, value) or value in LEAVES.get(label, [])
    if label == MISSING:
        return False
    low, high, beyond = ends(label.removesuffix(f", or {MISSING}"), column)
    below = high is None or (value < high if beyond else value <= high)
    return below and (low is None or value >= low)


def check_before(found: Distribution, values: list[Any], k: int) -> None:
    labels = [bin_.label for bin_ in found.bins]
    column = found.column
    assert len(labels) <= MOST_BINS + 2
    for value in values:
        assert sum(holds(label, value, column, labels) for label in labels) == 1, (value, labels)
    for bin_ in found.bins:
        number = sum(holds(bin_.label, value, column, labels) for value in values)
        assert bin_.before == (number if number >= k else None)
        # Nothing is hidden that the difference to all rows would tell, but that there is nobody.
        assert number >= k or (number == 0 and bin_.label == OTHERS)


@examples(120)
@given(people=PEOPLE, k=st.integers(2, 6))
def test_counts_before_are_those_of_the_labels_and_never_below_k(
    people: list[tuple[Any, ...]], k: int
) -> None:
    frame = frame_of(people)
    encoded = encode(Table(frame), SCHEMA)
    found = {d.column: d for d in distributions(View.of(Table(frame), encoded), k)}
    for place, name in enumerate(NAMES):
        check_before(found[name], [row[place] for row in people], k)


@examples(25)
@given(people=PEOPLE, k=st.integers(2, 4))
def test_counts_after_spread_cells_over_what_they_cover(
    people: list[tuple[Any, ...]], k: int
) -> None:
    """By the released text alone; every whole number of an interval is equally likely.

    A cell that hides a number may be any between those that others show, or, where none does, any
    of the ranges.
    """
    frame = frame_of(people).select("age", "country")
    schema = covey.Schema(columns={n: SCHEMA.columns[n] for n in frame.columns})
    release = covey.anonymize(frame, schema, k=k, method="mondrian", keep_rows=["blank"])
    telling = [cell for cell in release.table["age"] if cell not in (None, "*")]
    whole = [int(end) for cell in telling for end in cell.strip("[]").split(", ")]
    for found in release.report.distributions:
        labels = [bin_.label for bin_ in found.bins]
        if found.column == "age" and "*" in release.table["age"] and not whole:
            ranges = [bin_ for bin_ in found.bins if bin_.label != MISSING]
            hidden = int((release.table["age"] == "*").sum()) / len(ranges)
            assert all(b.after == approx_from(k, hidden) for b in ranges[:-1])
            assert found.nothing == approx_share(release.table["age"] == "*")
            continue
        cells = [covered(cell, found.column, whole, people) for cell in release.table[found.column]]
        for bin_ in found.bins:
            shares = [
                sum(holds(bin_.label, v, found.column, labels) for v in cell) / len(cell)
                for cell in cells
            ]
            after = math.fsum(shares)
            certain = sum(
                all(holds(bin_.label, v, found.column, labels) for v in may)
                for may in possible(found.column, release.table, whole, people)
            )
            if abs(after - k) > 1e-6:
                told = round(after, 1) if after >= k else None
                assert bin_.after == (None if told is None else pytest.approx(told, abs=0.11))
            assert bin_.certain == (certain if certain >= k else None)
        shown = zip(cells, release.table[found.column], strict=True)
        single = sum(len(cell) == 1 and text != "*" for cell, text in shown)
        assert found.exact == pytest.approx(single / len(cells))


def approx_from(k: int, number: float) -> Any:
    return pytest.approx(number, abs=0.06) if number >= k else None


def approx_share(rows: pl.Series) -> Any:
    return pytest.approx(int(rows.fill_null(False).sum()) / len(rows))


def covered(
    cell: str | None, column: str, whole: list[int], people: list[tuple[Any, ...]]
) -> list[Any]:
    if cell is None:
        return [None]
    if column == "job":
        return sorted({person[4] for person in people}, key=str) if cell == "*" else [cell]
    if column == "country":
        missing = [None] if any(person[3] is None for person in people) else []
        if cell == "*":
            return LEAVES["Europe"] + LEAVES["Asia"] + missing
        return LEAVES.get(cell, [cell])
    if cell == "*":
        return list(range(min(whole), max(whole) + 1))
    low, high = (int(end) for end in cell.strip("[]").split(", ") * (1 if "," in cell else 2))
    return list(range(low, high + 1))


def possible(
    column: str, table: pl.DataFrame, whole: list[int], people: list[tuple[Any, ...]]
) -> list[list[Any]]:
    """What each cell may stand for; one that hides a number may also hide that there is none."""
    return [
        covered(cell, column, whole, people) + ([None] if (column, cell) == ("age", "*") else [])
        for cell in table[column]
    ]


@examples(60)
@given(people=PEOPLE, k=st.integers(2, 4))
def test_no_subtraction_tells_of_fewer_than_k(people: list[tuple[Any, ...]], k: int) -> None:
    """Sums of told counts, less the rows that are certain, also by the difference to all rows."""
    frame = frame_of(people).select("age", "country", "job")
    schema = covey.Schema(columns={n: SCHEMA.columns[n] for n in frame.columns})
    release = covey.anonymize(frame, schema, k=k, method="mondrian", keep_rows=["blank"])
    whole = [age for age, *_ in people if age is not None]
    for found in release.report.distributions:
        labels = [bin_.label for bin_ in found.bins]
        cells = [
            {
                i
                for i, label in enumerate(labels)
                for v in may
                if holds(label, v, found.column, labels)
            }
            for may in possible(found.column, release.table, whole, people)
        ]
        told = {i: bin_.before for i, bin_ in enumerate(found.bins) if bin_.before is not None}
        for size in range(1, len(told) + 1):
            for some in combinations(told, size):
                inside = sum(cell <= set(some) for cell in cells)
                outside = sum(not cell & set(some) for cell in cells)
                number = sum(told[i] for i in some)
                do, do_not = number - inside, len(people) - number - outside
                assert (do, do_not) == (0, 0) or min(do, do_not) >= k


def told_of(
    frame: pl.DataFrame, shown: pl.DataFrame, k: int = 5, whose: pl.Series | None = None
) -> tuple[Bin, ...]:
    quasi = dict.fromkeys(frame.columns, "categorical")
    persons = None if whose is None else PersonCounts.of(whose, encoded(frame, quasi))
    (found,) = distributions(view_of(frame, quasi, shown), k, persons=persons)
    return found.bins


def sexes(women: int, men: int, hidden: int = 0) -> pl.DataFrame:
    return pl.DataFrame({"sex": ["f"] * women + ["m"] * men + ["*"] * hidden})


@pytest.mark.parametrize(
    ("women", "men", "told"),
    [
        (20, 20, True),  # nothing is hidden
        (18, 17, False),  # two women and three men are
        (20, 15, False),  # no woman is, and five men
        (10, 10, True),  # ten of each
        (15, 16, False),  # five women, but four men
    ],
)
def test_what_few_cells_hide_is_not_told_by_the_difference(
    women: int, men: int, told: bool
) -> None:
    bins = told_of(sexes(20, 20), sexes(women, men, 40 - women - men))
    assert [bin_.before for bin_ in bins] == ([20, 20] if told else [None, None])
    assert [bin_.certain for bin_ in bins] == sorted([women, men], reverse=True) or not told


def test_a_count_is_told_where_others_are_kept_back() -> None:
    rows = ["a"] * 30 + ["b"] * 20 + ["c"] * 20 + ["d"] * 20
    tree = {"cd": ["c", "d"], "a": [], "b": []}
    quasi = {"q": {"type": "categorical", "taxonomy": tree}}
    shown = {"q": rows[:68] + ["cd"] * 5 + rows[73:]}
    (found,) = distributions(view_of({"q": rows}, quasi, shown), 5)
    assert {bin_.label: bin_.before for bin_ in found.bins} == {
        "a": 30, "b": 20, "c": None, "d": None
    }  # fmt: skip


def test_rows_of_one_person_do_not_make_several() -> None:
    whose = pl.Series([i // 2 for i in range(40)])
    told = [told_of(sexes(20, 20), sexes(n, n, 40 - 2 * n), whose=whose) for n in (10, 15)]
    assert [[bin_.before for bin_ in bins] for bins in told] == [[20, 20], [None, None]]


def test_missing_cells_that_show_what_others_have_are_not_told_by_the_difference() -> None:
    quasi = {"sex": {"type": "categorical", "missing": "wildcard"}}
    frame = pl.concat([sexes(20, 20), pl.DataFrame({"sex": [None] * 7})], how="vertical_relaxed")
    (found,) = distributions(view_of(frame, quasi, sexes(24, 23)), 5)
    assert [bin_.before for bin_ in found.bins] == [None] * len(found.bins)


def test_a_bin_of_nobody_but_people_who_were_left_out_is_not_there() -> None:
    everybody = encoded({"sex": ["f"] * 20 + ["m"] * 20 + ["x"]}, {"sex": "categorical"})
    kept = everybody.take(np.arange(40))
    for hidden, rest in ((0, {}), (20, {ANYTHING: 20})):
        shown = Table(sexes(20 - hidden // 2, 20 - hidden // 2, hidden))
        (found,) = distributions(View.of(shown, kept), 5)
        assert {bin_.label: bin_.after for bin_ in found.bins} == {"f": 20, "m": 20}
        # Nor does anything but the release say what cells may stand for, if nobody knows who is in.
        (found,) = distributions(View.of(shown, everybody), 5)
        told = {bin_.label: bin_.after for bin_ in found.bins}
        assert told == {"f": 20 - hidden // 2, "m": 20 - hidden // 2} | rest
        assert all(bin_.certain is None for bin_ in found.bins if bin_.label == ANYTHING)
    (found,) = distributions(View.of(Table(sexes(0, 0, 40)), everybody), 5)
    assert [bin_.label for bin_ in found.bins] == [EVERYTHING]


def test_a_cell_that_leads_nowhere_keeps_all_back() -> None:
    ages = {"age": [i // 4 for i in range(40)]}
    shown = {"age": [None] + [str(i // 4) for i in range(1, 40)]}
    (found,) = distributions(view_of(ages, AGE, shown), 4)
    assert all(bin_.before is None for bin_ in found.bins)


def test_rare_values_and_exact_ends_are_not_named() -> None:
    rows = 200
    frame = pl.DataFrame(
        {
            "age": [31 + i % 40 for i in range(rows - 2)] + [7, 113],
            "job": ["baker", "clerk"] * 95 + [f"rare {i}" for i in range(10)],
        }
    )
    found = distributions(view_of(frame, AGE | {"job": "categorical"}), 5)
    age, job = ({bin_.label: bin_.before for bin_ in d.bins} for d in found)
    assert job == {"baker": 95, "clerk": 95, OTHERS: 10}
    assert not {"7", "31", "70", "113"} & {n for label in age for n in re.findall(r"\d+", label)}
    assert sum(number or 0 for number in age.values()) == rows


def test_few_missing_cells_are_told_with_others_and_many_on_their_own() -> None:
    for missing in (3, 8):
        ages = [20 + i % 50 for i in range(100)] + [None] * missing
        (found,) = distributions(view_of({"age": ages}, AGE), 5)
        assert found.bins[-1].label.endswith(MISSING)
        assert (found.bins[-1].label == MISSING) is (missing == 8)
        assert sum(bin_.before or 0 for bin_ in found.bins) == 100 + missing
    (found,) = distributions(view_of({"age": [None, None, 30, None, None]}, AGE), 2)
    assert [bin_.label for bin_ in found.bins] == [EVERYTHING]
    nobody = {"age": pl.Series([None] * 4, dtype=pl.Int64)}
    (found,) = distributions(view_of(nobody, AGE), 2)
    assert found.bins == (Bin(MISSING, 4, 4.0, 4),)


@examples(60)
@given(
    rows=st.lists(st.tuples(st.integers(0, 40), st.none() | st.integers(0, 9)), min_size=8),
    k=st.integers(2, 4),
)
def test_where_persons_count_every_bin_holds_k_of_them(
    rows: list[tuple[int, int | None]], k: int
) -> None:
    ages = {"age": [age for age, _ in rows]}
    owners = pl.Series([person for _, person in rows], dtype=pl.Int64)
    persons = PersonCounts.of(owners, encoded(ages, AGE))
    (found,) = distributions(view_of(ages, AGE), k, persons=persons)
    labels = [bin_.label for bin_ in found.bins]
    for label in labels if len(labels) > 1 else []:
        inside = {p for age, p in rows if p is not None and holds(label, age, "age", labels)}
        assert len(inside) >= k


def test_nothing_is_told_of_an_original_that_holds_others_too() -> None:
    ages = [*range(40)]
    (found,) = distributions(view_of({"age": ages}, AGE, {"age": ages[1:]}), 4)
    assert [bin_.before for bin_ in found.bins] == [None] * len(found.bins)
    assert sum(bin_.after or 0 for bin_ in found.bins) == 39


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=20))
def test_class_sizes_count_every_class_once(sizes: list[int]) -> None:
    ages = [i for i, size in enumerate(sizes) for _ in range(size)]
    found = class_sizes(view_of({"age": ages}, AGE))
    for told in found:
        inside = [size for size in sizes if told.least <= size <= told.most]
        assert (told.classes, told.rows) == (len(inside), sum(inside))
    assert sum(told.classes for told in found) == len(sizes)
    assert all(one.most < other.least for one, other in pairwise(found))
