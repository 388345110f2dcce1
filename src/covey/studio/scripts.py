"""A script and a notebook that make the same release, with covey's public names."""

import json
from dataclasses import fields
from importlib.metadata import version

from covey.studio.work import SCHEMA_FILE, Work

REPORTS = ("report.html", "report.json")


def script(work: Work, output: str) -> str:
    """The script; its first argument, if given, is the place of the table."""
    begin = [
        f'"""Make {_plain(output)} again, as covey studio made it.',
        "",
        f"It needs covey (this was {version('covey')}), the table, {SCHEMA_FILE} beside this file "
        "and your key.",
        "The same request with the same key gives the same bytes.",
        '"""',
        "",
        "import sys",
        "",
        "import covey",
        "",
        f"table = sys.argv[1] if len(sys.argv) > 1 else {work.opened.typed!r}",
    ]
    return "\n".join([*begin, *_making(work), *_writing(work, output), ""])


def notebook(work: Work, output: str) -> str:
    """The same as a notebook, without outputs."""
    introduction = [
        f"# {_plain(output)}",
        "",
        f"The release as covey studio made it (covey {version('covey')}). It needs the table, "
        f"`{SCHEMA_FILE}` beside this notebook and your key. The same request with the same key "
        "gives the same bytes.",
    ]
    cells = [
        _cell("markdown", introduction),
        _cell("code", ["import covey", "", f"table = {work.opened.typed!r}"]),
        _cell("code", [*_making(work), "release"]),
        _cell("code", _writing(work, output)),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, lines: list[str]) -> dict[str, object]:
    source = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    more: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def _making(work: Work) -> list[str]:
    options = [f"    {name}={value!r}," for name, value in work.options.items()]
    if work.value_sets or work.low_high:
        style = work.style
        options.append(f"    style=covey.Style({style.categories!r}, {style.intervals!r}),")
    read = f"schema = covey.Schema.from_toml({SCHEMA_FILE!r})"
    return [read, "release = covey.anonymize(", "    table,", "    schema,", *options, ")"]


def _writing(work: Work, output: str) -> list[str]:
    texts = ((each.name, getattr(work.about, each.name)) for each in fields(work.about))
    about = [f"        {name}={text!r}," for name, text in texts if text]
    return [
        "release.write(",
        f"    {output!r},",
        f"    report={list(REPORTS)!r},",
        *(["    certificate=True,"] if work.certificate else []),
        *(["    about=covey.About(", *about, "    ),"] if about else []),
        ")",
    ]


def _plain(name: str) -> str:
    """A name for a text in a program: without signs that would end it."""
    return "".join(sign for sign in name if sign.isprintable() and sign not in '"\\`#<>')
