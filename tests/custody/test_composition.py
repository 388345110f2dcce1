"""What several releases guarantee together, compared with an oracle of plain sets."""

import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import demo
from covey.custody import composition, stored
from covey.custody.composition import Composition, compose
from covey.custody.footprints import Footprint, FootprintPart, Tracer
from covey.custody.keys import Key
from covey.schema.requirements import KAnonymity
from covey.tables import Table
from examples import examples

KEY = Key(bytes(range(32)))
How = Literal["persons", "identifiers", "content"]


@dataclass(frozen=True)
class Stay:
    """A record of somebody, or of nobody known."""

    person: str | None
    number: int
    diagnosis: str


@dataclass(frozen=True)
class Drawn:
    """Records, and the class of those that are in each release; the last release is the new one."""

    stays: list[Stay]
    releases: list[dict[int, int]]
    k: int


@st.composite
def several_releases(draw: st.DrawFn) -> Drawn:
    persons = draw(st.lists(st.sampled_from([*"abcdefgh", None]), min_size=2, max_size=14))
    stays = [Stay(person, i, draw(st.sampled_from("xyz"))) for i, person in enumerate(persons)]
    some = st.dictionaries(st.sampled_from(range(len(stays))), st.integers(0, 2), min_size=1)
    releases = draw(st.lists(some, min_size=2, max_size=5))
    return Drawn(stays, releases, draw(st.integers(2, 4)))


def trace(stays: list[Stay], classes: dict[int, int], k: int, how: How) -> Footprint:
    """The footprint of a release in which each record shows nothing but its class."""
    _, part, asked = hashed(stays, classes, k, how)
    return part.footprint(KEY, asked)


def hashed(
    stays: list[Stay], classes: dict[int, int], k: int, how: How
) -> tuple[list[int], FootprintPart, KAnonymity]:
    """The records of such a release in some order, and their hashes."""
    table = pl.DataFrame(
        {
            "patient": [stay.person for stay in stays],
            "stay": [stay.number for stay in stays],
            "diagnosis": [stay.diagnosis for stay in stays],
        },
        schema={"patient": pl.String, "stay": pl.Int64, "diagnosis": pl.String},
    )
    naming = [] if how == "content" else ["patient"]
    schema = covey.Schema.of(
        quasi={"stay": "numeric"}, sensitive=["diagnosis"], identifier=naming,
        insensitive=[] if naming else ["patient"],
    )  # fmt: skip
    rows = np.array(sorted(classes, key=lambda row: (-row * 7) % 5), dtype=np.int64)
    shown = pl.DataFrame({"stay": [classes[int(row)] for row in rows]})
    asked = KAnonymity(k, "patient" if how == "persons" else None)
    tracer = Tracer(KEY, schema, asked, table.columns)
    return rows.tolist(), tracer.part(shown, tracer.hashes(Table(table), rows)), asked


