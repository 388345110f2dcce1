"""GAA-CP, which gathers all nearest rows at once (specification B6)."""

from covey.reference.centres import Rng, below, check_k, rise
from covey.reference.k_member import labels_of
from covey.reference.model import Measure, Table, record_loss


def gaa_cp(table: Table, k: int, *, rng: Rng, measure: Measure = "height") -> list[int]:
    """Return the group of each row; groups are numbered in order of formation."""
    n = check_k(table, k)
    free = list(range(n))  # always ascending
    groups: list[list[int]] = []
    while len(free) >= k:
        group = [free.pop(below(rng, len(free)))]
        while len(group) < k:
            loss = {row: record_loss(table, [*group, row], measure) for row in free}
            least = min(loss.values())
            group += [row for row in free if loss[row] == least]
            free = [row for row in free if loss[row] != least]
        groups.append(group)
    for row in free:
        home = min(groups, key=lambda group: rise(table, group, row, measure))
        home.append(row)
    return labels_of(groups, n)
