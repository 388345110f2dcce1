"""Working files: nobody else can read them, and no change of them stays unnoticed."""

import base64
import contextlib
import copy
import os
import pickle
import secrets
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from covey import OutputError, UsageError
from covey.custody import footprints, sealed
from covey.custody.keys import Key
from covey.custody.sealed import SEGMENT, START, Mark, Spool, frames, write_frame
from covey.tables import files
from examples import examples

KEY, OTHER = Key(bytes(range(32))), Key(bytes(32))
CANARY = b"Q7-secret-canary"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here loses power, so nobody waits for the disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool.make(tmp_path / "work", KEY)


def written(spool: Spool, name: str, *chunks: bytes) -> Path:
    with spool.appender(name) as appender:
        for chunk in chunks:
            appender.write(chunk)
    return spool.folder / name


# ── what goes in comes out ──────────────────────────────────────────────────────────────────────


@examples(100)
@given(
    stored=st.dictionaries(
        st.from_regex(r"\A[a-z]{1,5}(-[0-9]{1,3})?\Z"),
        st.lists(st.binary(max_size=200)),
        max_size=4,
    ),
    put=st.binary(max_size=200),
)
def test_what_goes_in_comes_out_also_after_opening_again(
    tmp_path: Path, stored: dict[str, list[bytes]], put: bytes
) -> None:
    spool = Spool.make(tmp_path / secrets.token_hex(8), KEY)
    for name, chunks in stored.items():
        written(spool, name, *chunks)
    spool.put("checkpoint", put)
    again = Spool.open(spool.folder, Key(bytes(range(32))))
    assert again.names() == sorted({*stored, "checkpoint"})
    assert {name: [*again.chunks(name)] for name in stored} == stored
    assert again.get("checkpoint") == put
    again.remove_all()
    assert not spool.folder.exists()


@pytest.mark.parametrize("size", [0, 1, SEGMENT - 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 5])
def test_chunks_of_any_size(spool: Spool, size: int) -> None:
    data = secrets.token_bytes(size)
    written(spool, "leaf", data, data[::-1], memoryview(data).tobytes())
    assert [*spool.chunks("leaf")] == [data, data[::-1], data]


def test_frames_keep_their_cells_and_types(spool: Spool) -> None:
    made = pl.DataFrame(
        {
            "age": [1, None, 3],
            "town": ["Ash", "", None],
            "day": pl.Series([0, None, 20_000]).cast(pl.Date),
            "kind": pl.Series(["a", "b", None]).cast(pl.Categorical),
            "level": pl.Series(["low", None, "high"], dtype=pl.Enum(["low", "high"])),
            "share": [0.5, float("nan"), -0.0],
            "is": [True, None, False],
        }
    )
    with spool.appender("leaf-1") as appender:
        for part in (made, made[:0], made[1:]):
            write_frame(appender, part)
        assert appender.mark.chunks == 3
    for found, expected in zip(frames(spool, "leaf-1"), (made, made[:0], made[1:]), strict=True):
        assert found.schema == expected.schema
        assert found.equals(expected)


def test_put_replaces_and_get_knows_what_is_missing(spool: Spool) -> None:
    assert spool.get("checkpoint") is None
    for data in (b"one", b"", b"three"):
        spool.put("checkpoint", data)
        assert spool.get("checkpoint") == data
    spool.remove("checkpoint")
    spool.remove("checkpoint")
    assert spool.get("checkpoint") is None
    with pytest.raises(UsageError, match="missing"):
        next(spool.chunks("checkpoint"))


# ── nobody reads them ───────────────────────────────────────────────────────────────────────────


def test_no_canary_is_found_in_any_byte(spool: Spool) -> None:
    written(spool, "leaf-1", CANARY * 10, CANARY)
    spool.put("checkpoint", CANARY)
    with spool.appender("leaf-2") as appender:
        write_frame(appender, pl.DataFrame({CANARY.decode(): [CANARY.decode()] * 100}))
    told = b"".join(path.read_bytes() for path in spool.folder.iterdir())
    told += b"".join(os.fsencode(path.name) for path in spool.folder.iterdir())
    for form in (CANARY, base64.b64encode(CANARY)[:-4], CANARY.hex().encode(), bytes(range(32))):
        assert form not in told
    assert bytes(range(32)).hex().encode() not in told


