"""Check a release against its certificate.

Others may have made both. So what a certificate claims is read strictly, a name in it leads to no
file elsewhere, and of its text only numbers are shown.
"""

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from covey import tables
from covey.errors import UsageError, ViolationError, count
from covey.report.certificate import findings, settings_to_judge_by, sha256
from covey.schema import Column, Schema, TableFormat, TaxonomyBuilder
from covey.schema import taxonomy as trees
from covey.schema.requirements import MODELS, AlphaK, Requirement
from covey.schema.taxonomy import Taxonomy
from covey.tables import sources
from covey.tables.digests import digests
from covey.verification import Verdict, verify
from covey.verification.verifying import Persons

MOST_LISTED = 100_000  # values that a requirement lists
LARGEST = 64 << 20  # bytes of a certificate, or of a report beside it

# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class _Claim(BaseModel):
    """Ignore unknown fields, as in-toto requires, and check the types of known ones."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", hide_input_in_errors=True)


class _Digest(_Claim):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class _Subject(_Claim):
    digest: _Digest
    name: str = "_"
    annotations: dict[str, Any] = {}

    @property
    def role(self) -> Any:
        return self.annotations.get("role")


class _Verifier(_Claim):
    name: str
    version: str


class _Rows(_Claim):
    released: Annotated[int, Field(ge=1)]
    suppressed: Annotated[int, Field(ge=0)]
    dropped: Annotated[int, Field(ge=0)]


class _Method(_Claim):
    name: str
    options: dict[str, Any]


class _Table(_Claim):
    model_config = ConfigDict(extra="allow")  # fields that a later covey may add

    format: str
    delimiter: str
    encoding: str
    decimal: str
    missing: list[str]


class _Predicate(_Claim):
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
        return tuple(map(claimed_requirement, self.asked))

    @cached_property
    def schema_to_judge_by(self) -> Schema:
        return claimed_schema(self.columns, self.dialect)

    @property
    def dialect(self) -> dict[str, Any]:
        return _known(TableFormat, self.table.model_dump())


class _Statement(_Claim):
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
    data = read_file(path, "the certificate")
    try:
        found = _Statement.model_validate(strict_json(data))
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


def read_file(path: str | Path, what: str) -> bytes:
    """The bytes of a small file that others may have made."""
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


def strict_json(data: bytes) -> Any:
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


def claimed_requirement(claim: Mapping[str, Any]) -> Requirement:
    """A requirement by its parameters."""
    kind = MODELS.get(str(claim.get("model")))
    if kind is None:
        raise UsageError("unknown privacy model")
    known = {each.name: claim[each.name] for each in fields(kind) if each.name in claim}
    if kind is AlphaK and isinstance(values := known.get("values"), list):
        # Values that the release does not show are omitted: placeholders replace them.
        listed = claim.get("listed", len(values))
        if type(listed) is not int or not len(values) <= listed <= MOST_LISTED:
            raise UsageError("impossible number of listed values")
        known["values"] = (*values, *(f"\0{number}" for number in range(len(values), listed)))
    return kind(**known)


def claimed_schema(columns: Mapping[str, Mapping[str, Any]], dialect: Mapping[str, Any]) -> Schema:
    """The schema of a release, by the settings of its columns and of its format."""
    known = {name: _known(Column, settings) for name, settings in columns.items()}
    for settings in known.values():
        if "taxonomy" in settings:
            settings["taxonomy"] = _taxonomy(settings["taxonomy"])
    form = _known(TableFormat, dialect) | {"header": True}
    return Schema.from_dict({"columns": known, "table": form})


def _known(model: type[BaseModel], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name in model.model_fields}


def _taxonomy(claim: Any) -> Taxonomy | TaxonomyBuilder:
    """A tree, or how to build one; never the path of a file."""
    match claim:
        case {"build": _}:
            return TaxonomyBuilder.model_validate(_known(TaxonomyBuilder, claim))
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
    persons: Persons | None = None,
) -> Checked:
    """Check the bytes of a release against its certificate, and verify it again.

    A release may be a file or a folder of files. Schema and reports are checked if they are beside
    the certificate; `schema` may lie elsewhere.
    """
    statement, notes = read(certificate), _Notes()
    source: bytes | str | Path
    if sources.of(released).is_many:
        found = {name: digest.sha256 for name, digest in digests(released).items()}
        notes.differences.extend(_against_files(statement.release, found))
        source = released
    else:
        source = tables.read_bytes(released)
        if [*statement.release.values()] != [sha256(source)]:
            notes.differences.append(_differs("the release"))
    for subject in statement.subject:
        if subject.role in ("schema", "report"):
            given = schema if subject.role == "schema" else None
            _check_companion(subject, statement.predicate, Path(certificate).parent, given, notes)
    verdict = _judge(source, statement.predicate, persons, notes)
    return Checked(verdict, tuple(notes.differences), tuple(notes.unchecked))


@dataclass(frozen=True)
class _Notes:
    differences: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


def _differs(what: str) -> str:
    return f"the SHA-256 of {what} differs from that in the certificate"


def _against_files(claimed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """Compare the files of a folder; names that are not covey's own are counted, not shown."""
    if missing := claimed.keys() - found.keys():
        yield f"{count(len(missing), 'file')} of the certificate not in the folder"
    if more := found.keys() - claimed.keys():
        yield f"{count(len(more), 'file')} in the folder not in the certificate"
    if changed := [name for name in claimed.keys() & found.keys() if claimed[name] != found[name]]:
        yield _differs(f"{count(len(changed), 'file')} of the release")


