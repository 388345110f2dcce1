import contextlib
from typing import Annotated

from typer import Argument, Option

from covey.cli.options import command
from covey.cli.terminal import give, say


@command("Do the whole way in a browser, on this machine alone.")
def studio(
    *,
    table: Annotated[
        str | None, Argument(metavar="[TABLE]", help="File to open, FILE::SHEET for a sheet.")
    ] = None,
    port: Annotated[
        int, Option(metavar="PORT", min=0, max=65535, help="Port; by default any free one.")
    ] = 0,
    no_browser: Annotated[
        bool, Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    from covey.studio import server

    def ready(address: str) -> None:
        give(f"{address}\n")
        say("covey studio runs until you press Ctrl-C. The address is a secret: do not share it.")

    with contextlib.suppress(KeyboardInterrupt):
        server.run(table, port=port, open_browser=not no_browser, say=ready)
