"""The methods by name: built-in ones, those defined in this process, and those of packages.

`METHODS` searches packages only for a name that is not built in, or to list all methods. So a
release by a built-in method never waits for them.
"""

import inspect
import re
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, overload

import numpy as np

from covey._core.arrays import Longs
from covey.clustering.papers import cited
from covey.clustering.progress import Progress, silent
from covey.encoding import EncodedTable
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.errors import GuaranteeError, InfeasibleError, UsageError, count
from covey.schema.requirements import Requirement

GROUP = "covey.methods"  # the entry-point group in which packages register methods


@dataclass(frozen=True)
class Method:
    """A clustering method and what a user should know before choosing it."""

    name: str
    function: Callable[..., Any]  # returns Groups or labels; Rings, if not `alike`
    summary: str = ""  # by default the first line of the function's docstring
    paper: str = ""  # authors and year; by default those of the BibTeX entry
    cost: str = ""
    specified: bool = True  # whether its paper specifies it fully; if not, partly inferred
    alike: bool = True  # whether rows of a group are released equal, as k-anonymity requires
    keeps_constraints: bool = False  # whether its groups meet requirements other than k
    # The guarantees of its groups other than k, from its options and the sensitive columns.
    keeps: Callable[[Mapping[str, Any], Sequence[str]], Sequence[Requirement]] | None = None
    bibtex: str = ""
    is_own: bool = False  # built in

    def __post_init__(self) -> None:
        object.__setattr__(self, "paper", self.paper or cited(self.bibtex))
        documented = (self.function.__doc__ or "").strip().partition("\n")[0]
        object.__setattr__(self, "summary", self.summary or documented)

    def __call__(
        self,
        table: EncodedTable,
        k: int,
        *,
        seed: int = 0,
        progress: Progress = silent,
        **options: Any,
    ) -> Groups | Rings:
        """Cluster the rows; refuse groups that are too small or do not cover the table."""
        refuse_infeasible(table.rows, k)
        offered = {"seed": seed if self.is_own else small_seed(seed), "progress": progress}
        keywords = {name: value for name, value in offered.items() if _takes(self.function, name)}
        found = self.function(table, k, **keywords, **options)
        if isinstance(found, Rings) and self.alike:
            raise UsageError(
                "only a method chosen by name may return Rings, which do not make rows equal"
            )
        groups = found if isinstance(found, Groups | Rings) else self._labelled(found)
        if len(groups) != table.rows:
            raise GuaranteeError(
                f"the method {self.name!r} returned labels for {count(len(groups), 'row')}, but "
                f"the table has {count(table.rows, 'row')}"
            )
        if groups.smallest < k:
            raise GuaranteeError(
                f"the method {self.name!r} formed a group of only "
                f"{count(groups.smallest, 'row')}, but k = {k:,}"
            )
        if table.atoms is not None and not _are_together(table.atoms, groups):
            raise UsageError(
                f"the method {self.name!r} separates rows that must stay together: use the method "
                "covey"
            )
        return groups

    def _labelled(self, found: Any) -> Groups:
        """Make groups from labels: whole numbers, with or without gaps, -1 for suppressed rows."""
        try:
            labels = np.asarray(found)
        except ValueError:  # lists of different lengths
            labels = np.empty(())
        whole = labels.ndim == 1 and (np.issubdtype(labels.dtype, np.integer) or not labels.size)
        if not whole or (labels.size and labels.min() < SUPPRESSED):
            raise UsageError(
                f"the method {self.name!r} must return Groups, or one whole number per row: -1 to "
                "suppress the row, otherwise the number of its group"
            )
        groups = np.full(len(labels), SUPPRESSED, dtype=np.int64)
        kept = labels != SUPPRESSED
        groups[kept] = np.unique(labels[kept], return_inverse=True)[1]
        return Groups(groups)


def small_seed(seed: int) -> int:
    """A seed below 2**32, as scikit-learn and others require.

    Built-in methods use the whole seed: an attacker could try all 32-bit seeds to repeat a release
    without its key. The releases of other methods are protected by the order of the rows, which
    covey shuffles with the whole seed before any method sees them.
    """
    if 0 <= seed < 2**32:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0])


def _are_together(atoms: Longs, groups: Groups | Rings) -> bool:
    """Whether all rows of each atom are in the same group."""
    known = atoms >= 0
    pairs = np.unique(np.stack([atoms[known], groups.labels[known]]), axis=1)
    return len(np.unique(pairs[0])) == pairs.shape[1] and bool((pairs[1] >= 0).all())


