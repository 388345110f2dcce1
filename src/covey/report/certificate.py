"""A certificate: what was required of a release and found in it, for others to check.

It is a Statement of the in-toto attestation framework, v1. Its subjects are the files of the
release, the schema and the reports, by their SHA-256. Its predicate says what was required and
found, and holds the part of the schema that the verifier needs: anyone with the release and the
certificate can check the release.

It reveals nothing of the original: no digest, no path, and no value that the release does not show.
It does not prove who made it; for that, sign it.
"""

import contextlib
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from covey import tables
from covey.errors import UsageError, ViolationError, count
from covey.report import Report
from covey.schema import Column, Role, Schema, TableFormat, TaxonomyBuilder
from covey.schema import taxonomy as trees
from covey.schema.requirements import MODELS, AlphaK, Requirement
from covey.schema.taxonomy import Taxonomy
from covey.tables import Table, files, sources
from covey.tables.digests import digests
from covey.verification import Verdict, verify
from covey.verification.sensitive import SensitiveColumn, counts

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:covey:release:v1"
ENDING = ".intoto.json"
MOST_LISTED = 100_000  # values that a requirement lists
LARGEST = 64 << 20  # bytes of a certificate, or of a report beside it

# Settings of a column that affect how it is generalised, not how it is checked.
_NOT_JUDGED = {
    *("taxonomy", "weight", "missing", "grid", "domain"),
    *("missing_values", "unreadable", "recode"),  # how the original was read
    "confirmed",
}


def beside(path: str | Path) -> Path:
    """The path of a release's certificate."""
    if path == files.STREAM:
        raise UsageError("a certificate is written beside its release: write the release to a file")
    return Path(f"{Path(path)}{ENDING}")  # beside a folder, not in it


# ── making ──────────────────────────────────────────────────────────────────────────────────────


def statement(
    release: Mapping[str, str],
    report: Report,
    reports: Mapping[str | Path, bytes],
    schema: Schema,
    asked: Sequence[Requirement],
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
        *(_subject("report", Path(path).name, _sha256(page)) for path, page in reports.items()),
    ]
    rows = asdict(report.rows)
    predicate = {
        "verifier": {"name": "covey", "version": report.version},
        "date": report.date,
        "asked": [_asked(one, released, schema) for one in asked],
        "found": _found(verdict),
        "rows": {name: rows[name] for name in ("released", "suppressed", "dropped")},
        "method": {"name": report.method, "options": report.options},
        "key": report.key,
        "table": {"format": report.output.format, **report.output.written},
        "columns": _columns(schema, released),
    }
    said = {
        "_type": STATEMENT,
        "subject": _with_names_once(subjects),
        "predicateType": PREDICATE,
        "predicate": predicate,
    }
    return (json.dumps(said, indent=2, sort_keys=True, default=str) + "\n").encode()


def _found(verdict: Verdict) -> dict[str, Any]:
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
    said = {"columns": columns, **rest}
    return json.dumps(said, sort_keys=True, separators=(",", ":"), default=str).encode()


def _canonical_tree(column: Column) -> dict[str, Any]:
    match column.taxonomy:
        case None:
            return {}
        case Taxonomy():
            return {"taxonomy": [*column.taxonomy.paths()]}
        case TaxonomyBuilder():
            return {"taxonomy": column.taxonomy.model_dump(mode="json", exclude_defaults=True)}
        case Path():
            return {"taxonomy": column.taxonomy.name}
        case _:
            return {"taxonomy": column.taxonomy}


def _schema_digest(schema: Schema) -> tuple[str, str, str]:
    if schema.file is not None:
        return schema.file.name, schema.file.sha256, "file"
    return "schema", _sha256(canonical(schema)), "canonical JSON"


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


def _asked(one: Requirement, released: Table, schema: Schema) -> dict[str, Any]:
    """A requirement by its parameters; of listed values, only those that the release shows."""
    said = {"model": one.option, **asdict(one)}
    if isinstance(one, AlphaK) and one.values is not None:
        column = _column(one.on, released, schema)
        shown = [value for value in one.values if len(column.places([value]))]
        said |= {"values": shown, "listed": len(one.values)}
    return said


def _columns(schema: Schema, released: Table) -> dict[str, dict[str, Any]]:
    columns = _settings(schema)
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


