"""Options that give columns their roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from covey.cli.files import read
from covey.cli.options import Format, Original, schema_beside
from covey.cli.terminal import say
from covey.errors import UsageError, count, nearest

if TYPE_CHECKING:
    from covey.schema import Schema
    from covey.tables import Table


ROLES = ("quasi", "sensitive", "identifier", "insensitive", "drop")


@dataclass(frozen=True)
class GivenRoles:
    """The roles of columns as given on the command line; the others are drafted."""

    heading: ClassVar[str] = "Roles of the columns"

    quasi: list[str] | None = None
    sensitive: list[str] | None = None
    identifier: list[str] | None = None
    insensitive: list[str] | None = None
    drop: list[str] | None = None
    rest: str | None = None

    @property
    def are_given(self) -> bool:
        """Whether any role is given."""
        return self != GivenRoles()

    def opened(
        self, source: Original, format: Format, k: int | None = None
    ) -> tuple["Table | None", "Schema", list[Path]]:
        """The schema of a table, and its file; without a file, also the table without the rest."""
        from covey.inspection.named import described

        if not self.are_given:
            return None, format.schema(path := schema_beside(source.table, source.schema)), [path]
        if source.schema is not None:
            raise UsageError("the schema has the roles of the columns: pass either it or them")
        table = read(source.table, declared=format.declared())
        slim, schema, doubts = described(table, **self.among(table.frame.columns), k=k)
        for doubt in doubts:
            say(doubt)
        return slim, schema, []

    def of_release(self, names: Sequence[str]) -> "Schema":
        """The schema of a released table, whose cells are judged as they are written."""
        from covey.schema import Schema

        given: dict[str, Any] = self.among(names)
        absent = [n for role in ROLES for n in given[role] if n not in names]
        if absent:
            raise UsageError(f"the table has no column {absent[0]!r}{nearest(absent[0], names)}")
        others = [n for n in names if not any(n in given[role] for role in ROLES)]
        rest = given.pop("rest")
        if rest is None and others:
            raise UsageError(
                f"{count(len(others), 'column')} without a role, first {others[0]!r}; name them, "
                "or pass --rest insensitive if they are harmless"
            )
        rest = rest or "insensitive"
        if rest not in ROLES:
            raise UsageError(f"rest must be one of {', '.join(ROLES)}")
        given[rest] = [*given[rest], *others]
        return Schema.of(**{**given, "quasi": dict.fromkeys(given["quasi"], "categorical")})

    def among(self, names: Sequence[str]) -> dict[str, Any]:
        """The arguments of `covey.inspect` for a table with these columns."""
        return {"rest": self.rest, **{r: _listed(getattr(self, r), names) for r in ROLES}}


def _listed(texts: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """The columns of `a,b`; a text that is a name as a whole is that column, even with a comma."""
    listed: list[str] = []
    for text in texts or ():
        listed += [text] if text in names else [name.strip() for name in text.split(",") if name]
    return listed
