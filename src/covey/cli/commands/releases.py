from typing import Annotated

from typer import Argument

from covey.cli.files import register_at
from covey.cli.options import AsJson, RegisterPath, command
from covey.cli.shown import show_releases
from covey.cli.terminal import give_json, out, say
from covey.errors import count


@command("List the releases in the register.")
def releases(*, register: RegisterPath = None, as_json: AsJson = False) -> None:
    known = register_at(register)
    entries = known.releases()
    if as_json:
        found = {"register": str(known.path), "releases": [entry.to_dict() for entry in entries]}
        give_json(found, ensure_ascii=False)
    elif entries:
        show_releases(entries)
    else:
        out.print("the register has no releases")


@command("Remove releases that were never published from the register.")
def forget(
    *,
    ids: Annotated[list[str], Argument(metavar="ID...", help="IDs, as shown by `covey releases`.")],
    register: RegisterPath = None,
) -> None:
    register_at(register).forget(*ids)
    say(f"{count(len(ids), 'release')} forgotten: new releases are no longer checked against them")