def _settings(schema: Schema) -> dict[str, dict[str, Any]]:
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
            parents |= _nameless(tree.labels[node], height[node], taken=tree.node_of)
        if node != tree.root:
            above = int(tree.parent[node])
            parents[tree.labels[node]] = tree.labels[above]
            height[above] = max(height[above], height[node] + 1)
    return parents


def _nameless(above: str, height: int, taken: Mapping[str, int]) -> dict[str, str]:
    chain = [above]
    while len(chain) <= height:
        label = f"{above} ({len(chain)})"
        while label in taken:
            label += "*"
        chain.append(label)
    return dict(zip(chain[1:], chain, strict=False))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class _Said(BaseModel):
    """Ignore unknown fields, as in-toto requires, and check the types of known ones."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)


class _Digest(_Said):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _Subject(_Said):
    digest: _Digest
    name: str = "_"
    annotations: dict[str, Any] = {}

    @property
    def role(self) -> Any:
        return self.annotations.get("role")


class _Verifier(_Said):
    name: str
    version: str


class _Rows(_Said):
    released: Annotated[int, Field(ge=1)]
    suppressed: Annotated[int, Field(ge=0)]
    dropped: Annotated[int, Field(ge=0)]


class _Method(_Said):
    name: str
    options: dict[str, Any]


class _Table(_Said):
    model_config = ConfigDict(extra="allow")  # fields that a later covey may add

    format: str
    delimiter: str
    encoding: str
    decimal: str
    missing: list[str]


class _Predicate(_Said):
    verifier: _Verifier
    date: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")
    asked: list[dict[str, Any]]
    found: dict[str, Any]
    rows: _Rows
    method: _Method
    key: str | None = None
    table: _Table
    columns: dict[str, dict[str, Any]]

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        return tuple(map(_requirement, self.asked))

    @cached_property
    def schema_to_judge_by(self) -> Schema:
        columns = {name: _known(Column, said) for name, said in self.columns.items()}
        for settings in columns.values():
            if "taxonomy" in settings:
                settings["taxonomy"] = _taxonomy(settings["taxonomy"])
        return Schema.from_dict({"columns": columns, "table": self.dialect | {"header": True}})

    @property
    def dialect(self) -> dict[str, Any]:
        return _known(TableFormat, self.table.model_dump())


class _Statement(_Said):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[_Subject] = Field(min_length=1)
    predicate_type: Literal["urn:covey:release:v1"] = Field(alias="predicateType")
    predicate: _Predicate

    @model_validator(mode="after")
    def _is_about_one_release(self) -> Self:
        names = [subject.name for subject in self.subject if subject.role == "release"]
        if not names or len(set(names)) < len(names):
            raise ValueError("no subject with the role release, or several of one name")
        return self

    @property
    def release(self) -> dict[str, str]:
        """The SHA-256 of the files of the release, by name."""
        files = (subject for subject in self.subject if subject.role == "release")
        return {subject.name: subject.digest.sha256 for subject in files}


def read(path: str | Path) -> _Statement:
    """Read a certificate and check the form of everything that covey uses."""
    data = _read_file(path, "the certificate")
    try:
        found = _Statement.model_validate(_json(data))
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"])) or "_type"
        raise UsageError(f"this is not a certificate by covey: see {place!r}") from None
    except (ValueError, RecursionError):
        raise UsageError("the certificate is not JSON") from None
    try:
        found.predicate.requirements  # noqa: B018
        found.predicate.schema_to_judge_by  # noqa: B018
    except (UsageError, TypeError, ValidationError) as error:
        why = f": {error}" if isinstance(error, UsageError) else ""
        raise UsageError(
            f"this version of covey cannot check what the certificate requires{why}"
        ) from None
    return found


def _read_file(path: str | Path, what: str) -> bytes:
    try:
        if Path(path).exists() and not Path(path).is_file():  # covey would wait for a pipe
            raise UsageError(f"{what} is a folder or a device, not a file")
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror}") from None
    except UsageError:
        raise
    except ValueError:
        raise UsageError(f"{what} cannot be read: no such path") from None
    if len(data) > LARGEST:
        raise UsageError(f"{what} is larger than {LARGEST >> 20} MB")
    return data


def _json(data: bytes) -> Any:
    """Parse strict JSON: no duplicate names, no NaN, no infinite or huge numbers."""
    return json.loads(
        data,
        object_pairs_hook=_each_once,
        parse_constant=_finite,
        parse_float=_finite,
        parse_int=_whole,
    )


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse duplicate names, which programs read differently."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError
    return found


def _finite(written: str) -> float:
    if not math.isfinite(number := float(written)):
        raise ValueError
    return number


def _whole(written: str) -> int:
    if len(written) > 16:
        raise ValueError
    return int(written)


def _requirement(said: Mapping[str, Any]) -> Requirement:
    kind = MODELS.get(str(said.get("model")))
    if kind is None:
        raise UsageError("unknown privacy model")
    known = {one.name: said[one.name] for one in fields(kind) if one.name in said}
    if kind is AlphaK and isinstance(values := known.get("values"), list):
        # Values that the release does not show are omitted: placeholders replace them.
        listed = said.get("listed", len(values))
        if type(listed) is not int or not len(values) <= listed <= MOST_LISTED:
            raise UsageError("impossible number of listed values")
        known["values"] = (*values, *(f"\0{number}" for number in range(len(values), listed)))
    return kind(**known)


def _known(model: type[BaseModel], said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in said.items() if name in model.model_fields}


def _taxonomy(said: Any) -> Taxonomy | TaxonomyBuilder:
    """A tree, or how to build one; never the path of a file."""
    match said:
        case {"build": _}:
            return TaxonomyBuilder.model_validate(_known(TaxonomyBuilder, said))
        case {"parents": dict() as parents} if all(isinstance(a, str) for a in parents.values()):
            return trees.build(parents)
    raise UsageError("unknown kind of taxonomy")


# ── checking ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Checked:
    """The result of checking a release against its certificate."""

    verdict: Verdict | None  # None if the table does not fit the certificate
    differences: tuple[str, ...]
    unchecked: tuple[str, ...]  # what cannot be checked with the two files alone

    @property
    def holds(self) -> bool:
        """Whether nothing differs and no requirement is violated."""
        return not self.differences and self.verdict is not None and not self.verdict.broken

    def raise_if_wrong(self) -> None:
        """Raise `ViolationError` with all differences and violations."""
        wrong = [*self.differences]
        if self.verdict is not None:
            wrong += self.verdict.complaints(judged=True)
        if wrong:
            raise ViolationError("; ".join(wrong))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        return {
            "holds": self.holds,
            "differences": list(self.differences),
            "unchecked": list(self.unchecked),
            "verdict": self.verdict and self.verdict.to_dict(),
        }


def check(
    released: str | Path,
    certificate: str | Path,
    *,
    schema: str | Path | None = None,
    persons: Mapping[str, pl.Series | Sequence[object]] | None = None,
) -> Checked:
    """Check the bytes of a release against its certificate, and verify it again.

    A release may be a file or a folder of files. Schema and reports are checked if they are beside
    the certificate; `schema` may lie elsewhere.
    """
    said, notes = read(certificate), _Notes()
    source: bytes | str | Path
    if sources.of(released).is_many:
        found = {name: one.sha256 for name, one in digests(released).items()}
        notes.differences.extend(_against_files(said.release, found))
        source = released
    else:
        source = tables.read_bytes(released)
        if [*said.release.values()] != [_sha256(source)]:
            notes.differences.append(
                "the SHA-256 of the release differs from that in the certificate"
            )
    for subject in said.subject:
        if subject.role in ("schema", "report"):
            given = schema if subject.role == "schema" else None
            _check_companion(subject, said.predicate, Path(certificate).parent, given, notes)
    verdict = _judge(source, said.predicate, persons, notes)
    return Checked(verdict, tuple(notes.differences), tuple(notes.unchecked))


def _against_files(said: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Compare the files of a folder; names that are not covey's own are counted, not shown."""
    if missing := said.keys() - found.keys():
        yield f"{count(len(missing), 'file')} of the certificate not in the folder"
    if more := found.keys() - said.keys():
        yield f"{count(len(more), 'file')} in the folder not in the certificate"
    if changed := [name for name in said.keys() & found.keys() if said[name] != found[name]]:
        yield (
            f"the SHA-256 of {count(len(changed), 'file')} of the release differs from that in the "
            "certificate"
        )


