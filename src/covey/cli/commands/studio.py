import contextlib

from covey.cli.options import command
from covey.cli.terminal import give, say


@command("Do the whole way in a browser, on this machine alone.")
def studio(
    *,
    table: str | None = None,
    port: int = 0,
    no_browser: bool = False,
) -> None:
    from covey.studio import server

    def ready(address: str) -> None:
        give(f"{address}\n")
        say("covey studio runs until you press Ctrl-C. The address is a secret: do not share it.")

    with contextlib.suppress(KeyboardInterrupt):
        server.run(table, port=port, open_browser=not no_browser, say=ready)
