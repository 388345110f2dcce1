"""GAA-CP: grow groups from random rows, adding all nearest rows at once.

Jiang, Zeng, Ma: Greedy clustering-anonymity method for privacy preservation of table
data-publishing, Journal of Software 2017.

The text of the paper was not available. The steps come from its abstract (add the row that adds
least loss; groups of k rows or slightly more) and from the description by Wang, He and Zhu (2022):
random, and it "gathers multiple records at once". covey reads the latter as all rows with exactly
the same least loss. A row left over joins the group whose loss it raises least.

Cost: O(n²) evaluations of the loss.
"""

from covey.reference.draws import Rng, below
from covey.reference.model import Measure, Table, check_k, labels_of, record_loss, rise


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
