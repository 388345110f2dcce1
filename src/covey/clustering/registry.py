"""The methods by name: covey's own, those of this process, and those that packages bring.

`METHODS` looks for packages only when a name is not covey's own or when all methods are listed, so
that a release by one of covey's own methods never waits for them.
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

from covey.clustering.papers import cited
from covey.clustering.progress import Progress, silent
from covey.encoding import EncodedTable
from covey.encoding.groups import SUPPRESSED, Groups, Rings
from covey.errors import GuaranteeError, InfeasibleError, UsageError, count
from covey.schema.requirements import Requirement

GROUP = "covey.methods"  # the entry points by which packages bring methods


@dataclass(frozen=True)
class Method:
    """A clustering method and what a user should know before choosing it."""

    name: str
    function: Callable[..., Any]  # gives Groups or labels; Rings, if the rows are not shown alike
    summary: str = ""  # by default the first line of the function's docstring
    paper: str = ""  # authors and year; those of the BibTeX entry, unless it says otherwise
    cost: str = ""
    specified: bool = True  # in full by its paper; else inferred in part
    alike: bool = True  # whether the rows of a group are shown alike, as k-anonymity has it
    keeps_constraints: bool = False  # whether its groups keep what the table is asked for besides k
    # What its groups keep besides k, by the options that it is given and the sensitive columns.
    keeps: Callable[[Mapping[str, Any], Sequence[str]], Sequence[Requirement]] | None = None
    bibtex: str = ""
    is_own: bool = False  # one of covey's

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
        """Cluster; groups that are too small or have not every row once are refused."""
        refuse_infeasible(table.rows, k)
        handed = {"seed": seed if self.is_own else small_seed(seed), "progress": progress}
        taken = {name: value for name, value in handed.items() if _takes(self.function, name)}
        found = self.function(table, k, **taken, **options)
        if isinstance(found, Rings) and self.alike:
            raise UsageError(
                "rows that are not alike are released only by a method called by its name"
            )
        groups = found if isinstance(found, Groups | Rings) else self._labelled(found)
        if len(groups) != table.rows:
            raise GuaranteeError(
                f"the method {self.name!r} returned labels of {count(len(groups), 'row')}; the "
                f"table has {count(table.rows, 'row')}"
            )
        if groups.smallest < k:
            raise GuaranteeError(
                f"the method {self.name!r} formed a group that is too small: "
                f"{count(groups.smallest, 'row')}, and k = {k:,}"
            )
        return groups

    def _labelled(self, found: Any) -> Groups:
        """Groups of plain labels: whole numbers, with or without gaps, -1 for suppressed rows."""
        try:
            labels = np.asarray(found)
        except ValueError:  # lists of different lengths
            labels = np.empty(())
        whole = labels.ndim == 1 and (np.issubdtype(labels.dtype, np.integer) or not labels.size)
        if not whole or (labels.size and labels.min() < SUPPRESSED):
            raise UsageError(
                f"the method {self.name!r} must return Groups, or one whole number per row, -1 or "
                "more"
            )
        groups = np.full(len(labels), SUPPRESSED, dtype=np.int64)
        kept = labels != SUPPRESSED
        groups[kept] = np.unique(labels[kept], return_inverse=True)[1]
        return Groups(groups)


def small_seed(seed: int) -> int:
    """A seed below 2**32, which scikit-learn and others take.

    covey's own methods keep the whole seed: 32 bits could be searched through, to run a release
    again without its key. What protects the releases of other methods is the order of the rows,
    which are shuffled under the whole seed before any method sees them.
    """
    if 0 <= seed < 2**32:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0])


def _takes(function: Callable[..., Any], name: str) -> bool:
    known = inspect.signature(function).parameters
    return name in known or any(one.kind is one.VAR_KEYWORD for one in known.values())


def refuse_infeasible(rows: int, k: int) -> None:
    """No grouping of fewer than `k` rows has groups of `k`."""
    if not 1 <= k <= rows:
        raise InfeasibleError(
            f"k = {k:,} cannot be had: it needs at least {k:,} rows, and the table has "
            f"{count(rows, 'row')}"
        )


# ── by name ─────────────────────────────────────────────────────────────────────────────────────


class Methods(UserDict[str, Method]):
    """Methods by name. Those of packages are loaded once, when a listing or a name needs them."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[str, str] = {}  # of the methods of packages that could not be loaded
        self._looked = False

    def add(self, method: Method) -> Method:
        """Make a method known by its name; covey's own stay what they are."""
        if not re.fullmatch(r"\w[\w.+-]*", method.name) or method.name == "all":
            raise UsageError(
                f"{method.name!r} cannot name a method: use letters, digits, '-', '_', '.' or '+', "
                "and not 'all'"
            )
        if method.name in self.data and self.data[method.name].is_own:
            raise UsageError(f"{method.name!r} is one of covey's own methods; choose another name")
        self.data[method.name] = method
        return method

    def __missing__(self, name: str) -> Method:
        self._look()
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        if name not in self.data:
            self._look()
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        self._look()
        return iter(self.data)

    def __len__(self) -> int:
        self._look()
        return len(self.data)

    def _look(self) -> None:
        """Load what packages bring; one that cannot be loaded does not keep the others away."""
        if self._looked:
            return
        self._looked = True
        for entry in entry_points(group=GROUP):
            try:
                self.add(_brought(entry))
            except Exception as error:
                self.faults[entry.name] = (
                    f"the method {entry.name!r} of the package "
                    f"{entry.dist.name if entry.dist else entry.module!r} could not be loaded: "
                    f"{type(error).__name__}: {error}"
                )
        for fault in self.faults.values():
            warnings.warn(fault, stacklevel=3)


def _brought(entry: EntryPoint) -> Method:
    found = entry.load()
    if isinstance(found, Method):
        return found
    if not callable(found):
        raise UsageError(f"{entry.value} is not a function")
    return Method(entry.name, found)


METHODS = Methods()


def method_named(name: str) -> Method:
    """The method of this name."""
    if name in METHODS:
        return METHODS[name]
    fault = METHODS.faults.get(name)
    raise UsageError(fault or f"there is no method {name!r}; there are {', '.join(METHODS)}")


def as_method(method: str | Method | Callable[..., Any]) -> Method:
    """A method by its name, as it is, or as somebody's function."""
    if isinstance(method, str):
        return method_named(method)
    if isinstance(method, Method):
        return method
    if not callable(method):
        raise UsageError("a method is a name, a function, or an entry of covey.METHODS")
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
    """Make a function known as a clustering method, as `@method` or as `@method(name="…")`.

    The function takes `(table, k)`, by keywords the `seed` and `progress` if it names them, and
    its own options; it gives `Groups` or one label per row. The name is the function's own unless
    one is given. Further facts are those of `Method`, such as `paper`, `cost` and `bibtex`. The
    method is known in this process; a package brings one to all by an entry point in the group
    `covey.methods`.
    """

    def known(function: Callable[..., Any]) -> Method:
        return METHODS.add(Method(name or _name_of(function), function, **facts))

    return known if function is None else known(function)


def bibliography() -> str:
    """BibTeX entries for covey and the papers of all methods, each once."""
    entries = (
        one.bibtex or f"@misc{{{one.name},\n  note = {{{one.paper}}},\n}}"
        for one in METHODS.values()
        if one.bibtex or one.paper
    )
    return "\n\n".join(dict.fromkeys(entries)) + "\n"
