"""What a custodian may choose for a release, as keywords: one list for all ways to ask for it.

`anonymize`, `curve`, `compare`, the command line and the studio take these keywords.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from covey import tables
from covey.clustering.objectives import Aims
from covey.clustering.request import Request, options_among
from covey.custody.keys import Key
from covey.encoding import Style
from covey.errors import SchemaError, UsageError
from covey.inspection.named import Names, described
from covey.release import Writing
from covey.schema import Schema
from covey.schema.requirements import Requirement


class GivenColumns(TypedDict, total=False):
    """The columns by name, instead of a schema, and rows that are no people.

    `quasi` may be known to others and are generalised, `sensitive` and `insensitive` are kept, all
    others are removed (`rest` gives them another role). Types and grids are then drafted as
    `inspect` does; `quasi={"age": {"type": "numeric", "grid": 5}}` sets them. `drop_rows` and
    `keep_rows` list kinds of rows that are no people ("totals", "headers", "notes", "blank"), to be
    left out or released as people.
    """

    quasi: Names | None
    sensitive: Names | None
    identifier: Sequence[str] | None
    insensitive: Sequence[str] | None
    drop: Sequence[str] | None
    rest: str | None
    drop_rows: Sequence[str] | None
    keep_rows: Sequence[str] | None


class Models(TypedDict, total=False):
    """The requirements, which replace those of the schema.

    `k` is the smallest number of rows in a class, or of persons if `person` names the column that
    identifies them; with `limit_share`, no person has more than 1/k of the rows of a class. `l` and
    `t` map a sensitive column to its l-diversity or t-closeness; a number is enough if there is
    only one. `minimality="accept"` allows a k that is too small for rows of rare values: groups
    then show more of them.
    """

    k: int | None
    l: Any  # noqa: E741 - its name in the literature
    t: Any
    person: str | Literal[False] | None
    limit_share: bool | None
    minimality: Literal["refuse", "accept"] | None


class MethodChoices(TypedDict, total=False):
    """How groups are formed.

    `method` is a name in `METHODS` or such a function; `effort` ("fast", "quick", "balanced" or
    "best"), `budget` in seconds, `max_suppressed` as a share of the rows, and all that follow are
    its options; a method of your own may have others. `objective` is what groups are formed for:
    "loss", "sse" (means), "discernibility", "classification" or "uses" (those that the schema
    declares), or several with weights, as `{"loss": 1, "classification": 0.5}`. The groups avoid
    mixing the values of `class_column`, if the method supports that. With `refine`, the covey
    method improves the groups of another method while that lowers the loss, or the `objective`.

    Random choices are drawn with the custodian's `key` (a file, 32 bytes, or by default the one in
    the user's data folder). The same request gives the same release, and no one without the key can
    repeat it. A `seed` replaces the key in experiments; anyone who guesses it can repeat the run.
    """

    method: str | Callable[..., Any]
    class_column: str | None
    objective: Aims | None
    refine: bool
    key: Key | bytes | str | Path | None
    seed: int | None
    effort: str | None
    budget: float | None
    max_suppressed: float | None
    penalty: float
    evenness: float
    reserve: int
    seed_ref: str
    penalise_leftovers: bool
    tries: int
    restarts: int
    categorical: str
    normalise: bool
    relaxed: bool
    beta: float
    iterations: int


class Choices(GivenColumns, Models, MethodChoices, total=False):
    """All about the released rows.

    `require` takes requirements as objects. `keep_order` releases the rows in the input's order,
    which reveals whose row is whose to anyone who knows that order.

    With `follow`, people whom the releases in the register showed together stay together, and
    nothing is released if anyone has fewer than k candidates in all releases combined; rows of
    people who have lost too many of their class are left out, unless `shrunk` is "keep": then the
    release says how many have fewer. With `only_new`, only people are released whom no release in
    the register has. `reserve` makes groups of k + reserve rows, so that some may leave before the
    next release.
    """

    require: Requirement | Sequence[Requirement] | None
    style: Style
    keep_order: bool
    follow: bool
    only_new: bool
    shrunk: Literal["leave-out", "keep"]


class Keywords(Choices, Writing, total=False):
    """All keywords of `anonymize`; those of `Writing`, other than `register`, need `to`.

    With `utility`, the report also says what the release is good for, as `covey.utility` does; that
    takes some seconds more. A table in parts is divided into parts of about `part_rows` similar
    rows. After a crash, `resume` continues where the same request stopped. `price` says in the
    report what it costs to follow: the same rows are also released from scratch, which nobody sees.
    """

    part_rows: int
    resume: bool
    price: bool
    utility: bool


_SETTINGS = ("class_column", "objective", "refine", "style", "keep_order")


@dataclass(frozen=True, eq=False, repr=False)
class TableRequest:
    """A checked request for a release of a table."""

    table: Any  # as it was given, or as read for a draft of its schema
    schema: Schema
    request: Request
    notes: list[str]

    @classmethod
    def of(cls, table: Any, schema: Schema | None, choices: Mapping[str, Any]) -> "TableRequest":
        """Check the choices; what is not known is an option of the method."""
        rest = dict(choices)
        method, require = rest.pop("method", "covey"), rest.pop("require", None)
        settings = popped(rest, _SETTINGS)
        roles = popped(rest, GivenColumns.__annotations__)
        models = popped(rest, Models.__annotations__)
        releases = popped(rest, ("reserve", "shrunk"))
        if (composition := composition_of(**popped(rest, ("follow", "only_new")))) is not None:
            releases["composition"] = composition
        own = options_among(method, models | (roles if schema is not None else {}))
        roles, models = (
            {name: value for name, value in given.items() if name not in own}
            for given in (roles, models)
        )
        table, known, notes = described_by(table, schema, roles, models.get("k"))
        options = {name: value for name, value in (rest | own).items() if value is not None}
        requirements = known.requirements(require, **models)
        known = known.requiring(**models, **releases)
        return cls(
            table, known, Request.of(known, requirements, method, options, **settings), notes
        )


def composition_of(*, follow: bool = False, only_new: bool = False) -> str | None:
    """What is required of all releases together; None for what the schema says."""
    if follow and only_new:
        raise UsageError("follow releases everyone, only_new (--only-new) new people: choose one")
    return "follow" if follow else "only-new" if only_new else None


def popped(given: dict[str, Any], names: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Take the values with these names out of those that were given."""
    return {name: given.pop(name) for name in names if name in given}


def described_by(
    table: Any,
    schema: Schema | None,
    columns: Mapping[str, Any],
    k: int | None = None,
) -> tuple[Any, Schema, list[str]]:
    """The table and its schema, drafted from the roles of its columns if there is none."""
    roles = dict(columns)
    rows = popped(roles, ("drop_rows", "keep_rows"))
    form = Schema.from_dict({"columns": {}, "table": rows}).table
    if schema is None:
        return described(tables.read(table, declared=form), **{"quasi": None, **roles}, k=k)
    if not isinstance(schema, Schema):
        raise SchemaError("make the schema with covey.Schema.from_toml or covey.Schema.of")
    if any(given is not None for given in roles.values()):
        raise SchemaError("the schema has the roles of the columns: pass either it or their names")
    return table, schema.model_copy(update={"table": schema.table.declaring(form)}), []
