"""Random clicks and random requests: the studio always answers, and never forgets a decision."""

import gc
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from covey.studio.pages import STEPS
from covey.studio.work import History, Work, schema_of
from examples import examples
from studios import PEOPLE, TOKEN, Inside, inside, read, wait

# What runs long, reads or writes elsewhere, or needs a file: tested on its own.
LEFT_OUT = ("open/demo", "open/upload", "open/path", "open/reopen", "hand_over/save",
            "hand_over/prove", "open/part")  # fmt: skip


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    home = tmp_path_factory.mktemp("home")
    (home / "people.csv").write_text(PEOPLE, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, inside(tmp_path_factory.mktemp("own")) as found:
        patch.setenv("HOME", str(home))
        patch.chdir(home)
        found.opening(home / "people.csv")
        assert found.studio.opened is not None
        FIRST.append(found.studio.work)
        yield found


FIRST: list[Work] = []


def begun(studio: Inside, seed: int) -> Random:
    """Go back to the first decisions, at times with a release of them."""
    dice = Random(seed)
    studio.studio.history = History(FIRST[-1])
    if studio.studio.release is None and dice.random() < 0.2:
        answered(studio, "POST", "price/k", data={"k": "5"})
        answered(studio, "POST", "make/start")
        wait(lambda: "make" not in studio.studio.jobs)
        answered(studio, "POST", "answer/write")
    return dice


def sent(fields: list[tuple[str, str]]) -> bytes:
    return urlencode(fields, errors="surrogatepass").encode("ascii")


def answered(studio: Inside, method: str, path: str, **settings: Any) -> Any:
    """The answer, which comes in time and is never that of a fault."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(studio.client.request, method, f"/{TOKEN}/{path}", **settings)
        answer = asked.result(60)
    assert answer.status_code < 500, (method, path, settings, answer.text[-300:])
    assert "internal error" not in answer.text, (method, path, settings)
    return answer


# ── random clicks ───────────────────────────────────────────────────────────────────────────────

TYPED = ("", "1", "2", "5", "40", "0.1", "-3", "10, 20, 30", "month", "x", "é<&>")


def clicked(studio: Inside, dice: Random, odd: tuple[str, ...] = ()) -> str:
    """Go to a step, and send one of the forms there; some values may be odd."""
    page = answered(studio, "GET", dice.choice(sorted(STEPS)))
    forms = [form for form in read(page.text).forms if form.action not in LEFT_OUT]
    form = dice.choice(forms)
    fields = {
        name: dice.choice([*values, *TYPED] if name in form.free else values or [""])
        for name, values in form.fields.items()
    }
    if odd and fields:
        fields[dice.choice(sorted(fields))] = dice.choice(odd)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answered(studio, "POST", form.action, content=sent([*fields.items()]), headers=kind)
    return form.action


def keeps_its_word(work: Work) -> None:
    """What a work promises: its file and its command hold all of it."""
    assert work.schema is not None
    assert schema_of(work.toml) == work.schema
    # Opened again, the table is read as it was detected, and that is in the schema.
    again = Work(source=work.source).reopened(work.to_toml())
    assert again == replace(work, format=work.schema.table)
    assert shlex.split(work.command("out.csv"))[:2] == ["covey", "anonymize"]


# What is on a page depends on all clicks before, so an example is a seed and not a list of clicks.
@pytest.mark.slow
@examples(30)
@given(st.integers(0, 2**32))
def test_random_clicks_are_undone_one_by_one(studio: Inside, seed: int) -> None:
    dice = begun(studio, seed)
    for _ in range(8):
        before = studio.studio.work
        action = clicked(studio, dice)
        work = studio.studio.work
        keeps_its_word(work)
        if action != "open/undo" and work != before and dice.random() < 0.5:
            answered(studio, "POST", "open/undo", data={"step": action.partition("/")[0]})
            assert studio.studio.work == before, action
    for step in STEPS:
        work = studio.studio.work
        assert answered(studio, "GET", step).status_code == 200
        assert studio.studio.work == work, f"reading {step} has decided something"


# ── random requests ─────────────────────────────────────────────────────────────────────────────

NAMES = ("column", "finding", "k", "place", "ks", "share", "step", "which", "delimiter", "skip",
         "encoding", "missing", "part", "row", "role", "type", "release", "order", "page", "cuts",
         "node", "value", "weight", "grid", "l", "alpha", "t", "beta", "known-0", "title",
         "effort", "file", "tree", "by", "measure", "pieces", "name")  # fmt: skip
ODD = ("9" * 5_000, "٣", "²", "-1", "1e999", "nan", "inf", "0x10", "1_000", " 5 ", "\0", "\ud800",
       "x" * 20_000, "../../etc", "a,b\nc", "[[[[", "'\"<>&", "\u202eabc", "0.3333333333",
       "9223372036854775808", "true", "name", "age", "diagnosis")  # fmt: skip
TEXTS = st.sampled_from(ODD) | st.integers().map(str) | st.text(max_size=20) | st.just("")
FIELDS = st.lists(st.tuples(st.sampled_from(NAMES) | st.text(max_size=8), TEXTS), max_size=6)
ACTIONS = [
    f"{step.name}/{action}"
    for step in STEPS.values()
    for action in step.actions
    if f"{step.name}/{action}" not in LEFT_OUT
]
PIECES = [f"{step.name}/piece/{piece}" for step in STEPS.values() for piece in step.pieces]


@pytest.mark.slow
@examples(100)
@given(st.integers(0, 2**32))
def test_no_odd_value_in_a_form_brings_it_down(studio: Inside, seed: int) -> None:
    dice = begun(studio, seed)
    for _ in range(5):
        clicked(studio, dice, ODD)
    keeps_its_word(studio.studio.work)


@examples(600)
@given(st.sampled_from(ACTIONS), FIELDS)
@example("roles/role", [("column", "9" * 5_000)])
@example("price/slide", [("place", "0"), ("ks", "9" * 5_000)])
@example("price/slide", [("place", "0"), ("ks", "٣,²")])
def test_no_form_brings_it_down(studio: Inside, action: str, fields: list[Any]) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answered(studio, "POST", action, content=sent(fields), headers=kind)
    assert answered(studio, "GET", "open").status_code == 200


@examples(300)
@given(st.sampled_from(PIECES), FIELDS)
def test_no_address_of_a_piece_brings_it_down(
    studio: Inside, piece: str, fields: list[Any]
) -> None:
    answered(studio, "GET", f"{piece}?{sent(fields).decode()}")


@examples(300)
@given(
    st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "DELETE"]),
    st.lists(st.sampled_from([*STEPS, "static", "files", "piece", "..", "%2e", ""]) | st.text(
        st.characters(codec="utf-8"), max_size=8).map(lambda text: quote(text, safe="")),
        max_size=4).map("/".join),
)  # fmt: skip
def test_no_path_brings_it_down(studio: Inside, method: str, path: str) -> None:
    assert answered(studio, method, path).status_code in (200, 403, 404, 405)


def multipart(*parts: bytes, boundary: bytes = b"b") -> bytes:
    return b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts)


FILE = b'Content-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na,b\r\n1,2'


@pytest.mark.parametrize("action", ["open/upload", "open/reopen", "roles/role", "open/format"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data; boundary=b", b""),
        ("multipart/form-data; boundary=b", multipart(FILE)[:60]),
        ("multipart/form-data; boundary=b", multipart(FILE)),
        ("multipart/form-data; boundary=b", multipart(FILE, FILE) + b"--b--"),
        ("multipart/form-data; boundary=b", multipart(b"\r\n\r\n") + b"--b--"),
        ("multipart/form-data; boundary=b", multipart(FILE[:40]) + b"--b--"),
        ("multipart/form-data; boundary=b", multipart(b"X" * 70_000 + b": y\r\n\r\n") + b"--b--"),
        ("multipart/form-data; boundary=b", multipart(*[b"x"] * 3_000) + b"--b--"),
        ("multipart/form-data; boundary=other", multipart(FILE) + b"--b--"),
        ("multipart/form-data", multipart(FILE) + b"--b--"),
        ("multipart/form-data; boundary=" + "b" * 5_000, b"--b"),
        ("application/x-www-form-urlencoded", b"file=a.csv&file=b.csv"),
        ("application/x-www-form-urlencoded", b"%" * 1_000 + b"&=&&=\xff\xfe" * 5_000),
        ("application/json", b'{"file": "x"}'),
        ("text/plain", b"x"),
        ("nonsense", b"\xff" * 10),
        ("", b"x"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile")  # starlette closes it late
def test_no_body_brings_it_down(studio: Inside, action: str, kind: str, body: bytes) -> None:
    before = studio.studio.work
    answered(studio, "POST", action, content=body, headers={"content-type": kind})
    assert studio.studio.work == before
    gc.collect()