@dataclass(frozen=True)
class _Notes:
    differences: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def _judge(
    source: Any,
    said: _Predicate,
    persons: Mapping[str, pl.Series | Sequence[object]] | None,
    notes: _Notes,
) -> Verdict | None:
    try:
        schema = said.schema_to_judge_by
        if isinstance(source, bytes):
            source = tables.from_bytes(source, schema, schema.table)
        verdict = verify(source, schema, said.requirements, persons=persons)
    except UsageError as error:
        notes.differences.append(f"the table cannot be checked as the certificate says: {error}")
        return None
    notes.unchecked.extend(
        f"{check.name}: {check.reason}" for check in verdict.checks if not check.judged
    )
    if verdict.risks.person is not None and verdict.risks.prosecutor is None:
        notes.unchecked.append("the risks for persons, for the same reason")
    notes.differences.extend(_differences(said.found, _found_again(verdict), "found"))
    notes.differences.extend(_differences(said.rows.released, verdict.rows, "rows.released"))
    return verdict


def _found_again(verdict: Verdict) -> dict[str, Any]:
    """What was found, without what could not be checked again."""
    found = _found(verdict) | {"holds": not verdict.broken}
    found["checks"] = [
        check.to_dict()
        if check.judged
        else {"requirement": check.name, "asked": check.asked, "holds": True}
        for check in verdict.checks
    ]
    if verdict.risks.person is not None and verdict.risks.prosecutor is None:
        found["risks"] = {"person": verdict.risks.person}
    return found


