"""The addresses of the studio, and what answers there.

Each step is a page with actions. A page is read with GET; an action is posted, changes the work,
and leads to a page. So a reload repeats nothing and loses nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from covey.errors import CoveyError
from covey.html import Html, p, text
from covey.studio import ui
from covey.studio.desk import Desk
from covey.studio.frame import framed
from covey.studio.pages import STEPS
from covey.studio.session import Studio
from covey.studio.work import TablePlace, Work
from covey.studio.workers import Worker

Found = TypeVar("Found")


def application(folder: Path, table: str | None, ready: Callable[[], None]) -> Starlette:
    """The server's application; it keeps its files in `folder` and begins with `table`."""

    # Neither requests nor uploads nor errors are logged: all may hold what is in a cell.
    for library in ("uvicorn", "asyncio", "python_multipart"):
        logging.getLogger(library).setLevel(logging.CRITICAL + 1)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        reader, maker, pricer = (Worker(folder, Desk) for _ in range(3))
        studio = app.state.studio = Studio(folder, reader, maker, pricer)
        first = asyncio.create_task(_begin(studio, table))
        ready()
        yield
        first.cancel()
        await studio.close()

    return Starlette(
        routes=[
            Route("/", _home),
            Route("/static/{name}", _static),
            Route("/files/{name}", _file),
            Route("/{step}", _page),
            Route("/{step}/piece/{name}", _piece),
            Route("/{step}/{action}", _act, methods=["POST"]),
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


async def _begin(studio: Studio, table: str | None) -> None:
    """Open the table that was named at the start."""
    if table is not None:
        try:
            await studio.open(TablePlace(table))
        except CoveyError as error:
            studio.tell(str(error))
    studio.reader.give("warm")


def _studio(request: Request) -> Studio:
    studio: Studio = request.app.state.studio
    return studio


def _named(request: Request, kind: str, among: Mapping[str, Found]) -> Found:
    """What the address names, if there is such a thing."""
    found = among.get(request.path_params[kind])
    if found is None:
        raise HTTPException(404)
    return found


def _to(request: Request, step: str) -> Response:
    return RedirectResponse(f"{request.scope['root_path']}/{step}", 303)


async def _home(request: Request) -> Response:
    return _to(request, "open")


async def _page(request: Request) -> Response:
    studio, step = _studio(request), _named(request, "step", STEPS)
    if step.needs_table and studio.opened is None:
        return _to(request, "open")
    try:
        inside = text(await step.page(studio))
    except CoveyError as error:
        inside = ui.failure(str(error))
    return HTMLResponse(framed(studio, STEPS, step, Html(inside)))


async def _piece(request: Request) -> Response:
    """A part of a page that comes later, such as a picture."""
    piece = _named(request, "name", _named(request, "step", STEPS).pieces)
    try:
        return HTMLResponse(text(await piece(_studio(request), request.query_params)))
    except CoveyError as error:
        return HTMLResponse(ui.quiet(str(error)), 409)


async def _act(request: Request) -> Response:
    studio, step = _studio(request), _named(request, "step", STEPS)
    action = _named(request, "action", step.actions)
    try:
        async with request.form(max_files=1, max_fields=2_000) as form:
            leads_to = await action(studio, form)
    except CoveyError as error:
        studio.tell(str(error))
        leads_to = None
    return _to(request, leads_to or step.name)


async def _static(request: Request) -> Response:
    """A script or style of the studio, or the style sheet of covey's pages."""
    package, kind = _named(request, "name", _STATIC)
    data = files(package).joinpath(request.path_params["name"]).read_bytes()
    return Response(data, media_type=kind)


_STATIC = {
    "page.css": ("covey", "text/css"),
    "studio.css": ("covey.studio.static", "text/css"),
    "studio.js": ("covey.studio.static", "text/javascript"),
}


async def _file(request: Request) -> Response:
    """A file that the studio has made, by its name."""
    studio, name = _studio(request), request.path_params["name"]
    if name in _TEXTS and studio.work.schema is not None:
        saved = {"content-disposition": f'attachment; filename="{name}"'}
        content = _TEXTS[name](studio.work)
        return Response(content, media_type="application/toml", headers=saved)
    path = studio.files.get(name)
    if path is None or not path.is_file():
        raise HTTPException(404)
    if request.query_params.get("show") and path.suffix == ".html":
        own = {"content-security-policy": _REPORT_POLICY}
        return FileResponse(path, headers=own, content_disposition_type="inline")
    return FileResponse(path, filename=path.name)


# A report has its own style inside, and runs nothing.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "frame-ancestors 'self'; base-uri 'none'"
)


_TEXTS: dict[str, Callable[[Work], str]] = {
    "covey.toml": lambda work: work.toml,
    "work.toml": lambda work: work.to_toml(),
}


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = _REFUSALS.get(error.status_code, error.detail)  # of an upload, it quotes bytes
    return HTMLResponse(framed(None, STEPS, None, p(words)), error.status_code)


_REFUSALS = {400: "The upload cannot be read.", 404: "There is nothing at this address."}


async def _failed(_: Request, error: Exception) -> Response:
    """An error that covey did not expect; its text may quote a cell, so only its kind is shown."""
    words = p(f"internal error ({type(error).__name__})", role="alert")
    return HTMLResponse(framed(None, STEPS, None, words), 500)
