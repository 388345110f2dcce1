"""Repair of groups that miss a constraint, between the method and the release.

Any method may form groups that miss a requirement. Here each such group exchanges rows with others
or merges with one, by the moves of the covey method. Groups that meet the constraints change only
if another group needs their rows.
"""

from functools import partial

from covey.clustering import keep_constraints, refined
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.encoding import EncodedTable
from covey.encoding.groups import AnyGroups, Rings
from covey.encoding.selection import Selection


def repair(
    table: EncodedTable,
    groups: AnyGroups,
    request: Request,
    seed: int,
    progress: Progress,
    *,
    again: bool = False,
) -> AnyGroups:
    """Groups that meet the constraints; with `refine`, their loss falls too.

    Those of a method that keeps constraints are repaired only `again`, when the frequencies of the
    table have changed.
    """
    if isinstance(groups, Rings):
        return groups
    table = table.without_gaps
    done = table.constraints is None or (request.method.keeps_constraints and not again)
    if done and not request.refine:
        return groups
    kept = Selection.released(groups)
    some = table if kept.is_all else table.take(kept.rows)
    finish = partial(refined, objective=request.aim) if request.refine else keep_constraints
    return kept.back(finish(some, request.k, groups.released(), seed=seed, progress=progress))
