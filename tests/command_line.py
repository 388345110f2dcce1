"""The command line, run in a folder with the demonstration in it."""

import functools
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from covey import demo
from covey.cli import main as cli

PEOPLE = 120


@functools.cache
def demonstration() -> dict[Path, bytes]:
    """The files of invented people, their schema and its trees, by their places."""
    with tempfile.TemporaryDirectory() as folder:
        demo.write(Path(folder), PEOPLE)
        written = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {path.relative_to(folder): path.read_bytes() for path in written}


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Folder:
    """A folder with invented people and their schema, and commands run from there."""

    def __init__(self, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        for place, data in demonstration().items():
            (path / place).parent.mkdir(exist_ok=True)
            (path / place).write_bytes(data)
        self.path = path
        self.capfd = capfd

    def covey(self, *arguments: object) -> Ran:
        self.capfd.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        return Ran(code, *self.capfd.readouterr())

    def anonymize(self, table: object = "people.csv", *more: object) -> Ran:
        return self.covey("anonymize", table, "-s", "people.toml", "-o", "out.csv", *more)

    def write(self, name: str, data: str | bytes) -> Path:
        path = self.path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def untouched(self) -> bool:
        """Whether nothing was written and no draft is left."""
        return not any("out" in p.name or "draft" in p.name for p in self.path.iterdir())
