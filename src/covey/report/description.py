"""A description of a release that other programs read, too: a Frictionless Data Package.

It says what the columns are, how to read their cells and what was required, so that nobody needs
the schema. It contains nothing that the release does not show. Its part `covey` has the form of
a certificate, and is read by the same code.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from covey.report.certificate import columns_to_judge_by, required
from covey.report.fields import Field
from covey.report.report import Output, Report
from covey.schema import Role, Schema
from covey.schema.requirements import Requirement
from covey.tables import Table, files, sources
from covey.tables.digests import Digest

PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
ENDING = ".datapackage.json"
_MEDIA = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "sqlite": "application/vnd.sqlite3",
}
_READ_BY = ("grid", "domain")  # settings that say which values a cell stands for


def path_for(path: str | Path) -> Path | None:
    """The path of a release's description; None on standard output, or at an address."""
    name = Path(path).name.removesuffix(".gz")
    if path == files.STREAM or not name or sources.is_address(str(path)):
        return None
    return Path(path).with_name(f"{Path(name).stem}{ENDING}")


def description(
    digests: Mapping[str, Digest],
    report: Report,
    schema: Schema,
    requirements: Sequence[Requirement],
    released: Table,
    folder: str | None = None,
) -> bytes:
    """The description of a release, from its files by name; `folder` is theirs, if it has one.

    Of its table, only the distinct cells of sensitive columns matter.
    """
    title = report.about.title if report.about else None
    package: dict[str, Any] = {
        "$schema": PROFILE,
        **({"title": title} if title else {}),
        "description": str(report.headline),
        "created": f"{report.date}T00:00:00Z",
        "resources": [
            _resource(name if folder is None else f"{folder}/{name}", digest, report)
            for name, digest in sorted(digests.items())
        ],
        "covey": _judged_by(report, report.output, schema, requirements, released),
    }
    return (json.dumps(package, indent=2, ensure_ascii=False, default=str) + "\n").encode()


def carried(
    report: Report,
    schema: Schema,
    requirements: Sequence[Requirement],
    released: Table,
    format: str,
) -> str:
    """The same facts, to be written into the released file itself.

    No sentence is in it, and no date, so that the verifier can compare all of it, and the same
    release has the same bytes.
    """
    written = Output(format, 0, "", released.dialect.written)
    facts = {
        "fields": [{"name": field.name, "type": field.type} for field in report.fields],
        "missingValues": _missing(written),
        "covey": _judged_by(report, written, schema, requirements, released),
    }
    return json.dumps(facts, ensure_ascii=False, default=str)


def _judged_by(
    report: Report,
    output: Output | None,
    schema: Schema,
    requirements: Sequence[Requirement],
    released: Table,
) -> dict[str, Any]:
    """What the release is judged by, and which values its cells stand for."""
    assert output is not None
    return {
        "version": report.version,
        "asked": [required(one, released, schema) for one in requirements],
        "table": {"format": output.format, **output.written},
        "columns": _columns(schema, released, report.fields),
    }


def _missing(output: Output) -> list[str]:
    return ["", *(token for token in output.written["missing"] if token)]


def _resource(path: str, digest: Digest, report: Report) -> dict[str, Any]:
    output = report.output
    assert output is not None
    kind = output.format
    is_text = kind.endswith("csv")
    dialect = {"delimiter": output.written["delimiter"]} if is_text else {}
    decimal = output.written["decimal"] if is_text else "."
    return {
        "name": re.sub(r"[^a-z0-9._-]+", "-", Path(path).stem.lower()).strip("-.") or "release",
        "path": path,
        "format": output.format,
        **({"mediatype": _MEDIA[kind]} if kind in _MEDIA else {}),
        **({"encoding": output.written["encoding"], "dialect": dialect} if is_text else {}),
        "bytes": digest.bytes,
        "hash": f"sha256:{digest.sha256}",
        "schema": {
            "fields": [_field(field, decimal) for field in report.fields],
            "missingValues": _missing(output),
        },
    }


def _field(field: Field, decimal: str) -> dict[str, Any]:
    comma = {"decimalChar": decimal} if field.type == "number" and decimal != "." else {}
    return {
        "name": field.name,
        "type": field.type,
        **({"title": field.label} if field.label else {}),
        "description": f"{field.role}; {field.reading}",
        **comma,
    }


def _columns(schema: Schema, released: Table, fields: Sequence[Field]) -> dict[str, dict[str, Any]]:
    """What a certificate says of the columns, and which values the cells stand for."""
    columns = columns_to_judge_by(schema, released)
    for name, column in schema.columns.items():
        if column.role is Role.QUASI:
            settings = column.model_dump(mode="json", include={*_READ_BY}, exclude_defaults=True)
            columns[name] |= settings
    for field in fields:
        if field.parents is not None:
            columns[field.column]["taxonomy"] = {"parents": dict(field.parents)}
        elif schema.columns[field.column].role is Role.QUASI:
            columns[field.column] |= _builder(schema, field.column)
    return columns


def _builder(schema: Schema, name: str) -> dict[str, Any]:
    """How the taxonomy of a column is built from the values that the release shows."""
    column = schema.columns[name]
    if column.taxonomy is None or not column.has_own_tree:
        return {}
    tree = column.model_dump(mode="json", include={"taxonomy"}, exclude_defaults=True)
    return {"taxonomy": tree["taxonomy"]}
