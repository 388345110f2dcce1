"""Where the table begins in a CSV file, and what separates its fields.

Exports put titles, comments and blank lines before the header; surveys use a space as delimiter,
and some programs write a space after each comma. All of this is seen from the first lines of the
file: the delimiter splits nearly all of them into the same number of fields, and a line before the
header has at most one field with text.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covey.schema import TableFormat

DELIMITERS = (",", ";", "\t", "|")
_LOOKED_AT = 1 << 16  # bytes
_MOST_BEFORE = 50  # lines before a header
_MOST, _NEARLY_ALL = 0.7, 0.9
_FEW = 3  # lines that show nothing


class Record(NamedTuple):
    """The fields of one record, and the lines of the file up to its end."""

    fields: list[str]
    lines: int


@dataclass(frozen=True)
class Layout:
    """The delimiter, the lines before the header, and whether spaces follow the delimiter."""

    delimiter: str
    skip: int = 0
    spaced: bool = False

    def without_lines(self, data: bytes) -> bytes:
        """The bytes from the header on."""
        end = 0
        for _ in range(self.skip):
            end = data.find(b"\n", end) + 1
            if not end:
                return b""
        return data[end:]

    def without_spaces(self, data: bytes) -> bytes:
        """The same records without spaces after delimiters."""
        return _without_spaces(data, ord(self.delimiter)) if self.spaced else data

    def detected(self, declared: TableFormat) -> list[str]:
        """What was detected and not declared."""
        lines = "1 line" if self.skip == 1 else f"{self.skip} lines"
        return [
            *([] if declared.delimiter else [f"delimiter {name(self.delimiter)}"]),
            *([f"{lines} before the header"] if self.skip and declared.skip is None else []),
            *(["spaces after the delimiter"] if self.spaced else []),
        ]


def name(sign: str) -> str:
    """A sign as a message shows it."""
    return {"\t": "tab", "": "(empty)", " ": "space"}.get(sign, repr(sign))


def detect(data: bytes, declared: TableFormat, known: frozenset[str]) -> Layout:
    """The layout of a file whose header may have the `known` names."""
    end = data.find(b"\n", _LOOKED_AT) + 1  # of the line
    whole = data[:end] if end else data
    signs = [declared.delimiter[0]] if declared.delimiter else [*DELIMITERS, " "]
    tried = {sign: _records(whole, sign) for sign in signs if len(sign.encode()) == 1}
    if not tried:
        return Layout(signs[0])
    delimiter = max(tried, key=lambda sign: _fits(tried[sign], known, sign))
    records = tried[delimiter]
    skip = _before_header(records, known) if declared.header is not False else 0
    # Of a release, which has no lines to skip, each cell is judged as it is written.
    detected = declared.delimiter is None and declared.skip != 0 and _is_spaced(records)
    spaced = declared.is_spaced or detected
    return Layout(delimiter, skip if declared.skip is None else declared.skip, spaced)


def outside_quotes(signs: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of these places in a text that no quotes are around."""
    quotes = signs == ord('"')
    if not quotes.any():
        return places
    inside = np.cumsum(quotes, dtype=np.uint8) & 1
    outside: NDArray[np.int64] = places[inside[places] == 0]
    return outside


def header(data: bytes, delimiter: str) -> list[str]:
    """The fields of the first record; none if one is too long."""
    lines = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:  # a field that is too long
        return []


def _records(data: bytes, delimiter: str) -> list[Record]:
    text = io.StringIO(data.decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    found: list[Record] = []
    try:
        for fields in reader:
            found.append(Record(fields, reader.line_num))
    except (csv.Error, TypeError):
        return found
    return found


def _fits(
    records: Sequence[Record], known: frozenset[str], sign: str
) -> tuple[int, bool, int, int]:
    """How well a delimiter splits the file: known names, agreement, lines before it, fields."""
    names = max((len(known.intersection(map(str.strip, r.fields))) for r in records[:_MOST_BEFORE]),
                default=0)  # fmt: skip
    width, share, first = _usual(records)
    if sign == " ":  # also stands inside texts: it must split every line alike
        alike = width > 1 and share == 1 and len(records) > _FEW
        return names, False, 0, width if alike else 0
    if width < 2 or share < _MOST:
        return names, False, 0, len(records[0].fields) if records else 0
    # A comma may split all rows, being their decimal sign, but not their header.
    return names, True, -first, width


def _usual(records: Sequence[Record]) -> tuple[int, float, int]:
    """The most frequent number of fields, its share from its first line on, and that line."""
    widths = [len(r.fields) for r in records if any(map(str.strip, r.fields))]
    if not widths:
        return 0, 0.0, 0
    width, lines = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
    first = widths.index(width)
    return width, lines / (len(widths) - first), first


def _before_header(records: Sequence[Record], known: frozenset[str]) -> int:
    """The number of lines before the header."""
    width, _, _ = _usual(records)
    lines = 0
    if len(records) <= _FEW and not known:
        return 0
    for record in records[:_MOST_BEFORE]:
        if known.intersection(map(str.strip, record.fields)) or not _is_title(record, width):
            return lines
        lines = record.lines
    return 0


def _is_title(record: Record, width: int) -> bool:
    """Whether a line is blank, a comment, or a text in the first field only."""
    fields = record.fields
    if width < 2:
        return False
    uneven = len(fields) != width or not all(map(str.strip, fields))  # as no header is
    comment = bool(fields) and fields[0].startswith("#") and uneven
    return comment or not any(map(str.strip, fields[1:]))


def _is_spaced(records: Sequence[Record]) -> bool:
    """Whether a space follows nearly every delimiter."""
    after = [field for record in records[1:] for field in record.fields[1:] if field]
    return bool(after) and sum(f.startswith(" ") for f in after) >= _NEARLY_ALL * len(after)


def _without_spaces(data: bytes, delimiter: int) -> bytes:
    """The same without the spaces after delimiters, outside quotes."""
    signs = np.frombuffer(data, np.uint8)
    drop = np.zeros(len(signs), dtype=bool)
    at = outside_quotes(signs, np.flatnonzero(signs == delimiter)) + 1
    while len(at := at[at < len(signs)]) and len(at := at[signs[at] == ord(" ")]):
        drop[at] = True
        at = at + 1
    return signs[~drop].tobytes()