def _judge(
    source: Any, claims: _Predicate, persons: Persons | None, notes: _Notes
) -> Verdict | None:
    try:
        schema = claims.schema_to_judge_by
        if isinstance(source, bytes):
            source = tables.from_bytes(source, schema, schema.table)
        verdict = verify(source, schema, claims.requirements, persons=persons)
    except UsageError as error:
        notes.differences.append(f"the table cannot be checked as the certificate says: {error}")
        return None
    known = findings(verdict) | {"holds": not verdict.broken}
    # Without the person column, nobody can find again what counts persons.
    known["checks"] = [
        check.to_dict()
        if check.judged
        else {"requirement": check.name, "asked": check.asked, "holds": True}
        for check in verdict.checks
    ]
    notes.unchecked.extend(
        f"{check.name}: {check.reason}" for check in verdict.checks if not check.judged
    )
    if verdict.risks.person is not None and verdict.risks.prosecutor is None:
        known["risks"] = {"person": verdict.risks.person}
        notes.unchecked.append("the risks for persons, for the same reason")
    counted = {"found": known, "rows": {"released": verdict.rows}}
    claimed = {"found": claims.found, "rows": {"released": claims.rows.released}}
    notes.differences.extend(
        f"{place}: the certificate says {_figure(claim)}, the table has {_figure(figure)}"
        for place, claim, figure in _differing(claimed, counted)
    )
    return verdict


def _check_companion(
    subject: _Subject, claims: _Predicate, folder: Path, given: str | Path | None, notes: _Notes
) -> None:
    name = subject.name
    path = folder / name if given is None else Path(given)
    # The maker of the certificate chose the name: it must not lead elsewhere, or to a pipe.
    plain = Path(name).name == name and subject.annotations.get("form", "file") == "file"
    if given is None and not (plain and _is_file(path)):
        notes.unchecked.append(f"the {subject.role} {name!r} is not beside the certificate")
        return
    data = read_file(path, f"the {subject.role}")
    if sha256(data) != subject.digest.sha256:
        notes.differences.append(_differs(f"the {subject.role} {name!r}"))
    elif subject.role == "schema":
        notes.differences.extend(_against_schema(claims, Schema.from_toml(path)))
    elif path.suffix.lower() == ".json":
        notes.differences.extend(_against_report(claims, data))


def _is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_file()
    return False


def _against_schema(claims: _Predicate, schema: Schema) -> Iterator[str]:
    own = settings_to_judge_by(schema)
    for name in dict.fromkeys([*claims.columns, *own]):
        settings = _known(Column, claims.columns.get(name, {}))
        settings.pop("taxonomy", None)
        if settings != own.get(name):
            yield f"column {name!r} differs between certificate and schema"


def _against_report(claims: _Predicate, data: bytes) -> Iterator[str]:
    """Compare what a JSON report says too, and the release does not show."""
    shared = {
        "covey": claims.verifier.version,
        "date": claims.date,
        "rows": claims.rows.model_dump(),
        "method": claims.method.model_dump(),
        "key": claims.key,
        "output": {"format": claims.table.format, "written": claims.dialect},
    }
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        yield "the report is not JSON"
        return
    for place, _, _ in _differing(report, shared):
        yield f"{place} differs between certificate and report"


def _differing(claim: Any, found: Any, *place: str) -> Iterator[tuple[str, Any, Any]]:
    """Where two trees of plain values differ, for all that the second has."""
    if isinstance(found, Mapping) and isinstance(claim, Mapping):
        for name, value in found.items():
            yield from _differing(claim.get(name, _NOTHING), value, *place, str(name))
    elif isinstance(found, list | tuple) and isinstance(claim, list) and len(found) == len(claim):
        for number, value in enumerate(found):
            yield from _differing(claim[number], value, *place, str(number))
    elif not _equal(claim, found):
        yield ".".join(place), claim, found


_NOTHING = object()


def _equal(claim: Any, found: Any) -> bool:
    """Whether two values are equal; the last digits of figures depend on the machine."""
    numbers = [value for value in (claim, found) if type(value) in (int, float)]
    if len(numbers) == 2 and float in map(type, numbers):
        close = abs(claim) < 1e300 and math.isclose(claim, found, rel_tol=1e-9)
        return close or bool(claim == found)
    return type(claim) is type(found) and bool(claim == found)


def _figure(value: Any) -> str:
    """Show numbers only: the maker of a certificate may have chosen any other text."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)[:40]
    return "nothing" if value is _NOTHING else "something else"
