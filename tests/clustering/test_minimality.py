"""Sizes that requirements need, and the attack on groups that are too small for a rare value."""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from covey import AlphaK, BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from covey.cli import main as cli
from covey.encoding import encode
from covey.encoding.constraints import Constraints
from covey.engines import part
from covey.repair import repair
from covey.schema.requirements import Requirement
from covey.tables import Table

# ── sizes ───────────────────────────────────────────────────────────────────────────────────────

COUNTS = {"a": 11, "b": 8, "c": 4, "rare": 1}
TREE = {"some": ["a", "b"], "others": ["c", "rare"]}
# Each with the least size of any group, and of a group with one row of the rarest value.
SIZES: list[tuple[Requirement, int, int]] = [
    (LDiversity(3, "v"), 3, 3),
    (LDiversity(3, "v", "frequency"), 3, 3),
    (LDiversity(2.5, "v", "entropy"), 3, 3),
    (LDiversity(2, "v", "recursive", 1), 3, 3),
    (LDiversity(2, "v", "recursive", 0.5), 4, 4),
    (AlphaK(0.4, "v"), 3, 3),
    (AlphaK(0.2, "v", ("rare",)), 1, 5),
    (TCloseness(0.2, "v", "equal"), 1, 5),
    (TCloseness(0.1, "v", "hierarchical"), 1, 5),
    (BetaLikeness(3, "v", enhanced=False), 1, 6),
    (BetaLikeness(5, "v"), 1, 6),
    (DeltaDisclosure(1.1, "v"), 8, 8),
]


def constraints(requirement: Requirement) -> Constraints:
    values = [value for value, number in COUNTS.items() for _ in range(number)]
    column = {"role": "sensitive", "type": "categorical", "taxonomy": TREE}
    columns = {"age": {"role": "quasi", "type": "numeric"}, "v": column}
    schema = covey.Schema.from_dict({"columns": columns})
    table = Table(pl.DataFrame({"age": range(len(values)), "v": values}))
    found = encode(table, schema, require=[requirement]).constraints
    assert found is not None
    return found


def groups_of(size: int) -> Iterator[tuple[int, ...]]:
    return (some for some in product(*(range(n + 1) for n in COUNTS.values())) if sum(some) == size)


@pytest.mark.parametrize(("requirement", "least", "around"), SIZES, ids=str)
def test_no_smaller_group_meets_a_requirement(
    requirement: Requirement, least: int, around: int
) -> None:
    found = constraints(requirement)
    assert (found.least_rows, found.rows_around_rare(requirement)) == (least, around)
    for size in range(1, around):
        fits = [some for some in groups_of(size) if found.meets({"v": np.array(some)})]
        assert not any(rare for *_, rare in fits)
        assert size >= least or not fits


def test_a_value_that_is_not_there_needs_no_rows() -> None:
    absent = AlphaK(0.01, "v", ("unknown",))
    assert constraints(absent).rows_around_rare(absent) == 1


# ── refusal ─────────────────────────────────────────────────────────────────────────────────────

AGES = np.repeat([20, 30, 120, 130, 220, 230], [3, 20] * 3).tolist()
SCHEMA = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["illness"])
LISTED = AlphaK(0.1, "illness", ("rare",))


def people(rare: int) -> pl.DataFrame:
    illness = ["rare" if row == rare else "none" for row in range(len(AGES))]
    return pl.DataFrame({"age": AGES, "illness": illness})


def release(rare: int, k: int, key: bytes = bytes(32), **given: Any) -> covey.Release:
    settings: dict[str, Any] = {"effort": "fast", "schema": SCHEMA, **given}
    return covey.anonymize(people(rare), require=[KAnonymity(k), LISTED], key=key, **settings)


def test_a_k_too_small_for_a_rare_value_is_refused_unless_accepted() -> None:
    for method, effort in (("covey", "fast"), ("mondrian", None)):
        with pytest.raises(covey.GuaranteeError, match="k = 10"):
            release(1, 9, method=method, effort=effort)
    accepting = SCHEMA.requiring(minimality="accept")
    for one in (release(1, 9, minimality="accept"), release(1, 9, schema=accepting)):
        assert any("minimality" in warning for warning in one.report.warnings)
    assert not any("minimality" in warning for warning in release(1, 10).report.warnings)


def test_in_parts_it_is_refused_too(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"require": [KAnonymity(9), LISTED], "effort": "fast"}
    people(1).write_csv(tmp_path / "people.csv")
    with pytest.raises(covey.GuaranteeError, match="k = 10"):
        covey.anonymize(
            tmp_path / "people.csv",
            SCHEMA,
            to=f"{tmp_path}/out/",
            engine="local",
            register=False,
            **settings,
        )


def test_the_command_line_refuses_and_accepts(tmp_path: Path) -> None:
    people(1).write_csv(tmp_path / "people.csv")
    words = ["anonymize", str(tmp_path / "people.csv"), "--quasi", "age", "--sensitive", "illness"]
    words += ["-k", "9", "--alpha", "illness=0.1:rare", "--dry-run", "--no-register"]
    assert cli.run(words) == 1
    assert cli.run([*words, "--accept-minimality"]) == 0


def test_groups_are_formed_as_large_as_each_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    formed = repair.repair

    def noted(table: Any, groups: Any, request: Any, *rest: Any) -> Any:
        sizes.append((request.k, groups.smallest))
        return formed(table, groups, request, *rest)

    monkeypatch.setattr(part, "repair", noted)
    frame = pl.DataFrame({"age": range(60), "illness": list("abcdef") * 10})
    require: list[Requirement] = [KAnonymity(2), LDiversity(4, "illness", "frequency")]
    covey.anonymize(frame, SCHEMA, require=require, effort="fast")
    assert sizes[0] == (4, 4)


# ── attack ──────────────────────────────────────────────────────────────────────────────────────


def shown(rare: int, k: int, key: bytes) -> list[int]:
    """The ages in the group of the person with the rare value, as the release shows them."""
    labels = release(rare, k, key).groups.labels
    return sorted(AGES[row] for row in np.flatnonzero(labels == labels[rare]))


def belief(k: int, tries: int) -> tuple[float, float]:
    """How sure the adversary is that the person is 20, in a group of ages 20 and 30; and by chance.

    He replays releases with a person of either age, under keys of his own.
    """
    draw = random.Random(0)
    published = shown(1, k, draw.randbytes(32))
    assert set(published) == {20, 30}
    like = [
        AGES.count(age)
        * np.mean([set(shown(row, k, draw.randbytes(32))) == {20, 30} for _ in range(n)])
        for age, row, n in ((20, 1, 2), (30, 5, tries))
    ]
    return float(like[0] / sum(like)), published.count(20) / len(published)


def test_replaying_candidates_tells_nothing_at_the_k_that_is_proposed() -> None:
    sure, chance = belief(10, 15)
    assert abs(sure - chance) < 0.1


def test_replaying_candidates_tells_who_it_is_where_a_small_k_is_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part, "large_enough", lambda _, request: request)
    sure, chance = belief(3, 10)
    assert chance < 0.3 < sure == 1.0
