"""Results that are written to a file in the format of its name's ending."""

import json
from pathlib import Path
from typing import Any, ClassVar

from covey.errors import OutputError
from covey.report import charts
from covey.report.charts import PICTURES
from covey.tables import files
from covey.verification.rounding import rounded


class Writable:
    """A result with `to_dict`, and `frame`, `to_html` or `chart` for formats other than JSON."""

    formats: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON file has them."""
        raise NotImplementedError

    def to_json(self) -> str:
        """The result as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"

    def written_as(self, path: str | Path) -> bytes:
        """The bytes of a file of this name."""
        self.refuse_format(path)
        shown: Any = self
        match ending := _ending(path):
            case ".json":
                return self.to_json().encode()
            case ".html":
                return shown.to_html().encode()  # type: ignore[no-any-return]
            case ".csv":
                return rounded(shown).frame.write_csv().encode()  # type: ignore[no-any-return]
        return charts.picture(shown.chart(), ending)

    def write(self, path: str | Path) -> None:
        """Write a file in the format of its name's ending, whole or not at all."""
        files.write(path, self.written_as(path))

    @classmethod
    def refuse_format(cls, path: str | Path) -> None:
        """Refuse an unknown ending, or a chart if the packages for charts are missing."""
        ending = _ending(path)
        if ending not in cls.formats:
            *some, last = cls.formats
            known = f"{', '.join(some)} or {last}"
            raise OutputError(f"the file name of a {cls.__name__.lower()} must end in {known}")
        if ending in PICTURES:
            charts.refuse_without_charts()


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lower()
