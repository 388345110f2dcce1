"""Attacks on releases by an adversary who knows everyone's quasi-identifiers.

Each must fail against covey, and succeed against a build that the test itself has broken: an
attack that never succeeds proves nothing. The test counts the hits with `release.rows`, which says
whose row each released row is; the adversary never sees it. Random choices have fixed seeds. If
hits are random, limits are five standard deviations away.
"""

import datetime
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import covey
from covey import Groups, KAnonymity, LDiversity, Verdict, demo
from covey.clustering import METHODS
from covey.clustering.progress import Progress
from covey.encoding import EncodedTable
from covey.engines import memory, part
from covey.release import Release

K = 5
Bools: TypeAlias = NDArray[np.bool_]
Longs: TypeAlias = NDArray[np.int64]


# ── what the adversary knows ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """A table, its schema, and the leaves under each label of its categories."""

    frame: pl.DataFrame
    schema: covey.Schema
    leaves: Mapping[str, Mapping[str, set[str]]]
    sensitive: str

    @property
    def rows(self) -> int:
        return self.frame.height

    def release(self, **settings: Any) -> Release:
        require = settings.pop("require", [KAnonymity(K)])
        return covey.anonymize(self.frame, self.schema, require=require, **settings)

    def covers(self, name: str, shown: str | None, value: object) -> bool:
        """Whether a released cell may be what became of this value."""
        if shown == "*":
            return True
        if shown is None or value is None:
            return shown is value
        ends = re.fullmatch(r"\[(\S+), (\S+)\]", shown)
        if ends is not None:
            if isinstance(value, datetime.date):
                return ends[1] <= value.isoformat() <= ends[2]
            return float(ends[1]) <= float(str(value)) <= float(ends[2])
        if name == "zip":
            return re.fullmatch(shown.replace("*", "."), str(value)) is not None
        return str(value) in self.leaves.get(name, {}).get(shown, {shown})

    def candidates(self, released: pl.DataFrame, people: Longs) -> Bools:
        """Of each of these people, the released rows that may be theirs: people × rows."""
        found = np.ones((len(people), released.height), dtype=np.bool_)
        for name in self.schema.quasi:
            cells, cell = np.unique(_text(released[name]), return_inverse=True)
            values = self.frame[name].unique(maintain_order=True)
            number = dict(zip(values.to_list(), range(len(values)), strict=True))
            own = [number[value] for value in self.frame[name].gather(people).to_list()]
            table = np.array(
                [
                    [self.covers(name, None if shown == ABSENT else shown, v) for shown in cells]
                    for v in values
                ]
            )
            found &= table[own][:, cell]
        return found

    def classes(self, released: pl.DataFrame) -> Longs:
        """The class of each released row, by its cells."""
        cells = released.select(list(self.schema.quasi)).rows()
        number = {row: place for place, row in enumerate(dict.fromkeys(cells))}
        return np.array([number[row] for row in cells])


ABSENT = "\x01"


def _text(column: pl.Series) -> NDArray[np.str_]:
    return np.array(column.cast(pl.String).fill_null(ABSENT).to_list())


def leaves_under(tree: Mapping[str, Any]) -> dict[str, set[str]]:
    """Of each label of a nested tree, the leaves below it."""
    found: dict[str, set[str]] = {}

    def walk(label: str, below: Any) -> set[str]:
        parts = below.items() if isinstance(below, Mapping) else [(leaf, []) for leaf in below]
        found[label] = set().union(*(walk(*part) for part in parts)) or {label}
        return found[label]

    for label, below in tree.items():
        walk(label, below)
    return found


def invented() -> Known:
    leaves = {name: leaves_under(tree) for name, tree in demo.TAXONOMIES.items()}
    return Known(demo.people(1_000), demo.schema(), leaves, "diagnosis")


def adult(frame: pl.DataFrame) -> Known:
    """Real people, without trees."""
    names = ["sex", "race", "marital-status", "education", "native-country", "workclass"]
    quasi = {"age": "numeric", **dict.fromkeys(names, "categorical")}
    schema = covey.Schema.of(quasi=quasi, sensitive=["occupation", "salary"])
    kept = [*schema.columns]
    return Known(frame.select(kept).sample(4_000, seed=1), schema, {}, "occupation")


@pytest.fixture(scope="module", params=["invented", "adult"])
def known(request: pytest.FixtureRequest) -> Known:
    if request.param == "adult":
        return adult(request.getfixturevalue("uci_adult"))
    return invented()


@pytest.fixture(scope="module")
def release(known: Known) -> Release:
    return known.release()


def beyond_chance(hits: float, tries: int, chance: float) -> bool:
    """Whether so many hits are five standard deviations above what chance gives."""
    return hits > chance * tries + 5 * math.sqrt(tries * chance * (1 - chance))


FORM = memory.form_groups


