"""Labels that look the same to a reader count as one value everywhere."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import covey
from covey import AlphaK, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from covey.encoding import encode
from covey.schema import TableFormat, labels
from covey.schema.labels import STEPS, look_alikes, normalised, seen
from covey.schema.requirements import Requirement
from covey.tables import Table
from examples import examples
from oracles.labels import as_read

SPELLINGS = (
    "HIV",
    "HIV ",
    "hiv",
    "HIV\u200b",
    "\u00a0HIV",
    "ＨＩＶ",
    "H\u00adIV",
    "\u202eHIV\u202c",
)
# Letters with several forms, white space, and what nobody sees.
SIGNS = (
    "aAßẞſéÉeE\u0301\u0308ﬁfiK\u212aΣσςİıI\u0345ͅᾳ²2Ａ１ \t\n\x1c\x85\u00a0\u2009\u2028\u3000\u2800"
    + (
        "\x00\x07\x1b\x7f\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200f\u202e\u2060\ufe0f\ufeff\uffa0\ufffc"
        "\U000e0041\U000e0100"
    )
)
TEXTS = st.text(st.sampled_from(SIGNS), max_size=8) | st.text(max_size=8)


# ── what a reader sees ──────────────────────────────────────────────────────────────────────────


@given(st.lists(TEXTS | st.none(), max_size=12))
def test_texts_are_read_as_the_oracle_reads_them(texts: list[str | None]) -> None:
    found = seen(pl.Series(texts, dtype=pl.String)).to_list()
    assert found == [(text and as_read(text)) or None for text in texts]


@given(st.lists(TEXTS, min_size=1, max_size=6), st.sets(st.sampled_from(STEPS)))
@example(["ͅ a"], set(STEPS))
def test_to_normalise_twice_changes_nothing(texts: list[str], steps: set[Any]) -> None:
    once = normalised(pl.Series(texts), tuple(steps))
    assert normalised(once, tuple(steps)).equals(once)
    assert normalised(pl.Series(texts), tuple(reversed(STEPS))).equals(
        normalised(pl.Series(texts), STEPS)
    )


def test_each_step_does_what_it_is_called() -> None:
    text = pl.Series([" Ａ\u200bB  c "])
    shown = {step: normalised(text, (step,))[0] for step in STEPS}
    assert shown == {
        "nfkc": " A\u200bB  c ",
        "invisible": " ＡB  c ",
        "casefold": " ａ\u200bb  c ",
        "strip": "Ａ\u200bB  c",
        "collapse": " Ａ\u200bB c ",
    }


def test_what_is_no_text_stays_as_it_is() -> None:
    for cells in (
        pl.Series([1, None]),
        pl.Series([1.0, 2.0]),
        pl.Series([True]),
        pl.Series([None]),
    ):
        assert seen(cells) is cells
        assert not look_alikes(cells)
    assert seen(pl.Series(["1", "1.0", "01", "а", "a"])).n_unique() == 5  # one a is Cyrillic


def test_what_looks_like_a_missing_token_is_missing() -> None:
    cells = pl.Series(["NA", "na ", "\u200b", " ", "nab"])
    assert seen(cells, ("NA", "")).to_list() == [None] * 4 + ["nab"]


def test_look_alikes_are_counted_by_spelling_value_and_row() -> None:
    cells = pl.Series(["HIV", "HIV", "hiv", "Flu", "flu ", "Angina", None])
    found = look_alikes(cells)
    assert (found.spellings, found.values, found.rows) == (4, 2, 5)
    rows = look_alikes(pl.Series(["HIV", "hiv", "Hiv"]), pl.Series([4, 3, 0]))
    assert (rows.spellings, rows.values, rows.rows) == (2, 1, 7)


# ── what is required of them ───────────────────────────────────────────────────────────────────

SCHEMA = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["ill"])


def four_spellings() -> pl.DataFrame:
    return pl.DataFrame({"age": [30] * 4 + [40] * 4, "ill": list(SPELLINGS)})


ASKED: tuple[Requirement, ...] = (LDiversity(4, "ill"), AlphaK(0.3, "ill", ("HIV",)))


def test_what_looks_like_a_missing_token_is_no_diagnosis(tmp_path: Path) -> None:
    """Neither in a table nor in its release, which is read with the tokens of the original."""
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_text("age,ill\n" + "30,NA\n30,none\n30,None\n30,\u200bnone\n" * 2, "utf-8")
    known = SCHEMA.model_copy(update={"table": TableFormat(missing=["none"])})
    covey.anonymize(path, known, require=KAnonymity(4)).write(out)
    for shown in (path, out):
        judged = covey.report_on(path, shown, known, require=KAnonymity(4)).verdict
        assert judged.achieved[0].distinct_l == 2
    with pytest.raises(covey.InfeasibleError):
        covey.anonymize(path, known, require=[KAnonymity(4), LDiversity(3, "ill")])


@pytest.mark.parametrize("requirement", ASKED, ids=lambda requirement: requirement.name)
def test_one_illness_was_four_values(
    requirement: Requirement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack, and the build against which it succeeds."""
    frame = four_spellings()
    with pytest.raises(covey.InfeasibleError):
        covey.anonymize(frame, SCHEMA, require=[KAnonymity(4), requirement])
    released = frame.with_columns(pl.col("age").cast(pl.String))
    judged = covey.verify(released, SCHEMA, requirement)
    assert judged.broken
    assert judged.achieved[0].merged == 7
    monkeypatch.setattr(labels, "seen", lambda cells, *_: cells)
    assert covey.anonymize(frame, SCHEMA, require=[KAnonymity(4), requirement]).verdict.holds
    assert covey.verify(released, SCHEMA, requirement).holds


