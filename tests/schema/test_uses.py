"""Uses that are declared in a schema: kept by all that edits it, refused if no column fits."""

from pathlib import Path

import pytest

import covey
from covey.errors import SchemaError

USES = ("mean of income by sex", 'count where job = "night nurse" and age >= 65')
SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "sex": "categorical"},
    insensitive=["income", "job"],
    identifier=["name"],
    uses=USES,
)


def test_uses_stay_when_a_schema_is_written_and_edited(tmp_path: Path) -> None:
    path = tmp_path / "covey.toml"
    path.write_text(SCHEMA.to_toml(), encoding="utf-8")
    read = covey.Schema.from_toml(path)
    assert read == SCHEMA
    edited = read.with_settings("age", grid=5).with_role("job", "sensitive").requiring(k=5)
    assert edited.uses == USES


def test_a_column_takes_its_uses_along() -> None:
    assert SCHEMA.without("job").uses == USES[:1]
    with pytest.raises(SchemaError, match=r"use 2.*'job'"):
        SCHEMA.with_role("job", "drop")


@pytest.mark.parametrize(
    ("use", "column"), [("mean of incom", "'incom'"), ("count by name", "'name'")]
)
def test_an_unknown_or_removed_column_is_an_error(use: str, column: str) -> None:
    with pytest.raises(SchemaError, match=f"use 3.*{column}"):
        SCHEMA.using([*USES, use])


def test_no_value_of_a_use_is_in_a_message() -> None:
    for use in ("count where job = Secret Agent", "count where age Secret Agent", "Secret of age"):
        with pytest.raises(SchemaError) as error:
            SCHEMA.using([use])
        assert "ecret" not in str(error.value)
