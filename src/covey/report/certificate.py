"""A certificate: what was required of a release and found in it, for others to check.

It is a Statement of the in-toto attestation framework, v1. Its subjects are the files of the
release, the schema and the reports, by their SHA-256. Its predicate says what was required and
found, and holds the part of the schema that the verifier needs: anyone with the release and the
certificate can check the release.

It reveals nothing of the original: no digest, no path, and no value that the release does not show.
It does not prove who made it; for that, sign it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from covey.errors import UsageError
from covey.report import Report
from covey.schema import Column, Role, Schema, TaxonomyBuilder
from covey.schema.requirements import AlphaK, Requirement
from covey.schema.taxonomy import Taxonomy
from covey.tables import Table, files
from covey.verification import Verdict
from covey.verification.sensitive import SensitiveColumn, counts

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:covey:release:v1"
ENDING = ".intoto.json"

# Settings of a column that affect how it is generalised, not how it is checked.
_NOT_JUDGED = {
    *("taxonomy", "weight", "missing", "grid", "domain"),
    *("missing_values", "unreadable", "recode"),  # how the original was read
    "confirmed",
}


def path_for(path: str | Path) -> Path:
    """The path of a release's certificate."""
    if path == files.STREAM:
        raise UsageError("a certificate is written beside its release: write the release to a file")
    return Path(f"{Path(path)}{ENDING}")  # beside a folder, not in it


