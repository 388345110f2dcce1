"""By how much a group misses a rule: the kernels against each rule's statement in plain Python.

Repair and growth are guided by this excess. A verifier that only asks whether it is 0 would not see
a wrong one: groups would still meet their requirements, at a higher loss.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Schema,
    TCloseness,
)
from covey._core import kernels
from covey.encoding import EncodedTable, encode
from covey.schema.requirements import Requirement
from covey.tables import Table
from examples import examples
from oracles import requirements as oracle
from oracles.rules import PARENT, TREE

SCHEMA = Schema.of(
    quasi={"age": "numeric"},
    sensitive={"word": {"type": "categorical", "taxonomy": TREE}, "number": {"type": "numeric"}},
)
MODELS: list[Requirement] = [
    LDiversity(3, on="word"),
    LDiversity(2, on="word", kind="frequency"),
    LDiversity(2.5, on="word", kind="entropy"),
    LDiversity(2, on="word", kind="recursive", c=1.5),
    AlphaK(0.5, on="word", values=("a", "c")),
    BetaLikeness(0.5, on="word"),
    DeltaDisclosure(0.6, on="word"),
    TCloseness(0.25, on="word", distance="equal"),
    TCloseness(0.25, on="word", distance="hierarchical"),
    TCloseness(0.25, on="number", distance="ordered"),
]


def above(figure: float) -> float:
    return max(figure, 0.0)


def surplus(members: Sequence[object], final: int, bounds: dict[object, float]) -> float:
    """The sum of what shares of the group that is to be have above their bounds."""
    return sum(above(rows / final - bounds[value]) for value, rows in Counter(members).items())


def excess(
    requirement: Requirement, members: Sequence[object], final: int, column: Sequence[object]
) -> float:
    """By how much members miss a requirement if the rows to come up to `final` are ideal."""
    to_come, shares = final - len(members), oracle.distribution(column)
    found = Counter(members)
    match requirement:
        case LDiversity(kind="distinct", l=l):
            return above(float(l) - len(found) - to_come) / float(l)
        case LDiversity(kind="frequency", l=l):
            return surplus(members, final, dict.fromkeys(shares, 1 / float(l)))
        case LDiversity(kind="entropy", l=l):
            counts = [*found.values(), *[1] * to_come]  # each row to come has a value of its own
            entropy = -sum(rows / final * math.log(rows / final) for rows in counts)
            return above(math.log(l) - entropy)
        case LDiversity(l=l, c=c):
            counts = sorted(found.values(), reverse=True)
            rest = final - sum(counts[: int(l) - 1])
            return above(counts[0] - float(c or 0) * rest) / final
        case AlphaK(alpha=alpha, values=listed):
            bounds = {v: float(alpha) if v in (listed or ()) else 1.0 for v in shares}
            return surplus(members, final, bounds)
        case BetaLikeness(beta=beta):
            bounds = {v: p * (1 + min(float(beta), -math.log(p))) for v, p in shares.items()}
            return surplus(members, final, bounds)
        case DeltaDisclosure(delta=delta):
            ratio = math.exp(float(delta))
            total = surplus(members, final, {v: p * ratio for v, p in shares.items()})
            if not to_come:
                total += sum(above(shares[v] / ratio - n / final) for v, n in found.items())
            return total + above(len(shares) - len(found) - to_come) / len(shares)
        case TCloseness(t=t, distance="equal"):
            own = {value: float(share) for value, share in shares.items()}
            return above(surplus(members, final, own) - float(t))
        case TCloseness(t=t, distance="ordered"):
            distance = oracle.ordered_t([members], column)
            return 0.0 if to_come else above(float(distance - Fraction(str(t))))
        case TCloseness(t=t):
            distance = oracle.tree_t([members], PARENT, column)
            return 0.0 if to_come else above(float(distance - Fraction(str(t))))
    raise AssertionError(requirement)


def marks_of(table: EncodedTable) -> kernels.Marks:
    assert table.constraints is not None
    nobody, sorts = np.empty(0, dtype=np.int32), np.arange(table.rows)
    values, rules = table.constraints.values, table.constraints.rules
    no_atoms = np.empty(0, dtype=np.int64)
    return kernels.Marks(nobody, 0.0, values, sorts, *rules, atoms=no_atoms, enough=0)


def encoded(frame: pl.DataFrame, requirement: Requirement) -> EncodedTable:
    return encode(Table(frame), SCHEMA, require=[KAnonymity(2), requirement])


@pytest.mark.parametrize("requirement", MODELS, ids=lambda one: one.name)
@given(data=st.data())
@examples(60)
def test_the_excess_of_a_group_is_what_its_rule_says(
    requirement: Requirement, data: st.DataObject
) -> None:
    places = data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=24), label="column")
    frame = pl.DataFrame(
        {"age": 30, "word": ["abcde"[place] for place in places], "number": places}
    )
    table = encoded(frame, requirement)
    assert table.constraints is not None
    column = frame[str(requirement.column)].to_list()
    codes = table.constraints.values_of(requirement)
    rows = st.integers(0, len(column) - 1)
    group = data.draw(st.lists(rows, min_size=1, max_size=12), label="group")
    leaving = data.draw(st.none() | st.sampled_from(group), label="leaving")
    joining = data.draw(st.none() | rows if len(group) > 1 or leaving is None else rows)
    changed = list(group)
    if leaving is not None:
        changed.remove(leaving)
    if joining is not None:
        changed.append(joining)
    final = len(changed) + data.draw(st.integers(0, 4), label="to come")
    less, more = (-1 if row is None else int(codes[row]) for row in (leaving, joining))
    found = marks_of(table).excess(0, codes[group], less, more, len(changed), final)
    stated = excess(requirement, [column[row] for row in changed], final, column)
    assert found == pytest.approx(stated, abs=2e-9)
    # A change must be judged as the group that it leads to.
    assert found == pytest.approx(
        marks_of(table).excess(0, codes[changed], -1, -1, len(changed), final), abs=1e-12
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"rule": 1},
        {"rule": -1},
        {"members": np.array([2], dtype=np.int32)},
        {"less": 1},
        {"more": 2},
        {"size": 0},
        {"final": 0},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_group_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    frame = pl.DataFrame({"age": 30, "word": ["a", "b"], "number": 0})
    marks = marks_of(encoded(frame, LDiversity(2, on="word")))
    members = np.zeros(1, dtype=np.int32)
    right = {"rule": 0, "members": members, "less": -1, "more": -1, "size": 1, "final": 1}
    assert marks.excess(**right) == 0.5  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        marks.excess(**{**right, **changes})  # type: ignore[arg-type]
