"""The verdict on a table in batches is that on the same table in memory, and no fault hides."""

import pickle
import random
import stat
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import Schema, TableError
from covey.schema.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    TCloseness,
)
from covey.tables.batches import batches
from covey.tables.merging import merged
from covey.verification import Verdict, classes, verifying
from covey.verification.classes import Classes
from covey.verification.survey import CLASS, Survey, owners
from covey.verification.verifying import classes_together
from examples import examples
from oracles.anonymity import smallest_class, smallest_match

TREE = {"lungs": ["flu", "asthma"], "belly": ["ulcer"]}
SCHEMA = Schema.model_validate(
    {
        "table": {"missing": ["", "NA"]},
        "columns": {
            "age": {"role": "quasi", "type": "numeric"},
            "sex": {"role": "quasi", "type": "categorical"},
            "zip": {"role": "quasi", "type": "categorical"},
            "illness": {"role": "sensitive", "taxonomy": TREE},
            "income": {"role": "sensitive", "type": "numeric"},
            "since": {"role": "sensitive", "type": "date"},
            "person": {"role": "identifier"},
        },
    }
)
REQUIREMENTS = (
    KAnonymity(3),
    KAnonymity(2, person="person"),
    LDiversity(2, on="illness"),
    LDiversity(1.5, on="illness", kind="entropy"),
    LDiversity(2, on="income", kind="frequency"),
    LDiversity(4, on="income", kind="recursive", c=2.0),
    TCloseness(0.3, on="illness", distance="hierarchical"),
    TCloseness(0.3, on="income", distance="ordered"),
    TCloseness(0.3, on="since"),
    AlphaK(0.5, on="illness", values=("flu", "plague")),
    BetaLikeness(1, on="illness"),
    BetaLikeness(1, on="since", enhanced=True),
    DeltaDisclosure(2, on="illness"),
)


def column(draw: st.DrawFn, rows: int, values: Sequence[Any], *missing: Any) -> list[Any]:
    return draw(st.lists(st.sampled_from([*values, *missing]), min_size=rows, max_size=rows))


@st.composite
def releases(draw: st.DrawFn) -> pl.DataFrame:
    """A table as it may be published: with missing cells, ends of intervals, and persons."""
    rows = draw(st.integers(1, 24))
    gaps: Sequence[Any] = draw(st.sampled_from([(), ("",), ("", None, "NA")]))
    age = ["20", "30"]
    ages = (
        {f"age_{end}": column(draw, rows, age, *gaps) for end in ("low", "high")}
        if draw(st.booleans())
        else {"age": column(draw, rows, age, *gaps)}
    )
    persons = {"person": column(draw, rows, "123456", *gaps)} if draw(st.booleans()) else {}
    texts = {
        **ages,
        "sex": column(draw, rows, "fm"),
        "zip": column(draw, rows, ["1*", "2*"], *gaps),
        "illness": column(draw, rows, ["flu", "Flu ", "asthma", "ulcer"], *gaps),
        "income": column(draw, rows, ["1000", "1000.0", "1200", "9000"], *gaps),
        **persons,
    }
    days = [date(2024, 5, day) for day in (1, 2, 31)]
    since = pl.Series("since", column(draw, rows, days, *([None] if gaps else [])), pl.Date)
    return pl.DataFrame(texts, dict.fromkeys(texts, pl.String)).with_columns(since)


