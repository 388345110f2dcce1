"""Repair of groups that miss a constraint, between the method and the release.

Any method may form groups that miss a requirement. Here each such group exchanges rows with others
or merges with one, by the moves of the covey method. Groups that meet the constraints change only
if another group needs their rows.
"""

from typing import overload

from covey.clustering import keep_constraints, refined
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups, Rings
from covey.encoding.selection import Selection
from covey.measures.objective import objective


@overload
def repair(
    table: EncodedTable, groups: Groups, request: Request, seed: int, progress: Progress
) -> Groups: ...
@overload
def repair(
    table: EncodedTable, groups: Groups | Rings, request: Request, seed: int, progress: Progress
) -> Groups | Rings: ...
def repair(
    table: EncodedTable, groups: Groups | Rings, request: Request, seed: int, progress: Progress
) -> Groups | Rings:
    """Groups that meet the constraints; with `refine`, their loss falls too.

    A constraint may depend on the distribution of values in the released rows. So if the method
    suppressed rows, groups that met it before may have to change, and that may cost more than the
    method saved: then groups of all rows are formed as well, and the cheaper ones are taken.
    """
    if isinstance(groups, Rings):
        return groups
    repaired = _repaired(table.without_gaps, groups, request, seed, progress)
    if repaired is groups or not (request.suppresses and groups.suppressed):
        return repaired
    if objective(table, repaired) <= objective(table, groups):
        return repaired
    alone = request.suppressing(0.0)
    whole = alone.cluster(table, seed, progress)
    assert isinstance(whole, Groups)
    return min(
        repaired,
        repair(table, whole, alone, seed, progress),
        key=lambda found: objective(table, found),
    )


def _repaired(
    table: EncodedTable, groups: Groups, request: Request, seed: int, progress: Progress
) -> Groups:
    kept = Selection.released(groups)
    done = table.constraints is None or (request.method.keeps_constraints and kept.is_all)
    if done and not request.refine:
        return groups
    some = table if kept.is_all else table.take(kept.rows)
    finish = refined if request.refine else keep_constraints
    found = finish(some, request.k, groups.released(), seed=seed, progress=progress)
    return kept.back(found)
