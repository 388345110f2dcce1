import contextlib
from collections.abc import Sequence
from pathlib import Path

from covey.cli.files import read, refuse_overwriting
from covey.cli.options import Format, command
from covey.cli.roles import GivenRoles
from covey.cli.terminal import err, give
from covey.errors import OutputError, SchemaError


@command("Draft a schema: the role, type, grid and bounds of each column, with the reasons.")
def inspect(
    *,
    table: str,
    output: Path | None = None,
    k: int = 10,
    taxonomies: Path | None = None,
    force: bool = False,
    roles: GivenRoles,
    format: Format,
) -> None:
    from covey import inspection
    from covey.cli.shown_inspection import show_draft
    from covey.tables import files

    declared = format.declared()
    if output is not None:
        refuse_overwriting([output], table)
        if output.exists() and not force:
            raise OutputError("the draft already exists: pass --force to replace it")
    original = read(table, declared=declared)
    given = roles.among(original.frame.columns)
    draft = inspection.inspect(original, **given, k=k, taxonomies=taxonomies)
    draft = draft.declaring(declared)
    if output is None:
        give(draft.to_toml(), toml=True)
        return
    draft = draft.keeping(_declared_in(output))
    files.write(output, draft.to_toml(output.resolve().parent).encode())
    show_draft(draft, table, output, err)


def _declared_in(path: Path) -> Sequence[str]:
    """The uses that are declared in a schema file, which a draft replaces."""
    from covey.schema import Schema

    with contextlib.suppress(SchemaError):
        return Schema.from_toml(path).uses if path.exists() else ()
    return ()