def in_pieces(frame: pl.DataFrame, sizes: int, buckets: int, dice: random.Random) -> Verdict:
    """The verdict as an engine finds it: any pieces, in any order, each sent to another process."""
    asked = SCHEMA.requirements(REQUIREMENTS)
    parts = list(batches(frame, SCHEMA, rows=sizes))
    dice.shuffle(parts)
    surveys = [sent(Survey.of(part, SCHEMA)) for part in parts]
    dice.shuffle(surveys)
    survey = sent(merged(surveys))
    dice.shuffle(parts)
    lines = pl.concat(survey.coded(part, owners(asked, part, SCHEMA, {})) for part in parts).sample(
        fraction=1, shuffle=True, seed=dice.randrange(2**32)
    )
    key = pl.col(CLASS[0]) % buckets
    judged = [
        sent(survey.judge(part, asked))
        for part in lines.with_columns(key=key).partition_by("key", include_key=False)
    ]
    dice.shuffle(judged)
    total = judged[0]
    for other in judged[1:]:
        total = total + other
    verdict: Verdict = survey.verdict(sent(total), asked)
    return verdict


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@examples(150)
@given(
    frame=releases(),
    rows=st.integers(1, 9),
    buckets=st.integers(1, 9),
    dice=st.randoms(use_true_random=False),
)
def test_the_verdict_does_not_depend_on_pieces_and_buckets(
    frame: pl.DataFrame, rows: int, buckets: int, dice: random.Random
) -> None:
    whole = covey.verify(frame, SCHEMA, REQUIREMENTS)
    assert in_pieces(frame, rows, buckets, dice) == whole
    quasi = frame.select(name for name in frame.columns if name.startswith(("age", "sex", "zip")))
    assert whole.k == smallest_class(quasi.rows())


