"""Repair of groups that miss a constraint, between the method and the release.

Any method may form groups that miss a requirement. Here each such group exchanges rows with others
or merges with one, by the moves of the covey method. Groups that meet the constraints change only
if another group needs their rows.
"""

from covey.clustering import keep_constraints, refined
from covey.clustering.progress import Progress
from covey.clustering.request import Request
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups
from covey.encoding.selection import Selection


def repair(
    table: EncodedTable, groups: Groups, request: Request, seed: int, progress: Progress
) -> Groups:
    """Groups of the released rows that meet the constraints; `refine` also lowers their loss.

    A constraint may depend on the distribution of values in the released rows. So if rows were
    suppressed, it is checked again, even in groups that met it before.
    """
    kept = Selection.released(groups)
    done = table.constraints is None or (request.method.keeps_constraints and kept.is_all)
    if done and not request.refine:
        return groups
    some = table if kept.is_all else table.take(kept.rows)
    finish = refined if request.refine else keep_constraints
    found = finish(some, request.k, groups.released(), seed=seed, progress=progress)
    return kept.back(found)