@pytest.fixture
def showing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that generalises everybody alone, and lets any verdict pass."""

    def alone(*_: Any) -> Groups:
        return Groups(np.arange(len(FORM(*_))))

    monkeypatch.setattr(memory, "form_groups", alone)
    monkeypatch.setattr(Verdict, "raise_if_violated", lambda _: None)


# ── linking with the full register ──────────────────────────────────────────────────────────────


def link(known: Known, release: Release) -> tuple[int, int]:
    """Pick a released row for everybody among those that fit: the hits, and the fewest that fit.

    Everybody's own row is among those that fit.
    """
    dice = np.random.default_rng(7)
    people = dice.permutation(known.rows)[:1_000]
    fits = known.candidates(release.table, people)
    assert (fits & (release.rows == people[:, None])).any(axis=1).all()
    picked = [dice.choice(np.flatnonzero(row)) for row in fits]
    hits = int((release.rows[picked] == people).sum())
    return hits, int(fits.sum(axis=1).min())


def test_linking_finds_a_person_among_k_rows_at_best(known: Known, release: Release) -> None:
    hits, fewest = link(known, release)
    assert fewest >= K
    assert not beyond_chance(hits, 1_000, 1 / K)


def test_linking_finds_most_people_where_everybody_is_alone(
    known: Known, showing_all: None
) -> None:
    hits, fewest = link(known, known.release())
    assert fewest == 1
    assert beyond_chance(hits, 1_000, 1 / K)
    assert hits > 400


# ── the order of rows ───────────────────────────────────────────────────────────────────────────

# Of a random permutation, one row in all is where it was, whatever their number; eleven or more
# are in one case of 10^8. Of several, one each; their numbers have the variance 1.
MOST_BY_CHANCE = 10


def by_position(release: Release) -> int:
    """Guess that rows are where they were: the hits."""
    return int((release.rows == np.arange(len(release.rows))).sum())


def by_position_in_class(known: Known, release: Release) -> tuple[int, int]:
    """Guess that rows of a class stand in it as they stood: the hits, and the classes.

    The adversary is even told who is in which class.
    """
    classes = known.classes(release.table)
    hits = 0
    for number in range(classes.max() + 1):
        rows = release.rows[classes == number]
        hits += int((rows == np.sort(rows)).sum())
    return hits, int(classes.max()) + 1


def test_positions_tell_nothing(known: Known, release: Release) -> None:
    assert by_position(release) <= MOST_BY_CHANCE
    hits, classes = by_position_in_class(known, release)
    assert classes > 50
    assert hits <= classes + 5 * math.sqrt(classes)


def test_positions_tell_all_where_the_order_is_kept(known: Known) -> None:
    release = known.release(keep_order=True)
    assert by_position(release) == known.rows
    assert by_position_in_class(known, release)[0] == known.rows


ORDER = part.leaving_order


def test_positions_in_a_class_tell_all_where_only_classes_are_sorted(
    known: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that sorts rows by their quasi-identifiers alone leaves the input's order inside."""

    def by_class(cells: Any, place: Any, carried: pl.DataFrame, _: Any) -> Any:
        return ORDER(cells, place, carried.select(row=pl.int_range(pl.len())))

    monkeypatch.setattr(memory, "leaving_order", by_class)
    release = known.release()
    assert by_position(release) <= MOST_BY_CHANCE
    assert by_position_in_class(known, release)[0] == known.rows


# ── homogeneity ─────────────────────────────────────────────────────────────────────────────────


def certain(known: Known, release: Release) -> float:
    """The share of people all of whose class have the same sensitive value."""
    values = np.unique(_text(release.table[known.sensitive]), return_inverse=True)[1]
    classes = known.classes(release.table)
    told = [len(np.unique(values[classes == own])) == 1 for own in range(classes.max() + 1)]
    return float(np.mean(np.array(told)[classes]))


def clustered(known: Known) -> Known:
    """The same people, whose sensitive value is told by their age and sex but for one in ten."""
    decade = pl.col("age") // 10
    told = pl.concat_str([pl.col("sex"), decade.cast(pl.String)])
    noise = np.random.default_rng(3).random(known.rows) < 0.1
    value = pl.when(pl.Series(noise)).then(pl.lit("other")).otherwise(told)
    frame = known.frame.with_columns(value.alias(known.sensitive))
    return Known(frame, known.schema, known.leaves, known.sensitive)


@pytest.mark.slow
def test_nobodys_value_is_certain_where_two_are_required(known: Known) -> None:
    people = clustered(known)
    for asked in (
        LDiversity(2, known.sensitive),
        LDiversity(2, known.sensitive, "frequency"),
        LDiversity(1.5, known.sensitive, "entropy"),
    ):
        release = people.release(require=[KAnonymity(K), asked])
        assert release.table.height == known.rows
        assert certain(people, release) == 0


def test_values_of_many_are_certain_where_only_k_is_required(known: Known) -> None:
    assert certain(clustered(known), clustered(known).release()) > 0.1


# ── laying releases over each other ─────────────────────────────────────────────────────────────


def written(release: Release, folder: Path) -> bytes:
    release.write(folder / "released.csv")
    return (folder / "released.csv").read_bytes()


