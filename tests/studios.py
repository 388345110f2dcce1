"""Studios to test: one inside this process, behind its door, and one as people start it."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx
from starlette.testclient import TestClient

from covey.studio.app import application
from covey.studio.guard import Guard
from covey.studio.session import Studio

TOKEN, PORT = "a-secret-of-the-tests", 8000
PATIENCE = 60.0  # seconds until a test gives up waiting
ILLS = ("flu", "gout", "mumps")
PEOPLE = "name,age,sex,town,diagnosis\n" + "".join(
    f"Person {i},{20 + i * 7 % 60},{'fm'[i % 2]},{'ABC'[i % 3]}town,{ILLS[i % 3]}\n"
    for i in range(60)
)


# ── inside this process ─────────────────────────────────────────────────────────────────────────


@dataclass(repr=False)
class Inside:
    """A studio in this process, asked as a browser asks it."""

    client: TestClient
    studio: Studio
    folder: Path

    def get(self, path: str, **settings: Any) -> httpx.Response:
        return self.client.get(f"/{TOKEN}/{path}", **settings)

    def post(self, path: str, fields: Any = None, **settings: Any) -> httpx.Response:
        """Post to an action; the answer is the page that it leads to."""
        return self.client.post(f"/{TOKEN}/{path}", data=fields or {}, **settings)

    def upload(self, name: str, data: bytes, action: str = "open/upload") -> httpx.Response:
        return self.client.post(f"/{TOKEN}/{action}", files={"file": (name, data)})

    def opening(self, path: Path | str) -> httpx.Response:
        return self.post("open/path", {"path": str(path)})

    def page(self, path: str) -> str:
        """A page that is there."""
        return _sound(self.get(path))

    def send(self, path: str, /, **fields: Any) -> str:
        """Post to an action; the page that it leads to, which is there."""
        return _sound(self.post(path, fields))

    def until(self, path: str, text: str) -> str:
        """Look at a page until it has this text; return it."""
        return str(wait(lambda: page if text in (page := self.page(path)) else None))

    def make(self, k: int) -> None:
        """Make a release as quickly as possible."""
        self.send("price/k", k=k)
        self.send("make/options", effort="fast")
        self.send("make/start")
        self.until("make", "Make it again")

    def write(self) -> None:
        """Write the release."""
        self.send("answer/write")
        self.until("answer", "Print or save as PDF")

    def downloads(self, step: str) -> dict[str, bytes]:
        """The files that a page offers, by their names."""
        found = {}
        for address in re.findall(r'href="(files/[0-9a-f]+)"', self.page(step)):
            answer = self.get(address)
            assert answer.status_code == 200
            name = re.search(r'filename="(.+?)"', answer.headers["content-disposition"])
            assert name is not None
            found[name[1]] = answer.content
        return found


def _sound(answer: httpx.Response) -> str:
    assert answer.status_code == 200
    assert "internal error" not in answer.text
    return str(answer.text)


@contextlib.contextmanager
def inside(folder: Path, table: str | None = None) -> Iterator[Inside]:
    """A studio that keeps its files in this folder."""
    app = application(folder, table, lambda: None)
    guarded = Guard(app, TOKEN, PORT)
    with TestClient(guarded, f"http://127.0.0.1:{PORT}", raise_server_exceptions=False) as client:
        yield Inside(client, app.state.studio, folder)


def told(answer: httpx.Response) -> list[str]:
    """The messages on a page."""
    found = re.findall(r'<p class="told bad" role="alert">(.*?)</p>', answer.text, re.DOTALL)
    return [unescape(text) for text in found]


def wait(until: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Wait until something is the case; return it."""
    end = time.monotonic() + seconds
    while not (found := until()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)
    return found


# ── as people start it ──────────────────────────────────────────────────────────────────────────


class Answer(NamedTuple):
    """The answer to a request that was written by hand."""

    status: int
    text: str