def respelled(value: str | None, dice: random.Random) -> str | None:
    """The same to a reader."""
    if value is None:
        return dice.choice([None, "", " ", "\u200b"])
    value = "".join(dice.choice([letter.upper(), letter.lower()]) for letter in value)
    value = value.replace(" ", dice.choice([" ", "  ", "\u00a0"]))
    return dice.choice(["", " ", "\ufeff"]) + value + dice.choice(["", " ", "\u200b", "\t"])


TREE = {"Heart": ["Angina", "Weak heart"], "Lungs": {"Asthma": [], "Infection": ["Flu", "Cold"]}}
ILLS = st.sampled_from([None, "Angina", "Weak heart", "Asthma", "Flu", "Cold"])


@examples(40)
@given(
    st.lists(st.tuples(st.sampled_from("xyz"), ILLS), min_size=1, max_size=14),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_how_a_value_is_spelled_changes_no_figure(
    rows: list[tuple[str, str | None]], declared: bool, dice: random.Random
) -> None:
    schema = covey.Schema.of(
        quasi={"q": "categorical"}, sensitive={"ill": {"taxonomy": TREE} if declared else {}}
    )
    plain = pl.DataFrame(rows, {"q": pl.String, "ill": pl.String}, orient="row")
    spelled = plain.with_columns(
        ill=pl.Series([respelled(ill, dice) for _, ill in rows], dtype=pl.String)
    )
    listed = AlphaK(0.5, "ill", ("flu ", "COLD"))
    (before,), (after,) = (covey.verify(f, schema, listed).achieved for f in (plain, spelled))
    assert replace(after, merged=0) == before
    checks = [covey.verify(frame, schema, listed).checks for frame in (plain, spelled)]
    assert checks[0] == checks[1]
    codes = [encode(Table(f), schema, require=[listed]).constraints for f in (plain, spelled)]
    assert codes[0] is not None
    assert codes[1] is not None
    assert codes[0].values.tolist() == codes[1].values.tolist()
    assert codes[0].rules.bounds.tolist() == codes[1].rules.bounds.tolist()


@pytest.mark.parametrize(
    "requirement",
    [
        LDiversity(3, "ill"),
        LDiversity(2, "ill", "frequency"),
        AlphaK(0.4, "ill", ("ANGINA",)),
        TCloseness(0.3, "ill", "hierarchical"),
        TCloseness(0.3, "ill"),
        DeltaDisclosure(1.5, "ill"),
    ],
    ids=lambda requirement: requirement.name,
)
def test_a_release_keeps_what_a_reader_sees(requirement: Requirement) -> None:
    """Judged from outside: by the same words, each spelled in one way alone."""
    dice = random.Random(8)
    names = ["Angina", "Weak heart", "Asthma", "Flu", "Cold"]
    ills = [dice.choice(names) for _ in range(120)]
    frame = pl.DataFrame(
        {
            "age": [dice.randrange(20, 90) for _ in ills],
            "ill": [respelled(ill, dice) for ill in ills],
        }
    )
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive={"ill": {"taxonomy": TREE}})
    release = covey.anonymize(frame, schema, require=[KAnonymity(4), requirement])
    plain = release.table.with_columns(ill=pl.Series([ills[row] for row in release.rows.tolist()]))
    assert covey.verify(plain, schema, requirement).holds
    assert release.table["ill"].n_unique() > 5  # released as they are


def test_numbers_that_are_declared_are_read_as_strictly_as_before() -> None:
    schema = covey.Schema.of(quasi={"age": "numeric"}, sensitive={"pay": "numeric"})
    frame = pl.DataFrame({"age": [1] * 4, "pay": ["１", "2", "3", "4"]})
    with pytest.raises(covey.TableError, match="'pay': 1 row"):
        covey.anonymize(frame, schema, require=KAnonymity(2))


# ── reported ────────────────────────────────────────────────────────────────────────────────────


def about(release: covey.Release, column: str) -> list[str]:
    return [
        w for w in release.report.warnings if f"column {column!r}" in w and "look the same" in w
    ]