def remaining(known: Known, one: Release, other: Release) -> Longs:
    """Of each person, the rows of her class whose sensitive values her other class has too.

    What is left of k, if the sensitive columns tell which rows of the two may be the same.
    """
    told = [name for name in one.table.columns if name not in known.schema.quasi]
    counts: list[dict[int, Counter[tuple[object, ...]]]] = []
    own: list[Longs] = []
    for each in (one, other):
        classes = known.classes(each.table)
        inside: dict[int, Counter[tuple[object, ...]]] = {}
        for number, values in zip(classes.tolist(), each.table.select(told).rows(), strict=True):
            inside.setdefault(number, Counter())[values] += 1
        counts.append(inside)
        place = np.empty(known.rows, dtype=np.int64)
        place[each.rows] = classes
        own.append(place)
    return np.array(
        [
            (counts[0][first] & counts[1][second]).total()
            for first, second in zip(own[0].tolist(), own[1].tolist(), strict=True)
        ]
    )


@pytest.mark.slow
def test_asking_again_tells_nothing_new(known: Known, release: Release, tmp_path: Path) -> None:
    shuffled = known.frame.sample(fraction=1, shuffle=True, seed=5)
    again = covey.anonymize(shuffled, known.schema, require=[KAnonymity(K)])
    assert written(again, tmp_path) == written(known.release(), tmp_path)
    assert remaining(known, release, known.release()).min() >= K


def test_another_seed_leaves_many_people_among_fewer_than_k(known: Known, tmp_path: Path) -> None:
    releases = [known.release(seed=seed) for seed in (1, 2)]
    digests = {hashlib.sha256(written(each, tmp_path)).hexdigest() for each in releases}
    assert len(digests) == 2
    left = remaining(known, *releases)
    assert left.min() >= 1
    assert (left < K).mean() > 0.2


# ── who is missing ──────────────────────────────────────────────────────────────────────────────


def some_left_out(table: EncodedTable, k: int, *, seed: int, progress: Progress) -> Groups:
    """Groups of k + 1 or more, every third of which loses one member, whoever it is."""
    dice = np.random.default_rng(seed)
    labels = METHODS["covey"](table, k + 1, seed=seed).labels.copy()
    for group in range(0, labels.max() + 1, 3):
        labels[dice.choice(np.flatnonzero(labels == group))] = -1
    return Groups(labels)


def who_does_not_follow(fits: Bools) -> list[int]:
    """Read the release beside the register: whoever is not covered by the next row is missing."""
    guessed, place = [], 0
    for person, row in enumerate(fits):
        if place < len(row) and row[place]:
            place += 1
        else:
            guessed.append(person)
    return guessed


def who_is_not_near(fits: Bools) -> list[int]:
    """Whoever is covered by no row near the place that her row would have is missing."""
    people, rows = fits.shape
    near = 3 * math.ceil(math.sqrt(people - rows))
    places = [round(person * rows / people) for person in range(people)]
    return [
        person
        for person, place in enumerate(places)
        if not fits[person, max(place - near, 0) : place + near].any()
    ]


Guess: TypeAlias = Callable[[Bools], list[int]]
guesses = pytest.mark.parametrize("guess", [who_does_not_follow, who_is_not_near])


def missing(known: Known, release: Release, guess: Guess) -> tuple[int, int, int]:
    """Guess who is missing: the hits, the guesses, and how many are missing."""
    guessed = guess(known.candidates(release.table, np.arange(known.rows)))
    truly = release.groups.labels < 0
    return int(truly[guessed].sum()), len(guessed), int(truly.sum())


@guesses
def test_positions_do_not_tell_who_is_missing(known: Known, guess: Guess) -> None:
    release = known.release(method=some_left_out)
    hits, tries, left_out = missing(known, release, guess)
    assert left_out >= 0.03 * known.rows
    assert not beyond_chance(hits, tries, left_out / known.rows)


@guesses
def test_positions_tell_who_is_missing_where_the_order_is_kept(known: Known, guess: Guess) -> None:
    release = known.release(method=some_left_out, keep_order=True)
    hits, tries, left_out = missing(known, release, guess)
    assert beyond_chance(hits, tries, left_out / known.rows)
    assert hits > 0.8 * tries
    assert hits > 0.2 * left_out


@pytest.mark.parametrize("keep_order", [False, True])
def test_only_the_people_decide_what_is_written_of_those_who_are_left(
    keep_order: bool, tmp_path: Path
) -> None:
    """Bytes that are the same for every order of the input tell nothing of any order."""
    frame = demo.people(1_000).select("age", "income", "length_of_stay", "diagnosis")
    quasi = dict.fromkeys(frame.columns[:3], "numeric")
    schema = covey.Schema.of(quasi=quasi, sensitive=["diagnosis"])
    found = set()
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        release = covey.anonymize(
            shuffled, schema, require=KAnonymity(20), max_suppressed=0.05, keep_order=keep_order
        )
        assert 0 < release.groups.suppressed <= 50
        found.add(written(release, tmp_path))
    assert len(found) == (3 if keep_order else 1)