@dataclass(repr=False)
class Served:
    """A studio that runs as a process of its own."""

    process: subprocess.Popen[bytes]
    address: str
    home: Path  # all that it may write to is in here

    @property
    def port(self) -> int:
        return httpx.URL(self.address).port or 0

    @property
    def token(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]

    @property
    def folder(self) -> Path:
        """The folder of its own files."""
        (found,) = (self.home / "tmp").glob("covey-studio-*")
        return found

    def ask(self, *lines: str) -> Answer:
        """Send the lines of a request as they are; PORT and TOKEN stand for those of the studio."""
        text = "\r\n".join((*lines, "Connection: close", "", ""))
        data = text.replace("PORT", str(self.port)).replace("TOKEN", self.token).encode("latin-1")
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as line:
            line.sendall(data)
            answer = b"".join(iter(lambda: line.recv(65_536), b"")).decode("latin-1")
        return Answer(int(answer.split()[1]), answer)

    def client(self) -> httpx.Client:
        """A browser, as it were; a server closes the line after a fault, so each is used once."""
        once = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(
            base_url=self.address, follow_redirects=True, timeout=PATIENCE, limits=once
        )

    def children(self) -> list[int]:
        """The processes that it has started."""
        number = self.process.pid
        listed = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii")
        return [int(one) for one in listed.split()]

    def words(self) -> str:
        """All that it has said."""
        said = (self.home / name for name in ("out.txt", "err.txt"))
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in said)


def surroundings(home: Path) -> dict[str, str]:
    """Variables by which covey writes to this folder alone."""
    for name in ("tmp", "work"):
        (home / name).mkdir(parents=True, exist_ok=True)
    own = {"HOME": home, "TMPDIR": home / "tmp", "XDG_STATE_HOME": home / "state",
           "XDG_CONFIG_HOME": home / "config", "XDG_DATA_HOME": home / "data"}  # fmt: skip
    return {**os.environ, **{name: str(path) for name, path in own.items()}}


@contextlib.contextmanager
def served(home: Path, *arguments: object, **variables: str) -> Iterator[Served]:
    """Start a studio; end it, unless the test has done so."""
    quietly = () if "BROWSER" in variables else ("--no-browser",)
    command = [sys.executable, "-m", "covey", "studio", *quietly, *map(str, arguments)]
    environment = {**surroundings(home), **variables}
    said = home / "out.txt"
    with said.open("wb") as out, (home / "err.txt").open("wb") as err:
        process = subprocess.Popen(
            command, cwd=home / "work", env=environment, stdin=subprocess.DEVNULL, stdout=out,
            stderr=err, start_new_session=True,
        )  # fmt: skip
    try:
        wait(lambda: said.read_bytes().count(b"\n") or process.poll() is not None)
        yield Served(process, said.read_text(encoding="utf-8").partition("\n")[0], home)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


# ── what is on a page ───────────────────────────────────────────────────────────────────────────


@dataclass
class Form:
    """A form of a page: its action, and the values that each of its fields can have."""

    action: str
    fields: dict[str, list[str]]
    free: set[str]  # fields to type in


class _Reader(HTMLParser):
    """Notes forms and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.addresses: list[str] = []
        self._chosen = ""  # the list that options belong to

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        for name in ("href", "src", "action", "formaction", "data-src"):
            if (address := said.get(name)) is not None:
                self.addresses.append(address)
        if tag == "form":
            self.forms.append(Form(said["action"] or "", {}, set()))
        elif tag == "select":
            self._chosen = said.get("name") or ""
        elif self.forms and "disabled" not in said:
            self._control(tag, said)

    def _control(self, tag: str, said: dict[str, str | None]) -> None:
        name = self._chosen if tag == "option" else said.get("name")
        if not name or tag not in ("option", "input", "button", "textarea"):
            return
        form = self.forms[-1]
        values = form.fields.setdefault(name, [])
        values.append(said.get("value") or ("on" if said.get("type") == "checkbox" else ""))
        if said.get("type") in ("text", "number", "range") or tag == "textarea":
            form.free.add(name)


def read(page: str) -> _Reader:
    """The forms and addresses of a page."""
    reader = _Reader()
    reader.feed(page)
    return reader
