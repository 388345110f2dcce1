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
    """Lets through requests for paths below the secret, from the page itself."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse to."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if not self._allows(scope):
            await PlainTextResponse(_REFUSED, 403, headers=_HEADERS)(scope, receive, send)
            return
        root = f"/{self._token}"
        inside = dict(scope, root_path=root)
        await self._app(inside, receive, _with_headers(send))

    def _allows(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        return (
            self._knows(scope["path"])
            and headers.getlist("host")[:2] in [[host] for host in self._hosts]
            and self._is_own(headers)
        )

    def _knows(self, path: str) -> bool:
        """Whether the path begins with the secret; comparing takes the same time for all."""
        first = unquote(path).split("/")[1:2]
        return bool(first) and hmac.compare_digest(first[0].encode(), self._token.encode())

    def _is_own(self, headers: Mapping[str, str]) -> bool:
        """Whether the page itself asks, or the user, who typed the address or followed a link."""
        origin = headers.get("origin")
        return (origin is None or origin in self._origins) and headers.get(
            "sec-fetch-site", "none"
        ) in ("same-origin", "none")


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
