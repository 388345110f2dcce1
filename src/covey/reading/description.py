"""What the description beside a release says of it.

Others may have made it. So it is read strictly, by the code that reads certificates, and it leads
to no other file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from covey.errors import UsageError
from covey.report.checking import claimed_requirement, claimed_schema, read_file, strict_json
from covey.report.description import path_for
from covey.schema import Schema
from covey.schema.requirements import Requirement
from covey.tables import formats, sources
from covey.tables.digests import digests
from covey.tables.formats import arrow


class _Covey(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", hide_input_in_errors=True)

    asked: list[dict[str, Any]]
    table: dict[str, Any]
    columns: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class ReleaseDescription:
    """A release by its description."""

    schema: Schema
    requirements: tuple[Requirement, ...]
    hashes: Mapping[str, str]  # of its files, by their names; none if the file itself says it

    @classmethod
    def found_for(cls, source: Any) -> "ReleaseDescription | None":
        """The description of a release: beside it, or in a Parquet file; None if there is none."""
        if not isinstance(source, str | Path):
            return None
        place = sources.of(str(source)).place
        path = path_for(place)
        if path is not None and path.is_file():
            return cls.read(path)._read_for(Path(place))
        if path is None or not Path(place).is_file() or formats.kind_of_file(place) != "parquet":
            return None
        text = arrow.description_in(place)
        return cls._of(text.encode(), "the description in the file") if text else None

    @classmethod
    def read(cls, path: Path) -> "ReleaseDescription":
        """Read a description, and check the form of everything that covey uses."""
        return cls._of(read_file(path, "the description"), path.name)

    @classmethod
    def _of(cls, data: bytes, name: str) -> "ReleaseDescription":
        try:
            package = strict_json(data)
            found = _Covey.model_validate(package["covey"])
            hashes = {
                Path(str(one["path"])).name: str(one["hash"]).removeprefix("sha256:")
                for one in package.get("resources", ())
            }
            requirements = tuple(map(claimed_requirement, found.asked))
            return cls(claimed_schema(found.columns, found.table), requirements, hashes)
        except (ValidationError, UsageError, ValueError, TypeError, LookupError, RecursionError):
            raise UsageError(
                f"{name} is not a description by covey: remove or replace it"
            ) from None

    def _read_for(self, place: Path) -> "ReleaseDescription":
        """The same, but for how the file is written if it is of another format of that name."""
        if place.is_dir() or place.suffix in {Path(name).suffix for name in self.hashes}:
            return self
        unknown = dict.fromkeys(("format", "delimiter", "encoding"))
        table = self.schema.table.model_copy(update=unknown)
        return replace(self, schema=self.schema.model_copy(update={"table": table}))

    def doubts(self, source: str | Path) -> list[str]:
        """How the files differ from those that it describes."""
        if not self.hashes:  # it is in the file itself
            return []
        found = {name: digest.sha256 for name, digest in digests(source).items()}
        if found == self.hashes:
            return []
        return ["this is not the file that its description is of: it may have been changed"]
