"""The custodian's key: created once, readable only by its owner, and never revealed."""

import base64
import copy
import hmac
import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from covey import KAnonymity, OutputError, UsageError, anonymize, demo
from covey.cli import main as cli
from covey.custody import keys
from covey.custody.keys import SIZE, VARIABLE, Key, folder

SECRET = bytes(range(SIZE))


def test_a_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "data" / "covey" / "key"
    first, second = Key.of(path), Key.of(str(path))
    assert (first.path, first.is_new) == (path, True)
    assert (second.path, second.is_new) == (path, False)
    assert first.fingerprint == second.fingerprint
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["key"]


def test_a_key_that_another_process_has_stored_meanwhile_stays(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("theirs", encoding="ascii")
    assert not keys._make(tmp_path / "key")
    assert (tmp_path / "key").read_text(encoding="ascii") == "theirs"


def test_the_custodians_own_key_lies_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made = Key.of().path
    assert made is not None
    assert made == folder() / "key"
    assert Key.of(made).fingerprint == Key.of().fingerprint


def test_the_environment_names_the_key_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    assert Key.of().path == tmp_path / "mine"


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    program = (
        "import sys; from covey.custody.keys import Key; print(Key.of(sys.argv[1]).fingerprint)"
    )
    arguments = [sys.executable, "-c", program, str(tmp_path / "key")]
    started = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = [process.communicate()[0].strip() for process in started]
    assert told == [Key.of(tmp_path / "key").fingerprint] * 4


def test_digests_are_those_of_hmac_and_never_collide_by_their_parts() -> None:
    key = Key(SECRET)
    packed = b"".join(len(part).to_bytes(8) + part for part in (b"seed", b"ab", b""))
    assert key.digest("seed", b"ab", b"") == hmac.digest(SECRET, packed, "sha256")
    lists = [("seed", [b"ab"]), ("seed", [b"a", b"b"]), ("seeda", [b"b"]), ("seed", [b"ab", b""])]
    assert len({key.digest(purpose, *parts) for purpose, parts in lists}) == len(lists)
    assert key.digest("seed") != Key(bytes(SIZE)).digest("seed")


@pytest.mark.parametrize("content", [b"", b"abc", b"g" * 64, b"0" * 63, b"0" * 65, bytes(5000)])
def test_a_file_that_holds_no_key_is_refused_and_kept(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="does not hold a key"):
        Key.of(path)
    assert path.read_bytes() == content


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    Key.of(path)
    path.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        Key.of(path)


@pytest.mark.parametrize("wrong", [b"short", bytes(33)])
def test_bytes_of_another_length_are_no_key(wrong: bytes) -> None:
    with pytest.raises(UsageError, match="32 bytes"):
        Key.of(wrong)


def test_a_named_file_that_cannot_be_made_is_an_error_and_not_another_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "key", tmp_path):
        with pytest.raises(UsageError, match="key"):
            Key.of(path)


def test_without_a_place_to_keep_it_a_key_is_drawn_for_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    one, other = Key.of(), Key.of()
    assert not one.stored
    assert one.fingerprint != other.fingerprint


@pytest.mark.slow
def test_a_key_tells_nothing_of_itself(tmp_path: Path) -> None:
    """Neither in its repr, nor in what a release and its reports hold, nor by copying."""
    key = Key(SECRET)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="never"):
            copied(key)
    release = anonymize(demo.people(40), demo.schema(), require=[KAnonymity(3)], key=key)
    assert key.fingerprint in release.report.to_json()
    release.write(tmp_path / "out.csv", report=[tmp_path / "r.json", tmp_path / "r.html"])
    told = [path.read_bytes() for path in tmp_path.iterdir()]
    told += [text.encode() for text in (repr(key), repr(release), release.report.to_html())]
    secrets = (SECRET, SECRET.hex().encode(), base64.b64encode(SECRET), repr(SECRET).encode())
    assert not [secret for secret in secrets for text in told if secret in text]
    assert os.environ[VARIABLE].encode() not in b"".join(told)


def test_a_pipe_is_no_key_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="regular file"):
        Key.of(tmp_path / "pipe")


def test_no_output_replaces_the_key_or_the_source(tmp_path: Path) -> None:
    source, path = tmp_path / "people.csv", tmp_path / "key"
    demo.people(40).write_csv(source)
    release = anonymize(source, demo.schema(), require=[KAnonymity(3)], key=path)
    for output in (source, path):
        before = output.read_bytes()
        with pytest.raises(OutputError, match="overwrite"):
            release.write(output)
        with pytest.raises(OutputError, match="overwrite"):
            release.write(tmp_path / "out.csv", report=_named(output, "json"))
        assert output.read_bytes() == before


def _named(path: Path, ending: str) -> Path:
    """The same file by a name that fits a report."""
    linked = path.with_suffix(f".{ending}")
    if not linked.exists():
        os.link(path, linked)
    return linked


@pytest.mark.parametrize("request_", [["anonymize", "-k", "3"], ["inspect", "--force"]])
def test_no_command_writes_over_the_custodians_key(request_: list[str], tmp_path: Path) -> None:
    table, schema = demo.write(tmp_path, 40)
    key = Path(os.environ[VARIABLE])
    before = key.read_bytes()
    more = ["-s", str(schema)] if "anonymize" in request_ else []
    assert cli.run([*request_, str(table), *more, "-o", str(key)]) == 2
    assert key.read_bytes() == before
