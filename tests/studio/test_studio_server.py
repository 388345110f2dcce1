"""The server of covey studio, as attackers and other programs on the machine meet it."""

import contextlib
import os
import re
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from covey.cli import main as cli
from studios import PEOPLE, Served, served, told, wait

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("studio")
    (home / "people.csv").write_text(PEOPLE, encoding="utf-8")
    with served(home, home / "people.csv") as running:
        yield running


OWN = "Host: 127.0.0.1:PORT"


def test_the_first_line_is_the_address(studio: Served) -> None:
    out = (studio.home / "out.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/[A-Za-z0-9_-]{32}/\n", out)
    assert studio.ask("GET /TOKEN/open HTTP/1.1", OWN).status == 200


# ── without the secret ──────────────────────────────────────────────────────────────────────────


METHODS = ("POST", "HEAD", "OPTIONS", "PUT", "TRACE", "X-ODD")
TARGETS = (
    "/", "/open", "/static/studio.js", "/files/covey.toml", "/wrong/open", "//TOKEN/open",
    "/./TOKEN/open", "/%2e%2e/TOKEN/open", "/wrong/../TOKEN/open", "/wrong/%2e%2e/TOKEN/open",
    "/TOKENx/open", "/xTOKEN/open", "/TOKEN%00/open", "/TOKEN%20/open", "/TOKEN;x/open",
    "/TOKEN\\open", "\\TOKEN/open", "?/TOKEN/open", "/?TOKEN", "/?/TOKEN/open", "*",
    "http://127.0.0.1:PORT/wrong/open", "http://127.0.0.1:PORT/TOKEN/open",
    "http://evil.com/TOKEN/open", "/%ff%fe/open", "/\xff\xfe/open", "/" + "x" * 30_000,
    "/%25" + "%25" * 2_000,
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(TARGETS)), ids=lambda number: TARGETS[number][:40])
def test_without_the_secret_everything_is_refused(studio: Served, number: int) -> None:
    for method in ("GET", METHODS[number % len(METHODS)]):
        answer = studio.ask(f"{method} {TARGETS[number]} HTTP/1.1", OWN, "Content-Length: 0")
        assert answer.status in (400, 403)
        assert studio.token not in answer.text
        assert "<html" not in answer.text


@pytest.mark.parametrize("change", [str.swapcase, str.lower, str.upper, lambda t: t[:-1]])
def test_a_secret_is_exact(studio: Served, change: "type[str]") -> None:
    wrong = change(studio.token)
    assert studio.ask(f"GET /{wrong}/open HTTP/1.1", OWN).status == 403