def stored_often(spool: Spool, size: int) -> bytes:
    """The bytes of equal chunks: in one file, of resumed work, put again, in another file."""
    data, stored = bytes(size), b""
    for _ in range(2):
        stored += written(spool, "leaf", data, data).read_bytes()
        with spool.appender("leaf", after=START):
            pass
    for name in ("leaf", "more"):
        spool.put(name, data)
        stored += (spool.folder / name).read_bytes()
    return stored


def repeats(stored: bytes) -> bool:
    """Whether some bytes come again; one key stream for all blocks shows them in every block."""
    places = range(40, len(stored) - 16, len(stored) // 17)
    return any(stored.find(stored[at : at + 16], at + 1) >= 0 for at in places)


@pytest.mark.parametrize("size", [1_000, 65_535, 65_536, 3 * 65_536 + 1, 2 * SEGMENT])
def test_equal_data_never_gives_equal_bytes(
    spool: Spool, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not repeats(stored_often(spool, size))
    monkeypatch.setattr(secrets, "token_bytes", bytes)  # every nonce is 0
    assert repeats(stored_often(spool, size))


def test_the_library_opens_what_was_stored_by_the_documented_layout(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed, "SEGMENT", 4)
    stored = written(spool, "leaf", b"123456789", b"", b"abcd").read_bytes()
    salt = (spool.folder / ".spool").read_bytes()[14:30]
    hkdf = HKDF(SHA256(), 32, salt, b"covey spool file leaf")
    cipher, tag = AESGCM(hkdf.derive(bytes(range(32)))), bytes(16)
    pieces = [(0, b"1234"), (0, b"5678"), (1, b"9"), (1, b""), (1, b"abcd"), (2, b"")]
    for place, (kind, data) in enumerate(pieces):
        assert stored[:5] == bytes([kind]) + len(data).to_bytes(4)
        end = 17 + len(data) + 16
        about = bytes([kind]) + place.to_bytes(8) + tag + b"leaf"
        assert cipher.decrypt(stored[5:17], stored[17:end], about) == data
        tag, stored = stored[end - 16 : end], stored[end:]
    assert not stored


def test_the_spool_is_its_owners_alone(spool: Spool) -> None:
    written(spool, "leaf", b"data")
    spool.put("checkpoint", b"data")
    assert stat.S_IMODE(spool.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in spool.folder.iterdir()} == {0o600}


def test_a_spool_says_nothing_of_its_key(spool: Spool) -> None:
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="never"):
            copied(spool)
    assert not [part for part in ("secret", "b'", "\\x") if part in repr(spool)]


@pytest.mark.parametrize(
    "name", ["", "Ash", "a b", "../x", ".x", "a/b", "é", "leaf_1", "-1", "a\n"]
)
def test_names_that_could_say_something_are_refused(spool: Spool, name: str) -> None:
    asked: list[Callable[[], object]] = [
        lambda: spool.appender(name),
        lambda: [*spool.chunks(name)],
        lambda: spool.put(name, b""),
        lambda: spool.get(name),
        lambda: spool.remove(name),
    ]
    for ask in asked:
        with pytest.raises(ValueError, match="plain names"):
            ask()


# ── no change stays unnoticed ───────────────────────────────────────────────────────────────────


def refused(spool: Spool, name: str) -> bool:
    """Whether reading fails before anything wrong is returned."""
    try:
        for _ in spool.chunks(name):
            pass
    except UsageError as error:
        return "damaged" in str(error)
    return False


def changes(data: bytes) -> Iterator[bytes]:
    """Every byte flipped, every length, and some bytes more."""
    for place in range(len(data)):
        for bit in (1, 0x80):
            yield data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]
        yield data[:place]
    yield data + b"\0"
    yield data + data


def test_every_changed_byte_and_every_length_is_noticed(spool: Spool) -> None:
    path = written(spool, "leaf", b"first", b"", b"third")
    stored = path.read_bytes()
    for changed in changes(stored):
        path.write_bytes(changed)
        assert refused(spool, "leaf")
    path.write_bytes(stored)
    assert not refused(spool, "leaf")


