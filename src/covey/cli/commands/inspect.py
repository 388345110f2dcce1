from pathlib import Path
from typing import Annotated

from typer import Option

from covey.cli.files import read, refuse_overwriting
from covey.cli.options import Format, TablePath, command
from covey.cli.terminal import give, say
from covey.errors import OutputError


@command("Draft a schema: the role, type, grid and bounds of each column, with the reasons.")
def inspect(
    *,
    table: TablePath,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="TOML", help="Write the draft to this file.")
    ] = None,
    k: Annotated[
        int, Option("-k", metavar="K", help="Draft bounds with fewer than K rows beyond them.")
    ] = 10,
    taxonomies: Annotated[
        Path | None, Option(metavar="FOLDER", help="Taxonomy files named after columns.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing draft.")] = False,
    format: Format,
) -> None:
    from covey import inspection
    from covey.tables import files

    declared = format.declared()
    if output is not None:
        refuse_overwriting([output], table)
        if output.exists() and not force:
            raise OutputError("the draft already exists: pass --force to replace it")
    draft = inspection.inspect(read(table, declared=declared), k=k, taxonomies=taxonomies)
    if output is None:
        give(draft.to_toml(), toml=True)
        return
    files.write(output, draft.to_toml(output.resolve().parent).encode())
    roles = [column.column.role.value for column in draft.columns]
    counts = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
    say(f"{len(roles)} columns drafted ({counts}); check every role before you use the draft")