def test_look_alikes_are_reported_with_counts_and_without_labels() -> None:
    frame = pl.DataFrame(
        {
            "town": ["Zqtown", "zqtown ", "Oslo"] * 10,
            "ill": ["Zqflu", "zqflu", "zqflu ", "cold", "angina", "asthma"] * 5,
        }
    )
    schema = covey.Schema.of(quasi={"town": "categorical"}, sensitive=["ill"])
    release = covey.anonymize(frame, schema, require=KAnonymity(5))
    (ill,), (town,) = about(release, "ill"), about(release, "town")
    assert "3 spellings of 1 value" in ill
    assert "15 rows" in ill
    assert "2 spellings of 1 value" in town
    assert "20 rows" in town
    assert "zq" not in (ill + town).lower()


def test_of_quasi_identifiers_nothing_is_told_of_fewer_than_k_or_of_those_left_out() -> None:
    towns = ["Oslo"] * 20 + ["Rome", "rome"]
    schema = covey.Schema.of(quasi={"town": "categorical"})
    frame = pl.DataFrame({"town": towns})
    (few,) = about(covey.anonymize(frame, schema, require=KAnonymity(5)), "town")
    assert "fewer than 5 rows" in few
    assert "2" not in few
    left_out = covey.anonymize(frame, schema, require=KAnonymity(5), max_suppressed=0.2)
    assert left_out.report.rows.suppressed == 2
    assert about(left_out, "town") == []


def test_a_draft_tells_of_look_alikes_and_how_to_merge_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"town": ["Zqtown", "zqtown", "Oslo"] * 10, "age": [*range(30)]})
    text = covey.inspect(frame).to_toml()
    assert re.search("# 2 spellings of 1 value .* 20 rows", text)
    assert "zqtown" not in text.lower()
    path = tmp_path / "s.toml"
    path.write_text(text.replace("# normalise", "normalise"))
    schema = covey.Schema.from_toml(path)
    assert schema.columns["town"].normalise == STEPS
    released = covey.anonymize(frame, schema, require=KAnonymity(5)).table["town"]
    assert dict(Counter(released)) == {"zqtown": 20, "oslo": 10}


# ── merged ──────────────────────────────────────────────────────────────────────────────────────

TOWNS = {"Europe": ["Rome ", "Oslo"], "Asia": ["Kyoto"]}


def towns(
    normalise: Sequence[str] | None = ("strip", "casefold"), tree: Any = TOWNS
) -> covey.Schema:
    merged = {} if normalise is None else {"normalise": list(normalise)}
    return covey.Schema.of(
        quasi={"town": {"type": "categorical", "taxonomy": tree, **merged}},
        sensitive={"ill": merged},
        insensitive=["ward"],
    )


def travellers() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "town": ["Rome", "rome", " ROME ", "Rome ", "oslo", "OSLO", "Kyoto", "kyoto"],
            "ill": ["Flu", "flu ", "cold", "COLD", "a", "A", None, " "],
            "ward": ["A", "a", "A ", "b", "B", "b", "c", "c"],
        }
    )


def test_what_is_normalised_is_released_so_and_meets_its_taxonomy(tmp_path: Path) -> None:
    frame, schema = travellers(), towns()
    release = covey.anonymize(frame, schema, require=KAnonymity(2))
    table = release.table.sort("town")
    assert Counter(table["town"]) == {"rome": 4, "oslo": 2, "kyoto": 2}
    assert Counter(table["ill"]) == {"flu": 2, "cold": 2, "a": 2, None: 1, "": 1}
    assert sorted(table["ward"]) == sorted(frame["ward"])
    assert (about(release, "town"), about(release, "ill")) == ([], [])
    assert release.report.mean_loss == 0
    release.write(tmp_path / "r.csv")
    frame.write_csv(tmp_path / "t.csv")
    paths = (tmp_path / "t.csv", tmp_path / "r.csv")
    assert covey.measure(*paths, schema).total_il == 0
    assert covey.report_on(*paths, schema, require=KAnonymity(2)).verdict.holds
    with pytest.raises(covey.TaxonomyError, match=r"'town': 6 rows.*6 of them look like leaves"):
        covey.anonymize(frame, towns(None), require=KAnonymity(2))


def test_a_release_is_judged_as_it_is_written() -> None:
    """Who judges does not merge what others can tell apart."""
    released = travellers().with_columns(ward=pl.lit("x"))
    assert covey.verify(released, towns()).k == 1


def test_leaves_that_become_one_are_refused() -> None:
    same = {"Europe": ["Rome", "ROME", "Oslo"], "Asia": ["Kyoto"]}
    with pytest.raises(covey.TaxonomyError, match="'town': 1 leaf"):
        covey.anonymize(travellers(), towns(tree=same), require=KAnonymity(2))
    above = {"rome": ["Rome"], "Asia": ["Kyoto", "Oslo"]}
    with pytest.raises(covey.TaxonomyError, match="'town': 1 leaf"):
        covey.anonymize(travellers(), towns(tree=above), require=KAnonymity(2))


def test_only_texts_are_normalised_and_only_by_steps_that_exist() -> None:
    with pytest.raises(covey.SchemaError, match='"normalise" is only for type = "categorical"'):
        covey.Schema.of(quasi={"age": {"type": "numeric", "normalise": ["strip"]}})
    with pytest.raises(covey.SchemaError, match=r"column 'town': normalise.0: .*'casefold'"):
        towns(["upper"])