def test_a_wrong_chunk_is_never_returned(spool: Spool) -> None:
    path = written(spool, "leaf", b"first", b"second")
    stored = path.read_bytes()
    for changed in changes(stored):
        path.write_bytes(changed)
        got: list[bytes] = []
        with pytest.raises(UsageError):
            got.extend(spool.chunks("leaf"))
        assert got == [b"first", b"second"][: len(got)]


def records(stored: bytes) -> list[bytes]:
    """The segments as they are stored, by the layout that the module describes."""
    found = []
    while stored:
        end = 5 + 12 + int.from_bytes(stored[1:5]) + 16
        found.append(stored[:end])
        stored = stored[end:]
    return found


def test_chunks_that_are_swapped_repeated_or_left_out_are_noticed(spool: Spool) -> None:
    path = written(spool, "leaf", b"same", b"same", b"else")
    one, two, three, end = records(path.read_bytes())
    other = records(written(spool, "other", b"same").read_bytes())
    orders = [
        [two, one, three, end], [one, three, two, end], [one, two, end], [two, three, end],
        [one, one, two, three, end], [one, two, three, end, end], [end], [],
        [other[0], two, three, end], [one, two, three, other[1]], other,
    ]  # fmt: skip
    for order in orders:
        path.write_bytes(b"".join(order))
        assert refused(spool, "leaf")
    path.write_bytes(one + two + three + end)
    assert not refused(spool, "leaf")


def versions(spool: Spool, how: str) -> tuple[bytes, bytes]:
    """An earlier and the latest file of a name, each of them complete."""
    found = []
    for data in (b"one", b"two"):
        if how == "put":
            spool.put("leaf", data)
        else:
            spool.remove("leaf")
            written(spool, "leaf", data, b"last")
        found.append((spool.folder / "leaf").read_bytes())
    return found[0], found[1]


@pytest.mark.parametrize("how", ["put", "written"])
@pytest.mark.parametrize("again", [False, True])
def test_an_earlier_missing_or_emptied_file_is_noticed(spool: Spool, how: str, again: bool) -> None:
    """Also after the work was resumed."""
    earlier, latest = versions(spool, how)
    spool.put(
        "checkpoint", b""
    )  # the last change of all may be undone, since nothing depends on it
    empty = written(spool, "other").read_bytes()
    path = spool.folder / "leaf"

    def is_noticed() -> bool:
        read = Spool.open(spool.folder, KEY) if again else spool
        assert "leaf" in read.names()
        with contextlib.suppress(UsageError):
            read.get("leaf")
            return False
        with pytest.raises(UsageError):
            [*read.chunks("leaf")]
        return True

    mixed = [*records(earlier)[:1], *records(latest)[1:]]
    for stored in (earlier, empty, b"", b"".join(mixed)):
        path.write_bytes(stored)
        assert is_noticed()
    path.unlink()
    assert is_noticed()
    path.write_bytes(latest)
    assert not is_noticed()


