"""Groups that keep every constraint: between the method and the release.

Any method may form groups that miss a requirement. Here each such group takes in rows of others or
merges with one, by the moves of covey's own method. Groups that keep the constraints stay as they
are.
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
    """Groups that keep the constraints, and with `refine` lose less, of the rows to be released.

    A constraint may depend on how values are spread over the released rows, so it is looked at
    again where rows were suppressed, also in groups that kept it before.
    """
    kept = Selection.released(groups)
    done = table.constraints is None or (request.method.keeps_constraints and kept.is_all)
    if done and not request.refine:
        return groups
    some = table if kept.is_all else table.take(kept.rows)
    finish = refined if request.refine else keep_constraints
    found = finish(some, request.k, groups.released(), seed=seed, progress=progress)
    return kept.back(found)