@pytest.mark.parametrize(
    "hosts",
    [
        [], ["Host:"], ["Host: evil.com"], ["Host: evil.com:PORT"],
        ["Host: 127.0.0.1.evil.com:PORT"], ["Host: 127.0.0.1"], ["Host: 127.0.0.1:1"],
        ["Host: localhost"], ["Host: 0.0.0.0:PORT"], ["Host: [::1]:PORT"], ["Host: 127.1:PORT"],
        ["Host: user@127.0.0.1:PORT"],
        ["Host: evil.com", OWN], [OWN, "Host: evil.com"], [OWN, OWN],
        ["Host: evil.com", "X-Forwarded-Host: 127.0.0.1:PORT"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_other_host_names_are_refused(studio: Served, hosts: list[str], version: str) -> None:
    answer = studio.ask(f"GET /TOKEN/open HTTP/{version}", *hosts)
    assert answer.status in (400, 403)
    assert "<html" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_own_names_are_let_in(studio: Served, host: str) -> None:
    answer = studio.ask(
        "GET /TOKEN/open HTTP/1.1", f"Host: {host}:PORT", f"Origin: http://{host}:PORT",
        "Sec-Fetch-Site: same-origin",
    )  # fmt: skip
    assert answer.status == 200


@pytest.mark.parametrize(
    "line",
    [
        "Origin: http://evil.com", "Origin: null", "Origin: http://127.0.0.1:1",
        "Origin: https://127.0.0.1:PORT", "Origin: http://127.0.0.1",
        "Origin: http://127.0.0.1:PORT.evil.com", "Origin:", "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site", "Sec-Fetch-Site: ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("start", ["GET /TOKEN/open", "POST /TOKEN/open/undo"])
def test_pages_of_others_are_refused(studio: Served, start: str, line: str) -> None:
    assert studio.ask(f"{start} HTTP/1.1", OWN, "Content-Length: 0", line).status == 403


@pytest.mark.parametrize(
    "path",
    ["", "open", "nowhere", "open/upload", "open/piece/none", "price/piece/curve",
     "static/studio.js", "static/nothing.js", "static/..%2fapp.py", "files/covey.toml",
     "files/work.toml", "files/none", "files/..%2f..%2fout.txt"],
)  # fmt: skip
def test_every_answer_says_what_a_browser_may_do(studio: Served, path: str) -> None:
    for start in (f"GET /TOKEN/{path}", "GET /wrong", f"PUT /TOKEN/{path}"):
        head = studio.ask(f"{start} HTTP/1.1", OWN).text.partition("\r\n\r\n")[0].lower()
        lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        policy = lines["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'self'" in policy
        assert lines["cache-control"] == "no-store"
        assert lines["x-content-type-options"] == "nosniff"
        assert lines["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in lines
        assert "server" not in lines
        assert "set-cookie" not in lines


@pytest.mark.parametrize("name", ["..%2fapp.py", "%2e%2e%2fapp.py", "..%5capp.py", "../app.py",
                                  "%2fetc%2fpasswd", "....//app.py", "x%00.js"])  # fmt: skip
@pytest.mark.parametrize("where", ["static", "files"])
def test_no_name_leads_out_of_the_folder(studio: Served, where: str, name: str) -> None:
    assert studio.ask(f"GET /TOKEN/{where}/{name} HTTP/1.1", OWN).status in (404, 405)


def test_it_listens_on_the_loopback_address_alone(studio: Served) -> None:
    listening = []
    for version in ("tcp", "tcp6"):
        lines = Path(f"/proc/net/{version}").read_text(encoding="ascii").splitlines()[1:]
        for local, state in ((line.split()[1], line.split()[3]) for line in lines):
            if int(local.rpartition(":")[2], 16) == studio.port and state == "0A":
                listening.append(local.rpartition(":")[0])
    assert listening == ["0100007F"]


@pytest.mark.slow
def test_a_browser_is_started_with_an_address_that_works_once(tmp_path: Path) -> None:
    """A list of processes shows to other users of the machine what a browser was asked to open."""
    browser, asked = tmp_path / "browser", tmp_path / "asked.txt"
    browser.write_text(
        f'#!/bin/sh\necho "$@" > {asked}.part; mv {asked}.part {asked}\n', encoding="ascii"
    )
    browser.chmod(0o700)
    with served(tmp_path, BROWSER=str(browser)) as running:
        wait(asked.exists)
        address = asked.read_text(encoding="ascii").strip()
        assert running.token not in address
        evil = httpx.get(address, headers={"host": "evil.com"})
        first, second = (httpx.get(address, follow_redirects=True) for _ in range(2))
        assert (evil.status_code, first.status_code, second.status_code) == (403, 200, 403)
        assert str(first.url) == f"{running.address}open"
        assert first.history[0].headers["cache-control"] == "no-store"


# ── several of them, and its end ────────────────────────────────────────────────────────────────


def test_a_port_that_is_taken_is_told(studio: Served, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["studio", "--no-browser", "--port", str(studio.port)]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert f"port {studio.port} is taken" in err


@pytest.mark.parametrize("missing", ["uvicorn", "starlette", "python_multipart"])
def test_without_its_extra_it_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert cli.run(["studio", "--no-browser"]) == 2
    assert "covey[studio]" in capfd.readouterr().err


@pytest.mark.slow
def test_two_studios_do_not_see_each_other(studio: Served, tmp_path: Path) -> None:
    with served(tmp_path) as other, other.client() as there, studio.client() as here:
        wait(lambda: "Check that the table below looks right" in here.get("open").text)
        assert "Check that the table below looks right" not in there.get("open").text
        assert there.get("files/covey.toml").status_code == 404
        wrong = httpx.get(f"http://127.0.0.1:{other.port}/{studio.token}/open")
        assert wrong.status_code == 403
        assert other.folder != studio.folder


def alive(process: int) -> bool:
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        return state.rpartition(")")[2].split()[0] != "Z"
    return False


def with_an_upload(running: Served) -> None:
    with running.client() as client:
        answer = client.post("open/upload", files={"file": ("people.csv", PEOPLE.encode())})
    assert "60 rows" in answer.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "to_all"),
    [("SIGINT", False), ("SIGINT", True), ("SIGTERM", False), ("SIGTERM", True),
     ("SIGHUP", False), ("SIGHUP", True), ("SIGKILL", False)],
)  # fmt: skip
def test_however_it_ends_nothing_is_left(tmp_path: Path, sent: str, to_all: bool) -> None:
    """A closed terminal sends its signal to all processes, and nobody can catch SIGKILL."""
    number = signal.Signals[sent]
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"{sent} is ignored here, as by nohup, and what is started inherits that")
    with served(tmp_path) as running:
        with_an_upload(running)
        folder, processes = running.folder, running.children()
        assert processes
        (os.killpg if to_all else os.kill)(running.process.pid, number)
        wait(lambda: running.process.poll() is not None)
        wait(lambda: not any(map(alive, processes)))
        wait(lambda: not folder.exists())
        assert list((tmp_path / "tmp").iterdir()) == []
        assert "Traceback" not in running.words()


@pytest.mark.slow
def test_a_release_leaves_its_entry_in_the_register_and_nothing_else(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    own = {"COVEY_KEY_FILE": str(kept / "key"), "COVEY_REGISTER": str(kept / "register")}
    with served(tmp_path, **own) as running, running.client() as client:
        with_an_upload(running)
        client.post("price/k", data={"k": "5"})
        client.post("make/start")
        wait(lambda: 'class="verdict good"' in client.get("make").text)
        client.post("answer/about", data={"certificate": "on", "accept": "a test"})
        assert told(client.post("answer/write")) == []
        wait(lambda: "For the recipient" in client.get("hand_over").text)
        client.post("hand_over/prove")
        wait(lambda: "The same bytes" in client.get("hand_over").text)
        outside = [path for path in files_in(tmp_path) if running.folder not in path.parents]
        assert {path.parent for path in outside} == {tmp_path, kept}
    left = {path.relative_to(tmp_path) for path in files_in(tmp_path)}
    heads = {path for path in left if path.match("kept/key.head-*")}
    own_files = {Path("out.txt"), Path("err.txt"), Path("kept/key"), Path("kept/register")}
    assert (len(heads), left - heads) == (1, own_files)


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_its_files_are_for_nobody_else(studio: Served) -> None:
    with_an_upload(studio)
    assert stat.S_IMODE(studio.folder.stat().st_mode) == 0o700
    inside = list(studio.folder.rglob("*"))
    assert any(path.name == "people.csv" for path in inside)
    for path in inside:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_told_and_replaced(studio: Served) -> None:
    with_an_upload(studio)  # the table that was named at the start is open by then
    workers = [process for process in studio.children() if is_worker(process)]
    assert workers
    for process in workers:
        os.kill(process, signal.SIGKILL)
    with studio.client() as client:
        answer = client.post("open/demo")
        assert answer.status_code == 200
        answer = client.post("open/upload", files={"file": ("again.csv", PEOPLE.encode())})
        assert told(answer) == []
        assert "again.csv" in answer.text
    assert studio.folder.is_dir()


def is_worker(process: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()


def test_it_says_nothing_more(studio: Served) -> None:
    """After all that was asked above, there is no log of it."""
    out, err = ((studio.home / name).read_text(encoding="utf-8") for name in ("out.txt", "err.txt"))
    assert len(out.splitlines()) == 1
    assert len(err.splitlines()) == 1
    assert studio.token not in err
