"""The papers behind the methods: `papers.bib` is the one place that holds what is known of them.

What could not be confirmed is left out of an entry, be it a page or a first name.
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
    """The authors' last names and the year of an entry, as far as each field is on one line."""
    fields = {name.lower(): text for name, text in _FIELD.findall(bibtex)}
    authors = re.split(r"\s+and\s+", fields.get("author", "").replace("{", "").replace("}", ""))
    names = [name.partition(",")[0] if "," in name else name.split(" ")[-1] for name in authors]
    return " ".join(filter(None, [", ".join(names), fields.get("year", "")]))
