from pathlib import Path
from typing import TYPE_CHECKING

from covey.cli.files import register_at
from covey.cli.options import command
from covey.cli.shown import show_overlaps, show_releases
from covey.cli.terminal import give_json, out, say
from covey.errors import GuaranteeError, UsageError, count

if TYPE_CHECKING:
    from covey.custody.register import Register


@command("List the releases in the register, or check that none is missing.")
def releases(
    *,
    register: Path | None = None,
    key: Path | None = None,
    people: bool = False,
    check: bool = False,
    accept_loss: str | None = None,
    as_json: bool = False,
) -> None:
    known = register_at(register, key)
    if accept_loss is not None:
        if people or check or as_json:
            raise UsageError("--accept-loss goes alone: pass the other options afterwards")
        for problem in known.accept_loss(accept_loss):
            say(f"accepted: {problem}")
    elif check:
        _check(known)
    elif as_json:
        _give(known)
    else:
        _list(known, people=people)


def _check(known: "Register") -> None:
    if problems := known.problems(thorough=True):
        raise GuaranteeError(f"the register is not whole: {'; '.join(problems)}")
    say(f"the register is whole: {count(len(known.releases()), 'release')}, none changed")


def _give(known: "Register") -> None:
    overlaps = known.overlaps()
    shared = (overlap for id_ in overlaps.ids for overlap in overlaps.before(id_))
    found = {
        "register": str(known.path),
        "releases": [entry.to_dict() for entry in known.releases()],
        "people": [overlap.to_dict() for overlap in shared],
        "losses": [loss.to_dict() for loss in known.losses()],
        "problems": known.problems(),
    }
    give_json(found, ensure_ascii=False)


def _list(known: "Register", *, people: bool) -> None:
    entries, overlaps = known.releases(), known.overlaps()
    if entries:
        show_releases(entries, overlaps)
        if people:
            show_overlaps(entries, overlaps)
    else:
        out.print("the register has no releases")
    for loss in known.losses():
        say(f"entries were lost; accepted on {loss.date[:10]}: {loss.reason}")
    for problem in known.problems():
        say(f"the register is not whole: {problem}")


@command("Remove releases that were never published from the register.")
def forget(
    *,
    ids: list[str],
    register: Path | None = None,
    key: Path | None = None,
) -> None:
    register_at(register, key).forget(*ids)
    say(f"{count(len(ids), 'release')} forgotten: new releases are no longer checked against them")