def _takes(function: Callable[..., Any], name: str) -> bool:
    known = inspect.signature(function).parameters
    return name in known or any(one.kind is one.VAR_KEYWORD for one in known.values())


def refuse_infeasible(rows: int, k: int) -> None:
    """Refuse a k for which the table has too few rows."""
    if not 1 <= k <= rows:
        raise InfeasibleError(f"k = {k:,} is not possible: the table has only {count(rows, 'row')}")


# ── by name ─────────────────────────────────────────────────────────────────────────────────────


class Methods(UserDict[str, Method]):
    """Methods by name. Those of packages are loaded once, when a name or a list needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[str, str] = {}  # why methods of packages could not be loaded
        self._searched = False

    def add(self, method: Method) -> Method:
        """Register a method under its name; built-in methods cannot be replaced."""
        if not re.fullmatch(r"\w[\w.+-]*", method.name) or method.name == "all":
            raise UsageError(
                f"{method.name!r} is not a valid name of a method: use letters, digits, '-', '_', "
                "'.' or '+'; 'all' is reserved"
            )
        if method.name in self.data and self.data[method.name].is_own:
            raise UsageError(f"{method.name!r} is a built-in method of covey; choose another name")
        self.data[method.name] = method
        return method

    def __missing__(self, name: str) -> Method:
        self._search()
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        if name not in self.data:
            self._search()
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter(self.data)

    def __len__(self) -> int:
        self._search()
        return len(self.data)

    def _search(self) -> None:
        """Load the methods of packages; if one fails, the others are still loaded."""
        if self._searched:
            return
        self._searched = True
        for entry in entry_points(group=GROUP):
            try:
                self.add(_loaded(entry))
            except Exception as error:
                self.faults[entry.name] = (
                    f"the method {entry.name!r} of the package "
                    f"{entry.dist.name if entry.dist else entry.module!r} could not be loaded: "
                    f"{type(error).__name__}: {error}"
                )
        for fault in self.faults.values():
            warnings.warn(fault, stacklevel=3)


def _loaded(entry: EntryPoint) -> Method:
    found = entry.load()
    if isinstance(found, Method):
        return found
    if not callable(found):
        raise UsageError(f"{entry.value} is not a function")
    return Method(entry.name, found)


METHODS = Methods()


def method_named(name: str) -> Method:
    """Find a method by name."""
    if name in METHODS:
        return METHODS[name]
    fault = METHODS.faults.get(name)
    raise UsageError(fault or f"there is no method {name!r}; the methods are {', '.join(METHODS)}")


def as_method(method: str | Method | Callable[..., Any]) -> Method:
    """Convert a name, a method or a function to a method."""
    if isinstance(method, str):
        return method_named(method)
    if isinstance(method, Method):
        return method
    if not callable(method):
        raise UsageError("a method must be a name, a function, or an entry of covey.METHODS")
    return Method(_name_of(method), method)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "name", getattr(function, "__name__", "custom")))


@overload
def method(function: Callable[..., Any], /) -> Method: ...


@overload
def method(*, name: str | None = None, **facts: Any) -> Callable[[Callable[..., Any]], Method]: ...


def method(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, **facts: Any
) -> Method | Callable[[Callable[..., Any]], Method]:
    """Register a function as a clustering method, with `@method` or `@method(name="…")`.

    The function takes `(table, k)`, the keywords `seed` and `progress` if it names them, and its
    own options. It returns `Groups` or one label per row. By default, the method has the name of
    the function. Further arguments are fields of `Method`, such as `paper`, `cost` and `bibtex`.
    The method is registered in this process only; a package registers one for every process by an
    entry point in the group `covey.methods`.
    """

    def known(function: Callable[..., Any]) -> Method:
        return METHODS.add(Method(name or _name_of(function), function, **facts))

    return known if function is None else known(function)


def bibliography() -> str:
    """BibTeX entries for covey and the papers of all methods, without duplicates."""
    entries = (
        one.bibtex or f"@misc{{{one.name},\n  note = {{{one.paper}}},\n}}"
        for one in METHODS.values()
        if one.bibtex or one.paper
    )
    return "\n\n".join(dict.fromkeys(entries)) + "\n"
