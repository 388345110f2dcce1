from pathlib import Path

from covey.cli.files import read, refuse_overwriting
from covey.cli.options import Format, command
from covey.cli.roles import GivenRoles
from covey.cli.terminal import err, give
from covey.errors import OutputError


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
    files.write(output, draft.to_toml(output.resolve().parent).encode())
    show_draft(draft, table, output, err)
