"""Tables of a PostgreSQL server that the tests start: on a socket in a folder, for one user."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_postgresql.dbapi as postgres
import polars as pl
import pytest

import covey
from command_line import Folder
from covey import tables
from covey.errors import TableError

SECRET = "Q7-secret"
PEOPLE = pl.DataFrame({"age": [39, 40, 51], "town": ["Ash", "Bó", None]})


def programs() -> Path | None:
    """The folder of the server's programs; Debian puts them on no path."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    plain = shutil.which("initdb")
    found += [Path(plain)] if plain else []
    return max(found).parent if found else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a database in a new server."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed here")
    # The server refuses to run as root.
    user = {"user": "postgres"} if os.getuid() == 0 else {}
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pg")))
        if user:
            shutil.chown(place, "postgres")
        data = place / "data"
        subprocess.run(
            [folder / "initdb", "-D", data, "-A", "trust", "-U", "custodian", "--no-sync"],
            check=True, capture_output=True, cwd="/", **user,
        )  # type: ignore[call-overload]  # fmt: skip
        settings = ["listen_addresses=", "fsync=off", f"unix_socket_directories={place}"]
        running = subprocess.Popen(
            [folder / "postgres", "-D", data, *(f"-c{setting}" for setting in settings)],
            stderr=subprocess.DEVNULL, cwd="/", **user,
        )  # type: ignore[call-overload]  # fmt: skip
        stack.callback(running.wait, 20)
        stack.callback(running.send_signal, signal.SIGQUIT)
        address = f"postgresql://custodian:{SECRET}@/postgres?host={place}"
        fill(address)
        yield address


def fill(address: str) -> None:
    for _ in range(100):
        with contextlib.suppress(Exception):
            connection = postgres.connect(address)
            break
        time.sleep(0.1)
    with connection, connection.cursor() as cursor:
        for statement in (
            "CREATE TABLE people (age int, town text)",
            "INSERT INTO people VALUES (39, 'Ash'), (40, 'Bó'), (51, NULL)",
            "CREATE SCHEMA care",
            "CREATE TABLE care.visits AS SELECT 1.50::numeric AS cost, date '2024-05-31' AS day, "
            "'1 day'::interval AS took, timestamptz '2024-05-31 12:00Z' AS seen, "
            "gen_random_uuid() AS id, ARRAY[1, 2] AS list, true AS paid, '{}'::jsonb AS more",
            'CREATE TABLE "Odd "" na.me" (a int)',
            "CREATE MATERIALIZED VIEW towns AS SELECT DISTINCT town FROM people",
        ):
            cursor.execute(statement)
        connection.commit()


def test_a_table_or_a_query(server: str) -> None:
    found = tables.read(f"{server}::people")
    assert found.frame.with_columns(pl.col("age").cast(pl.Int64)).equals(PEOPLE)
    assert found.source == "postgres::people"
    some = tables.read(f"{server}::SELECT max(age)::bigint AS oldest FROM people")
    assert some.frame["oldest"].to_list() == [51]
    assert some.source == "postgres"
    assert tables.read(f"{server}::towns").frame.height == 3
    assert tables.read(f'{server}::Odd " na.me').frame.columns == ["a"]


def test_types_that_arrow_does_not_have_come_as_text(server: str) -> None:
    found = tables.read(f"{server}::care.visits").frame
    assert found["cost"].to_list() == ["1.50"]
    assert found["took"].to_list() == ["1 day"]
    assert found["list"].to_list() == ["{1,2}"]
    assert len(found["id"][0]) == 36
    assert found["day"].dtype == pl.Date
    assert found["seen"].dtype == pl.Datetime("us", "UTC")
    assert found["paid"].to_list() == [True]
    none = tables.read(f"{server}::SELECT * FROM care.visits WHERE false").frame
    assert none.schema == found.schema


def test_tables_are_listed(server: str) -> None:
    with pytest.raises(TableError, match=r"'care.visits', 'people'"):
        tables.read(server)
    with pytest.raises(TableError, match="'people'"):
        tables.read(f"{server}::nothing")


def test_nothing_is_changed_and_nothing_is_quoted(server: str) -> None:
    for query in (
        "WITH gone AS (DELETE FROM people RETURNING *) SELECT * FROM gone",
        f"SELECT '{SECRET}' FROM nothing",
        f"SELECT '{SECRET}'::int AS a",
        "SELECT 1 AS a; DROP TABLE people",
        "SELECT * FROM people) AS x; COMMIT; DROP TABLE people; SELECT * FROM (SELECT 1",
    ):
        with pytest.raises(TableError) as caught:
            tables.read(f"{server}::{query}")
        assert SECRET not in str(caught.value)
    assert tables.read(f"{server}::people").frame.height == 3


def test_a_server_that_does_not_answer_is_said_without_its_password(server: str) -> None:
    for address in (
        server.replace("host=", "host=/nowhere"),
        server.replace("/postgres?", "/nothing?"),
    ):
        with pytest.raises(TableError, match="cannot be opened") as caught:
            tables.read(f"{address}::people")
        assert SECRET not in str(caught.value)


def test_a_release_from_a_server(server: str, folder: Folder) -> None:
    people = pl.read_csv(folder.path / "people.csv", infer_schema=False)
    columns = ", ".join(f'"{name}" text' for name in people.columns)
    with postgres.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE patients ({columns})")
        cursor.adbc_ingest("patients", people.to_arrow(), mode="append")
        connection.commit()
    ran = folder.covey("inspect", f"{server}::patients", "-o", "draft.toml")
    assert ran.code == 0, ran.err
    assert "covey anonymize" in ran.err
    assert SECRET not in ran.err + ran.out + (folder.path / "draft.toml").read_text()
    ran = folder.anonymize(f"{server}::patients", "-k", 3, "--report", "out.json", "--no-register")
    assert ran.code == 0, ran.err
    assert SECRET not in ran.err + ran.out + (folder.path / "out.json").read_text()
    assert covey.verify(
        folder.path / "out.csv",
        covey.Schema.from_toml(folder.path / "people.toml"),
        require=covey.KAnonymity(3),
    ).holds