@dataclass
class Oracle:
    """The definition, word by word."""

    drawn: Drawn
    how: How

    def who(self, row: int) -> object:
        return self.drawn.stays[row].person if self.how == "persons" else row

    def seen(self, old: dict[int, int]) -> dict[int, int]:
        """The class in the old release of each record of the new one, if there is one.

        A record is found again; of a person's other records, the first is taken for the first.
        """
        new = self.drawn.releases[-1]
        seen = {row: old[row] for row in new if row in old}
        for person in {stay.person for stay in self.drawn.stays} - {None}:
            if self.how != "content":
                mine, theirs = (
                    sorted(self.others_of(person, one, seen), key=lambda row: self.place(one, row))
                    for one in (new, old)
                )
                seen |= {row: old[other] for row, other in zip(mine, theirs, strict=False)}
        return seen

    def others_of(
        self, person: str | None, some: dict[int, int], seen: dict[int, int]
    ) -> list[int]:
        return [row for row in some if self.drawn.stays[row].person == person and row not in seen]

    def place(self, some: dict[int, int], row: int) -> tuple[int, int]:
        """Where a record stands in the footprint of a release."""
        return some[row], self.hashes[row]

    @cached_property
    def hashes(self) -> list[int]:
        every = dict.fromkeys(range(len(self.drawn.stays)), 0)
        rows, part, _ = hashed(self.drawn.stays, every, 2, self.how)
        return [int(part.records[rows.index(row)]) for row in every]

    def layers(self, earlier: list[dict[int, int]]) -> list[tuple[dict[int, int], dict[int, int]]]:
        """The class of each record of the new release in all of them, and all who are in it."""
        new = self.drawn.releases[-1]
        return [(new, new), *((self.seen(old), old) for old in earlier)]

    def figures(self, earlier: list[dict[int, int]]) -> dict[str, Any]:
        left: dict[object, list[int]] = defaultdict(list)
        sure: dict[object, bool] = defaultdict(bool)
        alone: dict[object, bool] = defaultdict(bool)
        layers = self.layers(earlier)
        for row in self.drawn.releases[-1]:
            if self.who(row) is None:
                continue
            holding = [(seen, whole) for seen, whole in layers if row in seen]
            candidates = {
                self.who(other)
                for other in self.drawn.releases[-1]
                if all(seen.get(other) == seen[row] for seen, _ in holding)
            }
            values = [
                {self.drawn.stays[other].diagnosis for other in whole if whole[other] == seen[row]}
                for seen, whole in holding
            ]
            left[self.who(row)].append(len(candidates - {None}))
            alone[self.who(row)] |= len(values[0]) == 1
            sure[self.who(row)] |= 1 in (len(values[0]), len(set.intersection(*values)))
        total = len(left)
        return {
            "fewest": min(map(min, left.values())),
            "below_k": sum(min(found) < self.drawn.k for found in left.values()) / total,
            "alone": sum(1 in found for found in left.values()) / total,
            "certain": (sum(alone.values()) / total, sum(sure.values()) / total),
        }


def figures(found: Composition) -> dict[str, Any]:
    (column,) = found.certain
    return {
        "fewest": found.fewest,
        "below_k": found.below_k,
        "alone": found.alone,
        "certain": (column.alone, column.together),
    }


