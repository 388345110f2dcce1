"""The papers of the methods, read from `papers.bib`.

Entries omit what could not be confirmed, such as pages or first names.
"""

import re
from importlib.resources import files

_ENTRY = re.compile(r"^@\w+\{([^,]+),.*?^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*[{\"](.*)[}\"],?\s*$", re.MULTILINE)

PAPERS: dict[str, str] = {
    entry[1]: entry[0]
    for entry in _ENTRY.finditer(files(__package__).joinpath("papers.bib").read_text("utf-8"))
}


def cited(bibtex: str) -> str:
    """The authors' last names and the year of an entry; each field must be on one line."""
    fields = {name.lower(): text for name, text in _FIELD.findall(bibtex)}
    authors = re.split(r"\s+and\s+", fields.get("author", "").replace("{", "").replace("}", ""))
    names = [name.partition(",")[0] if "," in name else name.split(" ")[-1] for name in authors]
    return " ".join(filter(None, [", ".join(names), fields.get("year", "")]))
