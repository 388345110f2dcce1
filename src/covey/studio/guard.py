"""The door of the server: who may ask, and what an answer may do.

The address of the page holds a secret. A request without it gets 403 and learns nothing. Pages of
other sites cannot know the secret, and are refused besides by their origin, by the host name that
they use, and by what the browser says about where a request comes from. No answer may be stored,
framed by others, or load anything from elsewhere.
"""

import hmac
from collections.abc import Mapping
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")

# Scripts and styles come from files of the package alone; nothing is evaluated.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-src 'self'; frame-ancestors 'self'; "
    "base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_REFUSED = "Open the address that covey studio printed when it started.\n"


class Guard:
    """Lets through requests for paths below the secret, from the page itself.

    `once` is a second secret, which leads to the first one, and only once: a list of processes
    shows to others with which address a browser was started.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, once: str | None = None) -> None:
        self._app, self._token, self._once = app, token, once
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        root, headers = f"/{self._token}", Headers(scope=scope)
        is_named = headers.getlist("host")[:2] in [[host] for host in self._hosts]
        if not (is_named and self._is_own(headers)):
            await _answer(403)(scope, receive, send)
        elif _begins(scope["path"], self._token):
            await self._app(dict(scope, root_path=root), receive, _with_headers(send))
        elif self._once is not None and _begins(scope["path"], self._once):
            self._once = None
            await _answer(303, location=f"{root}/")(scope, receive, send)
        else:
            await _answer(403)(scope, receive, send)

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Whether the page itself asks, or the user, who typed the address or followed a link."""
        origin = headers.get("origin")
        return (origin is None or origin in self._origins) and headers.get(
            "sec-fetch-site", "none"
        ) in ("same-origin", "none")


def _begins(path: str, secret: str) -> bool:
    """Whether a path begins with a secret; comparing takes the same time for all."""
    first = unquote(path).split("/")[1:2]
    return bool(first) and hmac.compare_digest(first[0].encode(), secret.encode())


def _answer(status: int, **headers: str) -> PlainTextResponse:
    return PlainTextResponse(_REFUSED, status, headers=_HEADERS | headers)


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