def composed(new: Footprint, earlier: list[tuple[list[str], Footprint]]) -> Composition:
    """All releases together, the earlier ones as the register keeps them."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(stored.TABLE)
        kept = []
        for number, (names, old) in enumerate(earlier):
            cipher = stored.cipher_of(KEY, b"salt", str(number))
            entry = {
                "rows": old.rows, "classes": len(old.sizes), "person": old.person,
                "who": [*old.who], "codes": old.codes, "content": [*old.content],
                "values": [*old.values], "blocks": stored.write(database, str(number), old, cipher),
            }  # fmt: skip
            kept.append((names, stored.Stored(database, cipher, KEY, str(number), entry)))
        return compose(new, kept)


def laid_over(drawn: Drawn, how: How, *, without: tuple[str, ...] = ()) -> Composition:
    traces = [trace(drawn.stays, classes, drawn.k, how) for classes in drawn.releases]
    earlier = [([str(i)], old) for i, old in enumerate(traces[:-1]) if str(i) not in without]
    return composed(traces[-1], earlier)


@pytest.mark.parametrize("how", ["persons", "identifiers", "content"])
@examples(60)
@given(drawn=several_releases())
def test_what_is_left_is_what_plain_sets_say(how: How, drawn: Drawn) -> None:
    new, *_ = reversed(drawn.releases)
    if how == "persons" and all(drawn.stays[row].person is None for row in new):
        return
    oracle = Oracle(drawn, how)
    sharing = [layer for layer in drawn.releases[:-1] if oracle.seen(layer)]
    found = laid_over(drawn, how)
    assert found.earlier == len(sharing)
    if not sharing:
        assert found == Composition(drawn.k, compared=len(drawn.releases) - 1)
        return
    assert figures(found) == pytest.approx(oracle.figures(sharing))


@pytest.mark.parametrize("how", ["persons", "identifiers", "content"])
@examples(40)
@given(drawn=several_releases(), rows=st.integers(1, 5))
def test_a_release_in_the_register_is_read_in_blocks_as_if_it_were_whole(
    how: How, drawn: Drawn, rows: int
) -> None:
    traces = [trace(drawn.stays, classes, drawn.k, how) for classes in drawn.releases]
    if traces[-1].persons is not None and (traces[-1].persons < 0).all():
        return
    earlier = [([str(i)], old) for i, old in enumerate(traces[:-1])]
    whole = composed(traces[-1], earlier)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "ROWS", rows)
        assert composed(traces[-1], earlier) == whole


@examples(60)
@given(drawn=several_releases())
def test_without_the_releases_to_delete_the_new_one_keeps_what_it_keeps_alone(drawn: Drawn) -> None:
    # The new release must keep k by itself, as every release does: one class of all.
    classes = dict.fromkeys(drawn.releases[-1], 0)
    drawn = Drawn(drawn.stays, [*drawn.releases[:-1], classes], min(drawn.k, len(classes)))
    if drawn.k < 2:
        return
    found = laid_over(drawn, "identifiers")
    assert found.holds == (not found.delete)
    assert laid_over(drawn, "identifiers", without=found.delete).holds
    for spared in found.delete:
        fewer = tuple(name for name in found.delete if name != spared)
        assert not laid_over(drawn, "identifiers", without=fewer).holds


def of_table(table: pl.DataFrame, shown: pl.DataFrame, schema: covey.Schema) -> Footprint:
    """The footprint of a release of all rows."""
    tracer = Tracer(KEY, schema, KAnonymity(2), table.columns)
    return tracer.footprint(Table(table), shown, np.arange(table.height))


def small(rows: list[tuple[str | None, str]], **columns: list[Any]) -> Footprint:
    """A release of one class of patients (number, name), all with one age."""
    table = pl.DataFrame(
        {"number": [r[0] for r in rows], "name": [r[1] for r in rows], "age": 40, **columns},
        schema_overrides={"number": pl.String},
    )
    schema = covey.Schema.of(
        quasi={"age": "numeric"}, identifier=["number", "name"], insensitive=list(columns)
    )
    shown = pl.DataFrame({"age": ["[30, 50]"] * len(rows)})
    return of_table(table, shown, schema)


def found_again(new: Footprint, old: Footprint) -> int:
    classes = composition.matched(new, old)
    assert classes is not None
    return int((classes >= 0).sum())


def test_people_are_recognised_by_a_code_whatever_their_name() -> None:
    before = small([("1", "Ada"), ("2", "Ben"), ("3", "Ben")])
    after = small([("1", "Ada-Marie"), ("2", "Ben"), ("4", "Ben")])
    assert found_again(after, before) == 2


def test_people_without_a_code_are_recognised_by_all_identifiers_together() -> None:
    before = small([("x", "Ada"), ("x", "Ben"), ("y", "Ben")])
    after = small([("x", "Ada"), ("y", "Ada"), ("y", "Ben"), ("y", "Ben")])
    assert found_again(after, before) == 2  # and not by a name or a number alone


def test_columns_may_be_added_between_releases_that_name_people() -> None:
    before = small([("1", "Ada"), ("2", "Ben"), ("2", "Ben")])
    after = small([("2", "Ben"), ("1", "Ada"), ("2", "Ben"), ("2", "Ben")], ward=[*"abcd"])
    assert found_again(after, before) == 3


def test_nobody_known_is_recognised_by_the_other_cells_alone() -> None:
    before = small([(None, ""), (None, ""), ("1", "Ada")], ward=[*"abc"])
    before.who["name"][:] = np.where(before.who["number"] == 0, 0, before.who["name"])
    assert found_again(before, before) == 3
    other = small([(None, ""), (None, "")], ward=[*"de"])
    other.who["name"][:] = 0
    assert found_again(other, before) == 0


def test_cells_are_the_same_whether_they_came_as_numbers_or_as_text() -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, insensitive=["weight"])

    def of(table: pl.DataFrame) -> Footprint:
        shown = pl.DataFrame({"age": ["[30, 50]"] * table.height})
        return of_table(table, shown, schema)

    typed = of(pl.DataFrame({"age": [30, 50], "weight": [70.0, -0.0]}))
    text = of(pl.DataFrame({"weight": ["70", "0"], "age": ["30", "50"]}))
    assert found_again(typed, text) == 2


def of_cells(table: pl.DataFrame, **declared: Any) -> Footprint:
    """A release of one class, of people without identifiers."""
    schema = covey.Schema.of(
        **{"insensitive": [n for n in table.columns if n not in ("age", *declared)]},
        quasi={"age": "numeric"},
        sensitive=declared,
    )
    shown = pl.DataFrame({"age": ["*"] * table.height})
    return of_table(table, shown, schema)


def test_columns_that_one_release_lacks_do_not_hide_people_without_identifiers() -> None:
    fewer = pl.DataFrame({"age": [*range(20, 30)], "town": [*"abcdefghij"]})
    more = fewer.with_columns(ward=pl.Series([*"xyzxyzxyzx"])).reverse()
    assert found_again(of_cells(more), of_cells(fewer)) == 10
    assert found_again(of_cells(fewer), of_cells(more)) == 10
    moved = fewer.with_columns(town=pl.Series([*"abcdeklmno"]))
    assert found_again(of_cells(more), of_cells(moved)) == 5


@pytest.mark.parametrize("common", [[], ["sex"]])
def test_people_are_not_recognised_by_hardly_anything(common: list[str]) -> None:
    some = pl.DataFrame({"age": [*range(20, 30)], "sex": [*"fm"] * 5, "town": [*"abcdefghij"]})
    other = some.select(*common, weight="age", age=pl.lit(1)).rename({"age": "height"})
    old, new = of_cells(some), of_cells(other.with_columns(age=pl.lit(7)))
    del new.content["age"]
    assert composition.matched(new, old) is None
    found = composed(new, [(["a", "b"], old)])
    assert found == Composition(2, incomparable=("a", "b"))
    assert any("2 earlier releases" in w and "columns" in w for w in found.warnings())


def test_tables_without_a_common_person_or_row_have_nothing_to_do_with_each_other() -> None:
    """Whatever the names of identifiers; a common column such as the age says nothing."""
    staff = pl.DataFrame(
        {"badge": [f"s{i}" for i in range(6)], "age": [40, 41] * 3, "pay": [*range(6)]}
    )
    sick = pl.DataFrame({"patient": [*"uvwxyz"], "age": [41, 42] * 3, "ill": [*"abcdef"]})

    def of(table: pl.DataFrame, name: str) -> Footprint:
        schema = covey.Schema.of(quasi={"age": "numeric"}, identifier=[name])
        shown = pl.DataFrame({"age": ["*"] * table.height})
        return of_table(table, shown, schema)

    new, old = of(staff, "badge"), of(sick, "patient")
    assert composed(new, [(["a"], old)]) == Composition(2, compared=1)
    both = of(sick.with_columns(patient=pl.Series(["s2", *"vwxyz"])), "patient")
    assert composed(new, [(["a"], both)]) == Composition(2, incomparable=("a",))
    # Without identifiers: by the rows of the common columns.
    for ages, unrelated in (([7, 8] * 3, True), ([7, 41] * 3, False)):
        other = of_cells(sick.drop("patient").with_columns(age=pl.Series(ages)))
        assert bool(composed(new, [(["a"], other)]).incomparable) is not unrelated


def test_an_earlier_release_that_harms_no_one_is_not_to_be_deleted() -> None:
    """Of two, only the one that exposes someone must go."""
    everyone = [Stay(f"p{i}", i, "x") for i in range(6)]
    new = trace(everyone, dict.fromkeys(range(6), 0), 3, "identifiers")
    harmless = trace(everyone, dict.fromkeys(range(6), 0), 3, "identifiers")
    bad = trace(everyone, {i: i // 2 for i in range(6)}, 3, "identifiers")
    found = composed(new, [(["good"], harmless), (["bad"], bad)])
    assert (found.earlier, found.delete) == (2, ("bad",))
    assert composed(new, [(["good"], harmless)]).delete == ()


def test_nobody_known_is_not_recognised_by_hardly_anything() -> None:
    before = small([(None, ""), (None, ""), ("1", "Ada")], ward=[*"abc"])
    after = small([(None, ""), (None, ""), ("1", "Ada")], room=[*"def"])
    for one in (before, after):
        one.who["name"][:] = np.where(one.who["number"] == 0, 0, one.who["name"])
    assert found_again(after, before) == 1


@pytest.mark.parametrize(
    ("declared", "one", "other"),
    [
        ({}, ["HIV", "flu"], [" hiv", "ﬂu"]),
        ({"type": "numeric"}, ["1.50", "+2"], [1.5, 2.0]),
        ({"type": "date", "format": "%d.%m.%Y"}, ["31.05.2024", "1.6.2024"], ["31.05.2024"] * 2),
        ({}, [True, False], ["True", "False"]),
    ],
)
def test_sensitive_values_are_hashed_by_what_they_mean(
    declared: dict[str, Any], one: list[Any], other: list[Any]
) -> None:
    def hashes(cells: list[Any]) -> set[int]:
        table = pl.DataFrame({"age": 40, "value": cells})
        return {*of_cells(table, value=declared).values["value"].hashes.tolist()}

    assert len(hashes(one)) == 2
    assert hashes(other) <= hashes(one)


def test_dates_are_the_same_whether_they_came_as_dates_or_as_text() -> None:
    written = {"type": "date", "format": "%d.%m.%Y"}
    text = of_cells(pl.DataFrame({"age": 40, "day": ["31.05.2024"]}), day=written)
    typed = of_cells(pl.DataFrame({"age": 40, "day": [date(2024, 5, 31)]}), day={"type": "date"})
    assert text.values["day"].hashes.tolist() == typed.values["day"].hashes.tolist()


# ── real releases ───────────────────────────────────────────────────────────────────────────────

PEOPLE, SCHEMA, K = demo.people(300), demo.schema(), 5
QUASI = list(SCHEMA.quasi)
OTHERWISE: dict[str, dict[str, Any]] = {
    "another seed": {"seed": 2, "effort": "fast"},
    "another k": {"seed": 1, "k": 7, "effort": "fast"},
    "another method": {"method": "k-member"},
}


def release(*, k: int = K, **request: Any) -> covey.Release:
    return covey.anonymize(PEOPLE, SCHEMA, require=[KAnonymity(k)], **request)


def classes_of(made: covey.Release) -> dict[int, tuple[Any, ...]]:
    return dict(zip(made.rows.tolist(), made.table.select(QUASI).rows(), strict=True))


def exposed(one: covey.Release, other: covey.Release) -> tuple[float, float, int]:
    """The attack: who is in the same class in both; shares below k and alone, and the fewest."""
    k, layers = other.report.k, (classes_of(one), classes_of(other))
    left = [
        sum(all(layer[i] == layer[j] for layer in layers) for j in layers[0]) for i in layers[0]
    ]
    rows = len(left)
    return sum(c < k for c in left) / rows, sum(c == 1 for c in left) / rows, min(left)


@pytest.mark.parametrize("otherwise", OTHERWISE)
def test_two_releases_of_one_table_expose_most_people_and_covey_says_so(
    otherwise: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With more effort, groups of so few people come near to the best, and agree more.
    first, second = release(seed=1, effort="fast"), release(**OTHERWISE[otherwise])
    assert first.write(tmp_path / "first.csv").composition == Composition(K)
    written = second.write(tmp_path / "second.csv")
    found, (below, alone, fewest) = written.composition, exposed(first, second)
    assert below > 0.5
    assert fewest == 1
    assert found is not None
    assert (found.below_k, found.alone, found.fewest) == pytest.approx((below, alone, fewest))
    assert (found.earlier, found.shared) == (1, 1.0)
    (warning,) = found.warnings()
    assert warning in written.warnings
    assert f"{100 * below:.1f}\u2009%" in warning
    assert found.delete[0] in warning
    with pytest.raises(covey.GuaranteeError, match=f"covey forget {found.delete[0]}"):
        second.write(tmp_path / "third.csv", refuse_composition=True)
    assert not (tmp_path / "third.csv").exists()
    # The same attack on a build that recognises nobody: nothing stops it.
    monkeypatch.setattr(composition, "_match", lambda *_: np.zeros(0, dtype=np.int64))
    blind = second.write(tmp_path / "third.csv", refuse_composition=True)
    assert blind.composition == Composition(second.report.k, compared=1)


def test_fewer_than_k_people_are_not_counted_but_said() -> None:
    for exposed, shown in [(3, "fewer than 5"), (12, "12")]:
        found = Composition(5, earlier=1, fewest=2, below_k=0.1, exposed=exposed, lost=exposed)
        counted = found.to_dict()
        assert f"{shown} of them have fewer than 5 candidates" in found.limit()
        assert counted["exposed"] == counted["lost"] == (12 if exposed == 12 else None)
        assert counted["fewer_than"] == (None if exposed == 12 else 5)
        assert not counted["holds"]
