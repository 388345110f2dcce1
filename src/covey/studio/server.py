"""Start the server of covey studio, on this machine alone, and end it without leaving anything."""

import contextlib
import secrets
import shutil
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path

from covey.errors import UsageError

ADDRESS = "127.0.0.1"


@contextlib.contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder that only this user can read, removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="covey-studio-"))  # made with mode 0700
    tempfile.tempdir = str(folder)  # uploads are kept there while they arrive
    try:
        yield folder
    finally:
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)


def run(table: str | None, *, port: int, open_browser: bool, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C. `say` is called with the address once the page answers."""
    refuse_without_server()
    import uvicorn

    from covey.studio.app import application
    from covey.studio.guard import Guard

    token, once = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
    with _own_folder() as folder, _listening(port) as listener:
        number = listener.getsockname()[1]
        address = f"http://{ADDRESS}:{number}"

        def ready() -> None:
            say(f"{address}/{token}/")
            if open_browser:  # in a thread: some browsers stay in the foreground
                opening = (f"{address}/{once}",)
                threading.Thread(target=webbrowser.open, args=opening, daemon=True).start()

        app = application(folder, table, ready)
        guarded = Guard(app, token, number, once if open_browser else None)
        config = uvicorn.Config(
            guarded, log_config=None, access_log=False, lifespan="on",
            server_header=False, date_header=False, ws="none", timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=65_536,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listener])


def refuse_without_server() -> None:
    """Refuse to start if the packages of the extra are not installed."""
    try:
        import python_multipart  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise UsageError("covey studio needs a server: install covey[studio]") from None


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((ADDRESS, port))
        except (OSError, OverflowError):
            raise UsageError(
                f"port {port} is taken or not allowed: pass another --port, or none"
            ) from None
        listener.listen(128)  # so that nobody is refused before the server is up
        yield listener
    finally:
        listener.close()