def test_an_earlier_file_is_taken_by_a_build_without_the_manifest(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack above succeeds if no one knows the last tag."""
    earlier, _ = versions(spool, "put")
    (spool.folder / "leaf").write_bytes(earlier)
    monkeypatch.setitem(spool._manifest.tags, "leaf", earlier[-16:])
    assert spool.get("leaf") == b"one"


def test_a_put_that_was_killed_half_way_did_not_happen(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.put("leaf", b"one")
    with monkeypatch.context() as patch:
        patch.setattr(files, "write", lambda *_, **__: None)
        spool.put("leaf", b"two")
    again = Spool.open(spool.folder, KEY)
    assert again.get("leaf") == b"one"
    with monkeypatch.context() as patch:
        patch.setattr(files, "write", lambda *_, **__: None)
        again.put("new", b"two")
    assert Spool.open(spool.folder, KEY).get("new") is None
    assert Spool.open(spool.folder, KEY).get("leaf") == b"one"


def test_every_changed_byte_of_the_manifest_is_noticed_or_undoes_what_came_last(
    spool: Spool,
) -> None:
    """A manifest that was cut is an earlier one: the file of a later tag is damaged, or is not."""
    for number in range(3):
        spool.put(f"leaf-{number}", b"data")
    path = spool.folder / ".manifest"
    stored = path.read_bytes()
    size = len(stored) // 3
    for changed in changes(stored):
        path.write_bytes(changed)
        with contextlib.suppress(UsageError):
            names = Spool.open(spool.folder, KEY).names()
            assert names == [f"leaf-{number}" for number in range(len(changed) // size)][:3]


def test_working_files_of_an_earlier_version_are_refused_in_words(spool: Spool) -> None:
    (spool.folder / ".spool").write_bytes(b"covey spool 1\n" + bytes(56))
    with pytest.raises(UsageError, match="another version"):
        Spool.open(spool.folder, KEY)


def test_files_that_are_swapped_are_noticed(spool: Spool, tmp_path: Path) -> None:
    one, two = written(spool, "leaf-1", b"x"), written(spool, "leaf-2", b"x")
    other = written(Spool.make(tmp_path / "more", KEY), "leaf-1", b"x")
    one_bytes = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(one_bytes)
    assert refused(spool, "leaf-1")
    assert refused(spool, "leaf-2")
    one.write_bytes(other.read_bytes())  # of the same key and name, with another salt
    assert refused(spool, "leaf-1")


def test_a_file_that_was_not_completed_is_noticed(spool: Spool) -> None:
    with contextlib.suppress(KeyError), spool.appender("leaf") as appender:
        appender.write(b"one")
        raise KeyError
    assert (spool.names(), spool.get("leaf")) == ([], None)
    written(spool, "leaf", b"again")
    assert [*spool.chunks("leaf")] == [b"again"]


def test_a_different_key_is_refused_by_name(spool: Spool) -> None:
    with pytest.raises(UsageError, match="different key"):
        Spool.open(spool.folder, OTHER)


def test_every_changed_byte_of_the_head_is_noticed(spool: Spool) -> None:
    head = spool.folder / ".spool"
    stored = head.read_bytes()
    for changed in changes(stored):
        head.write_bytes(changed)
        with pytest.raises(UsageError, match=r"damaged|another version"):
            Spool.open(spool.folder, KEY)
    head.unlink()
    with pytest.raises(UsageError, match="missing"):
        Spool.open(spool.folder, KEY)


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def test_a_spool_is_made_in_a_new_or_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir(mode=0o755)
    spool = Spool.make(tmp_path / "empty", KEY)
    assert stat.S_IMODE(spool.folder.stat().st_mode) == 0o700
    for hidden in ("mine", ".mine"):
        (tmp_path / f"full{hidden}").mkdir()
        (tmp_path / f"full{hidden}" / hidden).touch()
        with pytest.raises(UsageError, match="not empty"):
            Spool.make(tmp_path / f"full{hidden}", KEY)
    with pytest.raises(UsageError, match="not empty"):
        Spool.make(spool.folder, KEY)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "target").mkdir()
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises((UsageError, OutputError)):
            Spool.make(tmp_path / name, KEY)
    with pytest.raises(OutputError):
        Spool.make(tmp_path / "missing" / "folder", KEY)


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spool: Spool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    (tmp_path / "theirs").mkdir()
    with pytest.raises(UsageError, match="another user"):
        Spool.make(tmp_path / "theirs", KEY)
    with pytest.raises(UsageError, match="another user"):
        Spool.open(spool.folder, KEY)


def test_a_folder_that_others_can_read_is_not_resumed(spool: Spool) -> None:
    spool.folder.chmod(0o750)
    with pytest.raises(UsageError, match="chmod 700"):
        Spool.open(spool.folder, KEY)


def test_a_link_in_the_place_of_a_file_is_not_followed(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"mine")
    (spool.folder / "leaf").symlink_to(tmp_path / "target")
    with pytest.raises(OutputError):
        spool.appender("leaf")
    with pytest.raises(OutputError):
        spool.put("leaf", b"")
    with pytest.raises(UsageError):
        next(spool.chunks("leaf"))
    assert (tmp_path / "target").read_bytes() == b"mine"


# ── many at once, and again ─────────────────────────────────────────────────────────────────────


def test_threads_write_files_of_one_spool_at_once(spool: Spool) -> None:
    def work(number: int) -> None:
        with spool.appender(f"leaf-{number}") as appender:
            for chunk in range(20):
                appender.write(bytes([number, chunk]) * 1000)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        expected = [bytes([number, chunk]) * 1000 for chunk in range(20)]
        assert [*spool.chunks(f"leaf-{number}")] == expected


def test_a_completed_file_can_be_continued(spool: Spool) -> None:
    written(spool, "leaf", b"one", b"two")
    again = Spool.open(spool.folder, KEY)
    with again.appender("leaf") as appender:
        assert appender.mark.chunks == 2
        appender.write(b"three")
    assert [*again.chunks("leaf")] == [b"one", b"two", b"three"]


@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("cut", [0, 1, 30])
def test_work_is_resumed_after_the_chunks_that_a_checkpoint_counted(
    spool: Spool, after: int, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not the file was completed, and whatever was torn after the checkpoint."""
    monkeypatch.setattr(sealed, "SEGMENT", 2)  # chunks of several segments
    marks = [START]
    with spool.appender("leaf") as appender:
        for chunk in (b"one", b"two", b"three"):
            appender.write(chunk)
            marks.append(appender.mark)
    path = spool.folder / "leaf"
    stored = path.read_bytes()
    path.write_bytes(stored[: len(stored) - cut])
    with spool.appender("leaf", after=marks[after]) as appender:
        assert appender.mark == marks[after]
        appender.write(b"again")
    assert [*spool.chunks("leaf")] == [*[b"one", b"two", b"three"][:after], b"again"]


@pytest.mark.parametrize("mark", [Mark(2, bytes(16)), Mark(1, bytes(16))])
def test_a_checkpoint_of_another_or_a_longer_file_is_damage(spool: Spool, mark: Mark) -> None:
    path = written(spool, "leaf", b"one")
    with pytest.raises(UsageError, match="damaged"):
        spool.appender("leaf", after=mark)
    path.write_bytes(b"\1" + b"\xff" * 4 + path.read_bytes()[5:])
    with pytest.raises(UsageError, match="damaged"):
        spool.appender("leaf", after=mark)


KILLED = """
import pickle, sys
from covey.custody.keys import Key
from covey.custody.sealed import Spool

spool = Spool.make(sys.argv[1], Key(bytes(range(32))))
with spool.appender("leaf") as appender:
    for number in range(10**9):
        appender.write(b"Q7-secret-canary %d" % number * 1000)
        if number % 10 == 9:
            appender.sync()
            spool.put("checkpoint", pickle.dumps(appender.mark))
            print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_at_any_time_the_work_is_resumed_and_nobody_reads_it(tmp_path: Path) -> None:
    for round_ in range(3):
        folder = tmp_path / f"work{round_}"
        command = [sys.executable, "-c", KILLED, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for _ in range(1 + 3 * round_):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        assert CANARY not in b"".join(path.read_bytes() for path in folder.iterdir())
        spool = Spool.open(folder, KEY)
        mark = pickle.loads(spool.get("checkpoint") or b"")
        assert (counted := mark.chunks) >= 10
        with spool.appender("leaf", after=mark) as appender:
            appender.write(b"last")
        *kept, last = spool.chunks("leaf")
        assert kept == [b"Q7-secret-canary %d" % number * 1000 for number in range(counted)]
        assert last == b"last"
        spool.remove_all()
    assert not [*tmp_path.iterdir()]


@examples(50)
@given(st.binary(min_size=32, max_size=32), st.lists(st.binary(max_size=60), min_size=1))
def test_cells_have_the_hashes_that_the_library_gives_one_by_one(
    secret: bytes, cells: list[bytes]
) -> None:
    """The hash is the last block of AES-CBC without a start over the length and the cell."""

    def alone(cell: bytes) -> int:
        message = len(cell).to_bytes(8, "little") + cell
        message += bytes(-len(message) % 16)
        cbc = Cipher(algorithms.AES(secret), modes.CBC(bytes(16))).encryptor()
        return int.from_bytes(cbc.update(message)[-16:][:8], "little")

    found = footprints._macs(secret, pl.Series(cells, dtype=pl.Binary))
    assert found.tolist() == [alone(cell) for cell in cells]


def test_what_a_checkpoint_counts_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    with Spool.make(tmp_path / "own", Key(bytes(32))).appender("rows") as file:
        file.write(b"x")
        monkeypatch.setattr(os, "fsync", synced.append)
        file.sync()
        assert synced == [file._file.fileno()]