@examples(100)
@given(frame=releases(), rows=st.integers(1, 9), lines=st.integers(1, 9))
def test_files_that_hold_lines_change_no_verdict(
    frame: pl.DataFrame, rows: int, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = covey.verify(frame, SCHEMA, REQUIREMENTS)
    monkeypatch.setattr(verifying, "LINES", lines)
    assert covey.verify(batches(frame, SCHEMA, rows=rows), SCHEMA, REQUIREMENTS) == whole
    monkeypatch.undo()


def test_persons_may_come_beside_each_batch() -> None:
    frame = pl.DataFrame({"age": ["1"] * 4, "sex": "f", "zip": "1*"})
    whose = pl.Series(["a", "b", "b", None])
    asked = KAnonymity(2, person="person")
    found = covey.verify(frame, SCHEMA, asked, persons={"person": whose})
    assert (found.checks[0].achieved, found.holds) == (2, True)
    parts = batches(frame, SCHEMA, rows=3)
    for beside in ({"person": whose}, [{"person": whose[:3]}, {"person": whose[3:]}]):
        assert covey.verify(parts, SCHEMA, asked, persons=beside) == found
    for beside in ({"person": whose[:3]}, [{"person": whose}], [{"person": whose[:2]}] * 2):
        with pytest.raises(TableError, match="one cell for each row"):
            covey.verify(parts, SCHEMA, asked, persons=beside)


# ── faults ──────────────────────────────────────────────────────────────────────────────────────


QUASI = {"role": "quasi", "type": "categorical"}
PEOPLE = Schema.model_validate({"columns": {"age": QUASI, "zip": QUASI}})


@pytest.fixture(params=["csv", "parquet"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def write(*frames: pl.DataFrame) -> Path:
        place = tmp_path / "released"
        place.mkdir()
        for number, frame in enumerate(frames):
            path = place / f"part-{number}.{request.param}"
            frame.write_csv(path) if request.param == "csv" else frame.write_parquet(path)
        return place

    return write


@pytest.fixture(params=[2, 5, 1000])
def buckets(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "LINES", request.param)


def people(age: str, rows: int) -> pl.DataFrame:
    return pl.DataFrame({"age": [age] * rows, "zip": ["123**"] * rows})


@pytest.mark.usefixtures("buckets")
def test_a_class_that_is_split_over_two_files_is_one_class(folder: Any) -> None:
    verdict = covey.verify(folder(people("20-29", 4), people("20-29", 3)), PEOPLE, k=7)
    assert (verdict.classes, verdict.k, verdict.holds) == (1, 7, True)


@pytest.mark.usefixtures("buckets")
def test_a_class_that_is_too_small_is_found_in_any_file(folder: Any) -> None:
    files = [people(f"{number}0-{number}9", 5) for number in range(9)]
    files[6] = pl.concat([files[6], people("100", 4)])
    verdict = covey.verify(folder(*files), PEOPLE, k=5)
    assert (verdict.classes, verdict.k, verdict.holds) == (10, 4, False)


@pytest.mark.usefixtures("buckets")
def test_two_equal_files_count_twice(folder: Any) -> None:
    verdict = covey.verify(folder(people("20-29", 3), people("20-29", 3)), PEOPLE, k=6)
    assert (verdict.rows, verdict.k, verdict.holds) == (6, 6, True)


@pytest.mark.usefixtures("buckets")
def test_rows_match_missing_cells_in_other_buckets(folder: Any) -> None:
    rows = [("a", "1"), ("a", ""), ("", "1"), ("b", "2"), ("b", "2"), ("", "2")]
    frames = [pl.DataFrame([row], ["age", "zip"], orient="row") for row in rows]
    verdict = covey.verify(folder(*frames), PEOPLE)
    assert (verdict.k, verdict.k_wildcard) == (1, smallest_match([*map(nulls, rows)]))
    assert verdict.k_wildcard == 3


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize(("most", "found"), [(2, None), (3, 2)])
def test_matches_are_not_counted_among_too_many_classes(
    most: int, found: int | None, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classes, "MOST_CLASSES", most)
    frames = [people("", 1), people("30", 1), people("40", 1), people("30", 1)]
    verdict = covey.verify(folder(*frames), PEOPLE)
    assert (verdict.k, verdict.k_wildcard) == (1, found)


def nulls(row: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(cell or None for cell in row)


def test_cells_that_move_between_columns_are_other_classes() -> None:
    def k(*rows: tuple[str | None, ...]) -> int:
        kinds = {"age": pl.String, "zip": pl.String}
        return covey.verify(pl.DataFrame(rows, kinds, orient="row"), PEOPLE).k

    assert k(("a", "b"), ("b", "a")) == 1
    assert k((None, "a"), ("a", None)) == 1
    assert k((None, "a"), ("", "a")) == 1
    assert k(("ab", ""), ("a", "b")) == 1
    assert k((None, None), (None, None)) == 2


def test_classes_with_half_of_their_numbers_equal_are_kept_apart() -> None:
    first = np.array([7, 7, 7, 1, 7], dtype=np.uint64)
    second = np.array([1, 2, 1, 1, 2], dtype=np.uint64)
    assert sorted(Classes.of(first, second).sizes) == [1, 2, 2]
    assert sorted(Classes.of(second, first).sizes) == [1, 2, 2]


def test_a_table_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"age": ["1", "1"], "sex": "f", "zip": "1*", "income": ["1", "2"]})
    for other in (frame[:1], frame.with_columns(income=pl.lit("3"))):
        frame.write_parquet(path)
        table = batches(path, SCHEMA)
        survey = merged(Survey.of(batch, SCHEMA) for batch in table)
        assert survey is not None
        other.write_parquet(path)

        def judge(survey: Survey = survey) -> Verdict:
            lines = pl.concat(survey.coded(batch, {}) for batch in batches(path, SCHEMA))
            return survey.verdict(survey.judge(lines, []), [])

        with pytest.raises(TableError, match="changed"):
            judge()


def test_lines_wait_in_a_private_folder_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "LINES", 2)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    secret = "Zebedee"
    frame = pl.DataFrame({"age": [secret] * 5, "sex": secret, "zip": secret, "income": "77123"})
    survey = Survey.of(next(iter(batches(frame, SCHEMA))), SCHEMA)
    lines = survey.coded(next(iter(batches(frame, SCHEMA))), {"person": pl.Series([secret] * 5)})
    assert all(dtype.is_integer() for dtype in lines.dtypes)

    def broken() -> None:
        with classes_together(iter([lines[:3], lines[3:]]), 5) as buckets:
            (private,) = tmp_path.iterdir()
            assert stat.S_IMODE(private.stat().st_mode) == 0o700
            held = b"".join(path.read_bytes() for path in private.iterdir())
            assert held
            assert secret.encode() not in held
            assert b"77123" not in held
            assert sum(bucket.height for bucket in buckets) == 5
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert not [*tmp_path.iterdir()]
