"""Options that give columns their roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option


@dataclass(frozen=True)
class GivenRoles:
    """The roles of columns as given on the command line; the others are drafted."""

    quasi: Annotated[
        list[str] | None,
        Option(metavar="COLUMNS", help="Others may know these columns: a,b; repeatable."),
    ] = None
    sensitive: Annotated[
        list[str] | None, Option(metavar="COLUMNS", help="Nobody should learn these columns.")
    ] = None
    identifier: Annotated[
        list[str] | None, Option(metavar="COLUMNS", help="These columns name people: removed.")
    ] = None
    insensitive: Annotated[
        list[str] | None, Option(metavar="COLUMNS", help="These columns are harmless.")
    ] = None
    rest: Annotated[
        str | None, Option(metavar="ROLE", help="Role of all other columns, instead of a draft.")
    ] = None

    def among(self, names: Sequence[str]) -> dict[str, Any]:
        """The arguments of `covey.inspect` for a table with these columns."""
        given = {**vars(self)}
        rest = given.pop("rest")
        return {"rest": rest, **{role: _listed(said, names) for role, said in given.items()}}


def _listed(said: Sequence[str] | None, names: Sequence[str]) -> list[str]:
    """The columns of `a,b`; a text that is a name as a whole is that column, even with a comma."""
    listed: list[str] = []
    for text in said or ():
        listed += [text] if text in names else [name.strip() for name in text.split(",") if name]
    return listed