def statement(
    release: Mapping[str, str],
    report: Report,
    reports: Mapping[str | Path, bytes],
    schema: Schema,
    requirements: Sequence[Requirement],
    released: Table,
    verdict: Verdict,
) -> bytes:
    """The certificate of a release, from the SHA-256 of its files by name and its report.

    Of its table as written, only the distinct cells of sensitive columns matter.
    """
    assert report.output is not None
    subjects = [
        *(_subject("release", name, release[name]) for name in sorted(release)),
        _subject("schema", *_schema_digest(schema)),
        *(_subject("report", Path(path).name, sha256(page)) for path, page in reports.items()),
    ]
    rows = asdict(report.rows)
    predicate = {
        "verifier": {"name": "covey", "version": report.version},
        "date": report.date,
        "asked": [required(one, released, schema) for one in requirements],
        "found": findings(verdict),
        "rows": {name: rows[name] for name in ("released", "suppressed", "dropped")},
        "method": {"name": report.method, "options": report.options},
        "key": report.key,
        "table": {"format": report.output.format, **report.output.written},
        "columns": columns_to_judge_by(schema, released),
    }
    whole = {
        "_type": STATEMENT,
        "subject": _with_names_once(subjects),
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    return (json.dumps(whole, indent=2, sort_keys=True, default=str) + "\n").encode()


def findings(verdict: Verdict) -> dict[str, Any]:
    """A verdict as a dictionary, in which only the order of the requirements matters."""
    achieved = {column.column: asdict(column) for column in verdict.achieved}
    return replace(verdict, unjudged=()).to_dict() | {
        "achieved": achieved,
        "identifiers": sorted(verdict.identifiers),
    }


def canonical(schema: Schema) -> bytes:
    """The bytes for the digest of a schema that has no file."""
    columns = {
        name: column.model_dump(mode="json", exclude={"taxonomy"}, exclude_defaults=True)
        | _canonical_tree(column)
        for name, column in schema.columns.items()
    }
    rest = schema.model_dump(mode="json", exclude={"columns"}, exclude_defaults=True)
    whole = {"columns": columns, **rest}
    return json.dumps(whole, sort_keys=True, separators=(",", ":"), default=str).encode()


def _canonical_tree(column: Column) -> dict[str, Any]:
    match column.taxonomy:
        case None:
            return {}
        case Taxonomy() as tree:
            return {"taxonomy": [*tree.paths()]}
        case TaxonomyBuilder() as builder:
            return {"taxonomy": builder.model_dump(mode="json", exclude_defaults=True)}
        case tree:
            return {"taxonomy": tree.name if isinstance(tree, Path) else tree}


def _schema_digest(schema: Schema) -> tuple[str, str, str]:
    if schema.file is not None:
        return schema.file.name, schema.file.sha256, "file"
    return "schema", sha256(canonical(schema)), "canonical JSON"


def _subject(role: str, name: str, sha256: str, form: str | None = None) -> dict[str, Any]:
    notes = {"role": role} if form is None else {"role": role, "form": form}
    return {"name": name, "digest": {"sha256": sha256}, "annotations": notes}


def _with_names_once(subjects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make names unique: reports of one name may be in several folders, and paths are secret."""
    names = [subject["name"] for subject in subjects]
    return [
        subject | ({"name": "_"} if subject["name"] in names[:place] else {})
        for place, subject in enumerate(subjects)
    ]


def required(one: Requirement, released: Table, schema: Schema) -> dict[str, Any]:
    """A requirement by its parameters; of listed values, only those that the release shows."""
    parameters = {"model": one.option, **asdict(one)}
    if isinstance(one, AlphaK) and one.values is not None:
        column = _column(one.on, released, schema)
        shown = [value for value in one.values if len(column.places([value]))]
        parameters |= {"values": shown, "listed": len(one.values)}
    return parameters


def columns_to_judge_by(schema: Schema, released: Table) -> dict[str, dict[str, Any]]:
    """The settings of each column that matter to the verifier."""
    columns = settings_to_judge_by(schema)
    for name in schema.names(Role.SENSITIVE):
        match schema.columns[name].taxonomy:
            case None:
                pass
            case TaxonomyBuilder() as builder:  # it is built from the values of the release
                columns[name]["taxonomy"] = builder.model_dump(mode="json", exclude_defaults=True)
            case _:
                tree = _tree(_column(name, released, schema))
                columns[name]["taxonomy"] = {"parents": tree}
    return columns


def settings_to_judge_by(schema: Schema) -> dict[str, dict[str, Any]]:
    """The settings of each column that matter to the verifier, except taxonomies."""
    judged = (Role.QUASI, Role.SENSITIVE)
    return {
        name: column.model_dump(
            mode="json",
            exclude=_NOT_JUDGED,
            exclude_defaults=True,
            include=None if column.role in judged else {"role"},
        )
        for name, column in schema.columns.items()
    }


def _column(name: str, released: Table, schema: Schema) -> SensitiveColumn:
    """A sensitive column as the verifier reads it."""
    column = schema.columns[name]
    return SensitiveColumn.of(name, column, released.dialect, counts(released, name, column))


def _tree(column: SensitiveColumn) -> dict[str, str]:
    """The parent of each label, for the values that the release shows.

    Other values of the taxonomy may be those of suppressed rows, so they are omitted. If they are
    deeper than the remaining ones, nameless nodes replace them, since distances depend on heights.
    """
    tree = column.tree
    assert tree is not None
    shown = [leaf for leaf in column.leaves if tree.labels[leaf]]
    kept = np.unique(tree.ancestors[shown]) if shown else np.array([tree.root])
    nodes = sorted({tree.root, *kept[kept >= 0].tolist()}, key=lambda node: -tree.depth[node])
    parents: dict[str, str] = {}
    height = dict.fromkeys(nodes, 0)
    for node in nodes:  # from the bottom up
        if node >= tree.leaf_count and height[node] < tree.subheight[node]:
            height[node] = int(tree.subheight[node])
            parents |= _nameless(tree.labels[node], height[node], tree.node_of)
        if node != tree.root:
            above = int(tree.parent[node])
            parents[tree.labels[node]] = tree.labels[above]
            height[above] = max(height[above], height[node] + 1)
    return parents


def _nameless(above: str, height: int, labels: Mapping[str, int]) -> dict[str, str]:
    """A chain of new nodes below a label, with names that no other label has."""
    chain = [above]
    while len(chain) <= height:
        label = f"{above} ({len(chain)})"
        while label in labels:
            label += "*"
        chain.append(label)
    return dict(zip(chain[1:], chain, strict=False))


def sha256(data: bytes) -> str:
    """The digest of bytes, as certificates have it."""
    return hashlib.sha256(data).hexdigest()
