from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.files import opened
from covey.cli.options import Format, Required, command, found_beside, schema_beside
from covey.cli.roles import GivenRoles
from covey.cli.shown import show_achieved, show_risks, show_verdict
from covey.cli.terminal import give_json, out, say
from covey.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covey.reading.description import ReleaseDescription
    from covey.schema import Schema, TableFormat
    from covey.schema.requirements import Requirement
    from covey.verification import Verdict


@command("Check from the cells of a table whether it meets the requirements.")
def verify(  # noqa: PLR0913 - groups of options
    *,
    table: str,
    schema: Path | None = None,
    roles: GivenRoles,
    required: Required,
    population: str | None = None,
    certificate: Path | None = None,
    as_json: bool = False,
    format: Format,
) -> None:
    if certificate is not None:
        if (required, population, format, roles) != (Required(), None, Format(), GivenRoles()):
            raise UsageError("the certificate states what to check: omit the other options")
        _check_certificate(table, certificate, schema, as_json=as_json)
        return
    from covey import verification

    requirements: Sequence[Requirement] | None = None  # those of the schema
    if roles.are_given and schema is not None:
        raise UsageError("the schema has the roles of the columns: pass either it or them")
    if roles.are_given:
        source = opened(table, declared=format.declared())
        settings = required.applied(roles.of_release(source.names))
    else:
        described = None if schema or found_beside(table) else _described(table)
        if described is None:
            settings = required.applied(format.schema(schema_beside(table, schema)))
        else:
            settings = required.applied(described.schema)
            requirements = described.requirements if required == Required() else None
        source = opened(table, settings, declared=_of_release(settings, format))
    if required.person is not None and settings.require.k is None:
        raise UsageError("--person counts persons for k: pass -k too")
    verdict = verification.verify(source, settings, require=requirements)
    if population is not None:
        from covey.verification.population import population_risks

        verdict = population_risks(verdict, source.together(), population, settings)
    if as_json:
        give_json(verdict.to_dict())
    else:
        _show(verdict)
    verdict.raise_if_broken()


def _described(table: str) -> "ReleaseDescription | None":
    """What the description of a release says, beside it or in it, if there is one."""
    from covey.reading.description import ReleaseDescription

    found = ReleaseDescription.found_for(table)
    if found is None:
        return None
    say(f"using the description {'beside' if found.hashes else 'in'} the release")
    for doubt in found.doubts(table):
        say(f"note: {doubt}")
    return found


def _of_release(schema: "Schema", format: Format) -> "TableFormat":
    """How to read a release; lines before a header are skipped only if this command says so."""
    released = schema.table.of_release()
    return released if format.skip is None else released.model_copy(update={"skip": format.skip})


def _check_certificate(table: str, path: Path, schema: Path | None, *, as_json: bool) -> None:
    from covey.report.checking import check

    found = check(table, path, schema=schema)
    if as_json:
        give_json(found.to_dict())
    elif found.verdict is not None:
        _show(found.verdict)
    for note in found.unchecked:
        say(f"not checked: {note}")
    found.raise_if_wrong()
    say("the release matches its certificate")


def _show(verdict: "Verdict") -> None:
    show_verdict(verdict, out)
    for one in verdict.unjudged:
        say(f"not judged: {one}")
    show_achieved(verdict, out)
    show_risks(verdict, out)
