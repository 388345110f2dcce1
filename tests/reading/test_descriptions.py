"""The description beside a release: valid for other programs, true, and enough to read it."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from command_line import Folder
from covey.demo import people
from covey.errors import UsageError
from covey.reading import read_release
from covey.reading.description import ReleaseDescription
from covey.report.description import path_for
from covey.schema import TableFormat
from covey.schema.taxonomy import from_nested

SCHOOL = ["Pre-school", "Primary school", "Middle school", "Some high school"]
EARLY = ["High school", "Trade certificate", "Some college", "Associate degree"]
LATE = ["Bachelor degree", "Professional degree", "Master degree", "CANARY-leaf"]
DEGREES = {"Any degree": {"School": SCHOOL, "Rest": {"Early": EARLY, "CANARY": LATE}}}
FRAME = people(400).select("age", "sex", "zip", "education", "birth_date", "diagnosis", "income")
FRAME = FRAME.filter(pl.col("education").is_in([*SCHOOL, *EARLY, *LATE]))
SCHEMA = covey.Schema.of(
    quasi={
        "age": {"type": "numeric", "grid": 5, "domain": (0, 120), "top": 70},
        "sex": "categorical",
        "zip": {"type": "categorical", "taxonomy": {"build": "prefixes"}},
        "education": {"type": "categorical", "taxonomy": from_nested(DEGREES)},
        "birth_date": {"type": "date", "grid": "month"},
    },
    sensitive=["diagnosis", "income"],
)


@pytest.fixture(scope="module")
def release() -> covey.Release:
    return covey.anonymize(FRAME, SCHEMA, k=4, l={"diagnosis": 2}, seed=1)


def package_of(path: Path) -> dict[str, Any]:
    found = path_for(path)
    assert found is not None
    package: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
    return package


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.xlsx", "out.jsonl"])
def test_it_is_a_data_package_and_describes_every_column(
    release: covey.Release, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    report = release.write(path, register=False)
    assert report.output is not None
    package = package_of(path)
    (resource,) = package["resources"]
    fields = resource["schema"]["fields"]
    assert [field["name"] for field in fields] == release.table.columns
    assert all(field["description"] for field in fields)
    assert resource["hash"] == f"sha256:{report.output.sha256}"
    assert resource["bytes"] == path.stat().st_size
    assert ("encoding" in resource) is name.startswith("out.csv")


@pytest.mark.parametrize("comma", [False, True])
def test_frictionless_finds_it_valid(tmp_path: Path, comma: bool) -> None:
    frictionless = pytest.importorskip("frictionless")
    text = FRAME.with_columns(
        size=pl.Series([1.5, 2.25, None, 3.0] * (FRAME.height // 4 + 1))[: FRAME.height]
    )
    text.write_csv(tmp_path / "in.csv", separator=";" if comma else ",", decimal_comma=comma)
    schema = covey.Schema.from_dict(
        {
            **SCHEMA.model_dump(exclude={"file"}),
            "columns": {**SCHEMA.columns, "size": {"role": "sensitive", "type": "numeric"}},
        }
    )
    out = tmp_path / "out.csv"
    covey.anonymize(tmp_path / "in.csv", schema, k=4, to=out, register=False)
    fields = package_of(out)["resources"][0]["schema"]["fields"]
    assert [one["name"] for one in fields if "decimalChar" in one] == ["size"] * comma
    report = frictionless.validate(str(path_for(out)))
    assert report.valid, report.flatten(["title", "message"])
    changed = out.read_text().replace("Female", "female", 1)
    out.write_text(changed)
    assert not frictionless.validate(str(path_for(out))).valid


def test_a_recipient_needs_nothing_else(release: covey.Release, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    release.write(path, register=False)
    reader, known = read_release(path), read_release(release.table, schema=SCHEMA)
    assert reader.doubts == ()
    assert reader.schema.columns["age"].domain == (0, 120)
    assert reader.frame("bounds").equals(known.frame("bounds"))
    assert reader.frame("bounds")["age_high"].max() == 120  # where 70 and more ends
    conditions = {"age": (30, 50), "sex": "Female", "birth_date": ("1960-01-01", "1990-12-31")}
    assert reader.count(**conditions) == known.count(**conditions)
    for label in ("Pre-school", "High school", "Master degree"):  # also under wider labels
        possibly = [some.count(education=label).possibly for some in (reader, known)]
        assert possibly[0] == possibly[1] > (release.table["education"] == label).sum()
    for label, true in FRAME["education"].value_counts().iter_rows():  # shown or not
        found = reader.count(education=label)
        assert found.surely <= true <= found.possibly
    assert covey.verify(path, reader.schema, k=4).holds


def test_it_names_no_value_that_the_release_does_not_show(
    release: covey.Release, tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    release.write(path, register=False)
    text = json.dumps(package_of(path))
    assert "CANARY-leaf" not in text
    shown = set(release.table["education"].drop_nulls())
    hidden = set(FRAME["education"]) - shown
    assert not [value for value in hidden if f'"{value}":' in text and value not in shown]
    assert not [value for value in FRAME["diagnosis"].unique() if value in text]


def test_only_the_forms_that_occur_are_explained() -> None:
    people = pl.DataFrame({"c": [*"abab"]})
    release = covey.anonymize(people, covey.Schema.of(quasi={"c": "categorical"}), k=4)
    (field,) = release.report.fields
    assert "any value" in field.reading
    assert "wider" not in field.reading


def test_a_folder_has_one_description_of_all_its_files(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "in.csv")
    covey.anonymize(
        tmp_path / "in.csv", SCHEMA, k=4, to=f"{tmp_path}/out/", engine="local", part_rows=100,
        register=False,
    )  # fmt: skip
    package = json.loads((tmp_path / "out.datapackage.json").read_text(encoding="utf-8"))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [one["path"] for one in package["resources"]] == [f"out/{name}" for name in names]
    reader = read_release(tmp_path / "out")
    assert reader.doubts == ()
    assert [f["name"] for f in package["resources"][0]["schema"]["fields"]] == FRAME.columns


def test_a_changed_file_is_doubted(release: covey.Release, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    release.write(path, register=False)
    path.write_text(path.read_text().replace("Female", "female", 1))
    assert any("changed" in doubt for doubt in read_release(path).doubts)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"covey": {}}', '{"covey": 7, "resources": []}', '{"covey": 1, "covey": 2}',
     "[" * 100_000],
)  # fmt: skip
def test_what_is_no_description_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "out.datapackage.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"out\.datapackage\.json"):
        ReleaseDescription.read(path)


def test_it_leads_to_no_file_elsewhere(release: covey.Release, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    release.write(path, register=False)
    described = path_for(path)
    assert described is not None
    package = package_of(path)
    package["covey"]["columns"]["education"]["taxonomy"] = str(tmp_path / "secret.csv")
    described.write_text(json.dumps(package))
    with pytest.raises(UsageError, match="description"):
        read_release(path)


# ── in a Parquet file ───────────────────────────────────────────────────────────────────────────


def described(release: covey.Release, folder: Path) -> Path:
    """A Parquet file without the description beside it."""
    path = folder / "out.parquet"
    release.write(path, register=False)
    package_path = path_for(path)
    assert package_path is not None
    package_path.unlink()
    return path


def metadata_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)["datapackage"])
    return found


def test_another_format_of_that_name_does_not_say_how_a_file_is_written(tmp_path: Path) -> None:
    schema = SCHEMA.model_copy(update={"table": TableFormat(delimiter=";", decimal=",")})
    release = covey.anonymize(FRAME, schema, k=4, seed=1)
    for name in ("out.csv", "out.xlsx"):
        release.write(tmp_path / name, register=False)
    released = read_release(tmp_path / "out.csv")
    assert released.schema.columns["age"].grid == 5
    assert "may have been changed" in released.doubts[0]
    assert len(released) == len(release.table)


@pytest.mark.parametrize("style", [covey.Style(), covey.Style(intervals="columns")])
def test_a_parquet_file_describes_itself(tmp_path: Path, style: covey.Style) -> None:
    release = covey.anonymize(FRAME, SCHEMA, k=4, seed=1, style=style)
    path = tmp_path / "out.parquet"
    release.write(path, register=False)
    package, by_package = package_of(path), read_release(path)
    alone = described(release, tmp_path)
    facts = metadata_of(alone)
    assert facts["covey"] == package["covey"]
    beside = package["resources"][0]["schema"]
    assert [(f["name"], f["type"]) for f in beside["fields"]] == [
        (f["name"], f["type"]) for f in facts["fields"]
    ]
    assert facts["missingValues"] == beside["missingValues"]
    assert "CANARY-leaf" not in str(facts) or "CANARY-leaf" in str(release.table["education"])
    found = read_release(alone)
    assert found.doubts == ()
    assert found.schema.columns["age"].domain == (0, 120)
    for form in ("middle", "bounds"):
        assert found.frame(form).equals(by_package.frame(form))
    assert found.draw(1, seed=2)[0].equals(by_package.draw(1, seed=2)[0])
    ends = found.frame("bounds")
    assert ends["age_low"].dtype == pl.Int64
    if style.intervals == "columns":
        assert pl.read_parquet(alone)["age_low"].dtype.is_numeric()


def test_the_verifier_compares_the_description_in_a_file(
    release: covey.Release, tmp_path: Path
) -> None:
    path = described(release, tmp_path)
    assert covey.verify(path, SCHEMA, k=4, l={"diagnosis": 2}).unjudged == ()
    (other,) = covey.verify(path, SCHEMA, k=3).unjudged  # the description says 4
    assert "description" in other
    found, frame = metadata_of(path), pl.read_parquet(path)
    texts = [
        json.dumps(found | {"note": "Zq7"}),
        json.dumps(found | {"fields": [*found["fields"], {"name": "Zq7", "type": "string"}]}),
        json.dumps(found | {"covey": found["covey"] | {"version": "Zq7"}}),
        json.dumps(found | {"fields": 5551234}),
        json.dumps(found, indent=1),
        json.dumps(found).replace("{", '{"covey": "Zq7", ', 1),
        json.dumps([]),
        "Zq7",
    ]
    for text in texts:
        frame.write_parquet(path, metadata={"datapackage": text})
        (named,) = covey.verify(path, SCHEMA, k=4, l={"diagnosis": 2}).unjudged
        assert "description" in named
        assert "Zq7" not in named
    frame.write_parquet(path, metadata={"datapackage": "Zq7"})
    with pytest.raises(UsageError, match="is not a description"):
        read_release(path)


def test_the_same_parquet_file_has_the_same_bytes(release: covey.Release, tmp_path: Path) -> None:
    first = described(release, tmp_path).read_bytes()
    assert described(release, tmp_path).read_bytes() == first
    release.write(tmp_path / "out.parquet", description=False, register=False)
    assert "datapackage" not in pl.read_parquet_metadata(tmp_path / "out.parquet")


def test_a_description_does_not_travel_into_another_release(
    release: covey.Release, tmp_path: Path
) -> None:
    again = covey.anonymize(described(release, tmp_path), quasi=["sex"], rest="drop", k=3, seed=1)
    again.write(tmp_path / "again.parquet", description=False, register=False)
    assert "datapackage" not in pl.read_parquet_metadata(tmp_path / "again.parquet")


def test_the_shell_reads_and_verifies_a_parquet_file_alone(
    release: covey.Release, folder: Folder
) -> None:
    described(release, Path())
    ran = folder.covey("verify", "out.parquet")
    assert (ran.code, "description in the release" in ran.err) == (0, True)
    assert "not judged" not in ran.err
    assert "age_low" in folder.covey("read", "out.parquet", "--as", "bounds").out


def test_none_is_written_if_it_is_switched_off(release: covey.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "out.csv", description=False, register=False)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_the_shell_verifies_and_reads_by_it(folder: Folder) -> None:
    FRAME.write_csv("in.csv")
    made = folder.covey("anonymize", "in.csv", "--quasi", "age,sex,zip", "--rest", "drop", "-k", 5,
                        "-o", "out.csv")  # fmt: skip
    assert made.code == 0, made.err
    ran = folder.covey("verify", "out.csv")
    assert ran.code == 0
    assert "using the description" in ran.err
    assert "k-anonymity" in ran.out
    assert folder.covey("verify", "out.csv", "-k", 6).code in (0, 1)
    lines = Path("out.csv").read_text().splitlines()
    Path("out.csv").write_text("\n".join(lines[:-1]) + "\n")
    assert "may have been changed" in folder.covey("verify", "out.csv").err
    assert "age_low" in folder.covey("read", "out.csv", "--as", "bounds").out
