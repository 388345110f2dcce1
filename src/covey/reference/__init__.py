"""Every method in plain Python, as its paper reads: to learn from, to change, to cite.

There is one module for each method. It begins with the paper, what the paper gets wrong or leaves
open, and what covey does about it. `model` has what all methods share, `centres` and `draws` what
some do. Everything is a list or a dictionary, and nothing is optimised: use tables of some hundred
rows.

Nothing here uses any other code of covey, and `covey.METHODS` uses nothing of it. Tests compare
the labels of both. So if you doubt one, read the other.

>>> from covey import reference
>>> table = {"age": reference.Numeric([20, 60, 22, 62])}
>>> reference.cluster(table, 2, method="mdav")
[0, 1, 0, 1]
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from numpy.random import default_rng

from covey.reference.cb import cb
from covey.reference.covey import covey
from covey.reference.gaa_cp import gaa_cp
from covey.reference.ikac import ikac
from covey.reference.k_member import k_member
from covey.reference.kaca import kaca
from covey.reference.kacpc import kacpc
from covey.reference.mdav import mdav
from covey.reference.model import Categorical, Measure, Numeric, Table
from covey.reference.mondrian import mondrian
from covey.reference.nh import nh
from covey.reference.oka import oka
from covey.reference.systematic import systematic
from covey.reference.wf_c_means import wf_c_means

__all__ = ["METHODS", "Categorical", "Numeric", "Table", "cluster"]

# As in covey.METHODS.
METHODS: Mapping[str, Callable[..., Any]] = {
    "covey": covey,
    "k-member": k_member,
    "cb": cb,
    "kacpc": kacpc,
    "mondrian": mondrian,
    "mdav": mdav,
    "oka": oka,
    "ikac": ikac,
    "gaa-cp": gaa_cp,
    "kaca": kaca,
    "nh": nh,
    "wf-c-means": wf_c_means,
    "systematic": systematic,
}


def cluster(
    table: Table,
    k: int,
    *,
    method: str,
    seed: int = 0,
    measure: Measure = "height",
    **options: Any,
) -> list[int]:
    """Return the group of each row, as `covey.cluster` does with the same seed and options.

    Two options hold numbers for each row instead of the name of a column: `classes` of covey and
    k-member, and `sensitive` of cb. For nh, the result is the ring of each row; `METHODS["nh"]`
    also returns what each row is shown with.
    """
    function = METHODS[method]
    takes = signature(function).parameters  # some draw nothing, some do not use the loss
    offered = {"seed": seed, "rng": default_rng(seed), "measure": measure}
    found = function(table, k, **{n: v for n, v in offered.items() if n in takes}, **options)
    labels: list[int] = found[0] if method == "nh" else found
    return labels