def _check_companion(
    subject: _Subject, said: _Predicate, folder: Path, given: str | Path | None, notes: _Notes
) -> None:
    name = subject.name
    path = folder / name if given is None else Path(given)
    # The maker of the certificate chose the name: it must not lead elsewhere, or to a pipe.
    plain = Path(name).name == name and subject.annotations.get("form", "file") == "file"
    if given is None and not (plain and _is_file(path)):
        notes.unchecked.append(f"the {subject.role} {name!r} is not beside the certificate")
        return
    data = _read_file(path, f"the {subject.role}")
    if _sha256(data) != subject.digest.sha256:
        notes.differences.append(
            f"the SHA-256 of the {subject.role} {name!r} differs from that in the certificate"
        )
    elif subject.role == "schema":
        notes.differences.extend(_against_schema(said, Schema.from_toml(path)))
    elif path.suffix.lower() == ".json":
        notes.differences.extend(_against_report(said, data))


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_file()
    return False


def _against_schema(said: _Predicate, schema: Schema) -> Iterator[str]:
    ours = _settings(schema)
    for name in dict.fromkeys([*said.columns, *ours]):
        settings = {**_known(Column, said.columns.get(name, {}))}
        settings.pop("taxonomy", None)
        if settings != ours.get(name):
            yield f"column {name!r} differs between certificate and schema"


def _against_report(said: _Predicate, data: bytes) -> Iterator[str]:
    """Compare what a JSON report says too, and the release does not show."""
    ours = {
        "covey": said.verifier.version,
        "date": said.date,
        "rows": said.rows.model_dump(),
        "method": said.method.model_dump(),
        "key": said.key,
        "output": {"format": said.table.format, "written": said.dialect},
    }
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        yield "the report is not JSON"
        return
    for place, _, _ in _differing(report, ours, ()):
        yield f"{place} differs between certificate and report"


def _differences(said: Any, found: Any, place: str) -> Iterator[str]:
    for where, one, other in _differing(said, found, (place,)):
        yield f"{where}: the certificate says {_figure(one)}, the table has {_figure(other)}"


def _differing(said: Any, found: Any, place: tuple[str, ...]) -> Iterator[tuple[str, Any, Any]]:
    """Where two trees of plain values differ, for all that the second has."""
    if isinstance(found, Mapping) and isinstance(said, Mapping):
        for name, value in found.items():
            yield from _differing(said.get(name, _NOTHING), value, (*place, str(name)))
    elif isinstance(found, list | tuple) and isinstance(said, list) and len(found) == len(said):
        for number, value in enumerate(found):
            yield from _differing(said[number], value, (*place, str(number)))
    elif not _equal(said, found):
        yield ".".join(place), said, found


_NOTHING = object()


def _equal(said: Any, found: Any) -> bool:
    """Whether two values are equal; the last digits of figures depend on the machine."""
    numbers = [one for one in (said, found) if isinstance(one, float)]
    if numbers and all(type(one) in (int, float) for one in (said, found)):
        return said == found or (abs(said) < 1e300 and math.isclose(said, found, rel_tol=1e-9))
    return type(said) is type(found) and bool(said == found)


def _figure(value: Any) -> str:
    """Show numbers only: the maker of a certificate may have chosen any other text."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)[:40]
    return "nothing" if value is _NOTHING else "something else"
