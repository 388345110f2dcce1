"""Databases: files of SQLite and DuckDB, and servers by their address.

All are opened to read, never to write. A part is the name of a table or view, or a query.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from covey.errors import TableError
from covey.schema import TableFormat
from covey.tables.csv_files import check_names
from covey.tables.formats.common import (
    Found,
    chosen,
    column,
    damaged,
    memory_file,
    needed,
    others,
    saying,
)
from covey.tables.sources import QUERY

SQLITE, DUCKDB = b"SQLite format 3\0", b"DUCK"


class _Database:
    """An open database."""

    def places(self) -> dict[str, str]:
        """How a query names each table and view, by the name that a user gives."""
        raise NotImplementedError

    def query(self, query: str) -> pl.DataFrame:
        """The result of a query."""
        raise NotImplementedError

    def table(self, place: str) -> pl.DataFrame:
        """All of a table."""
        return self.query(f"SELECT * FROM {place}")  # noqa: S608 - quoted


def _found(database: _Database, part: str | None) -> Found:
    places = database.places()
    if part is not None and part not in places and QUERY.match(part):
        with saying("the database cannot carry out the query"):
            return Found(database.query(part))

    def is_filled(name: str) -> bool:
        return database.query(f"SELECT 1 AS a FROM {places[name]} LIMIT 1").height > 0  # noqa: S608

    name = chosen(part, [*places], is_filled, "table")
    return Found(database.table(places[name]), unread=others([*places], "table"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _placed(rows: Iterable[Sequence[str]], own: str) -> dict[str, str]:
    """Places by schema and name; those of the own schema need the name alone."""
    return {
        name if schema == own else f"{schema}.{name}": f"{_quoted(schema)}.{_quoted(name)}"
        for schema, name in rows
    }


# ── SQLite ──────────────────────────────────────────────────────────────────────────────────────


def read_sqlite(data: bytes, part: str | None, _: TableFormat) -> Found:
    """Read a table of an SQLite file in memory."""
    with damaged("SQLite file"), contextlib.closing(sqlite3.connect(":memory:")) as connection:
        # In memory there is no journal: these bytes of the header would ask for one.
        connection.deserialize(data[:18] + b"\1\1" + data[20:])
        return _found(_Sqlite(connection), part)


def read_sqlite_file(path: Path, part: str | None) -> Found:
    """Read a table of an SQLite file, with the changes in its journal."""
    with path.open("rb") as file:
        is_logged = file.read(20)[18:] == b"\2\2"
    # A file that keeps a log of changes has none now: reading would make one, but for this setting.
    is_settled = is_logged and not path.with_name(path.name + "-wal").exists()
    address = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if is_settled else ''}"
    with (
        damaged("SQLite file, or another program is writing to it"),
        contextlib.closing(sqlite3.connect(address, uri=True)) as connection,
    ):
        return _found(_Sqlite(connection), part)


class _Sqlite(_Database):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        for setting in ("query_only = ON", "temp_store = MEMORY", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")

    def places(self) -> dict[str, str]:
        rows = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        return {name: _quoted(name) for (name,) in rows}

    def table(self, place: str) -> pl.DataFrame:
        frame = super().table(place)
        kinds = self._connection.execute(f"PRAGMA table_info({place})")
        truths = [name for _, name, kind, *_ in kinds if str(kind).upper().startswith("BOOL")]
        whole = frame.select(truths).select(pl.selectors.integer())
        known = [cells for cells in whole if cells.is_in([0, 1]).all()]
        return frame.with_columns(cells.cast(pl.Boolean) for cells in known)

    def query(self, query: str) -> pl.DataFrame:
        rows = self._connection.execute(query)
        names = [name for name, *_ in rows.description]
        check_names(names)
        cells = [*zip(*rows, strict=True)] or [()] * len(names)
        return pl.DataFrame([column(*each) for each in zip(names, cells, strict=True)])


def write_sqlite(frame: pl.DataFrame) -> bytes:
    """An SQLite file with one table named release."""
    kinds = {
        **dict.fromkeys(frame.select(pl.selectors.boolean()).columns, "BOOLEAN"),
        **dict.fromkeys(frame.select(pl.selectors.integer()).columns, "INTEGER"),
        **dict.fromkeys(frame.select(pl.selectors.float()).columns, "REAL"),
    }
    declared = ", ".join(f"{_quoted(name)} {kinds.get(name, 'TEXT')}" for name in frame.columns)
    others = ~(pl.selectors.numeric() | pl.selectors.boolean())
    plain = frame.with_columns(
        (others | pl.selectors.decimal()).cast(pl.String),
        pl.selectors.by_dtype(pl.Float32).cast(pl.String).cast(pl.Float64),  # by its digits
    )
    wide = [name for name, dtype in plain.schema.items() if dtype in (pl.Int128, pl.UInt64)]
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE release ({declared})")
        marks = ", ".join("?" * frame.width)
        rows = plain.with_columns(pl.col(wide).cast(pl.String)).iter_rows()
        connection.executemany(f"INSERT INTO release VALUES ({marks})", rows)  # noqa: S608
        connection.commit()
        connection.execute("VACUUM")
        return connection.serialize()


# ── DuckDB ──────────────────────────────────────────────────────────────────────────────────────


def read_duckdb(data: bytes, part: str | None, _: TableFormat) -> Found:
    """Read a table of a DuckDB file in memory."""
    with memory_file(data) as path:
        return read_duckdb_file(path, part)


def read_duckdb_file(path: Path, part: str | None) -> Found:
    """Read a table of a DuckDB file."""
    duckdb = needed("duckdb", "sql", "reading a DuckDB file")
    # No file but this one is opened, and none is made for what does not fit into memory.
    settings = {"temp_directory": "", "autoinstall_known_extensions": "false"}
    with damaged("DuckDB file, or another program has it open"):
        connection = duckdb.connect(str(path), read_only=True, config=settings)
        with contextlib.closing(connection):
            connection.execute("SET enable_external_access = false")
            return _found(_Duckdb(connection), part)


class _Duckdb(_Database):
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def places(self) -> dict[str, str]:
        rows = self._connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal UNION ALL "
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        )
        return _placed(rows.fetchall(), "main")

    def query(self, query: str) -> pl.DataFrame:
        relation = self._connection.sql(query)
        check_names(relation.columns)
        each = zip(relation.columns, relation.types, strict=True)
        chosen = ", ".join(_as_plain(name, str(kind)) for name, kind in each)
        frame: pl.DataFrame = relation.project(chosen).pl()
        return frame


def _as_plain(name: str, kind: str) -> str:
    """A column, cast to text if polars does not have its type."""
    odd = kind.startswith(("ENUM", "INTERVAL", "UUID", "BIT", "TIME WITH", "JSON"))
    cell = _quoted(name)
    return f"CAST({cell} AS VARCHAR) AS {cell}" if odd else cell


# ── servers ─────────────────────────────────────────────────────────────────────────────────────


def read_address(address: str, part: str | None) -> Found:
    """Read a table of a database on a server, through ADBC."""
    scheme = address.partition("://")[0].lower()
    if scheme not in ("postgresql", "postgres"):
        raise TableError(
            "covey reads databases at postgresql:// addresses, and files: for another database, "
            "export the table, or read it into a dataframe"
        )
    driver = needed("adbc_driver_postgresql.dbapi", "sql", "reading from PostgreSQL")
    with _connected(driver, address) as cursor, saying("the database cannot be read"):
        return _found(_Postgres(cursor), part)


@contextlib.contextmanager
def _connected(driver: Any, address: str) -> Iterator[Any]:
    # The message of the driver would quote the address, which may hold a password.
    with saying("the database cannot be opened: check its address, user and password"):
        connection = driver.connect(address)
    with contextlib.ExitStack() as stack:
        stack.callback(connection.close)
        yield stack.enter_context(connection.cursor())


class _Postgres(_Database):
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        cursor.execute("SET TRANSACTION READ ONLY")

    def places(self) -> dict[str, str]:
        rows = self._rows(
            "SELECT nspname::text AS s, relname::text AS r, current_schema()::text AS own "
            "FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
            "WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname !~ '^pg_' "
            "AND nspname <> 'information_schema' AND has_schema_privilege(nspname, 'USAGE') "
            "AND has_table_privilege(pg_class.oid, 'SELECT') ORDER BY 1, 2"
        )
        return _placed([row[:2] for row in rows], rows[0][2] if rows else "public")

    def query(self, query: str) -> pl.DataFrame:
        names, kinds = self._described(query)
        chosen = ", ".join(
            # Types that Arrow does not have come as text.
            _quoted(name) if kind in _ARROW_HAS else f"{_quoted(name)}::text AS {_quoted(name)}"
            for name, kind in zip(names, kinds, strict=True)
        )
        self._cursor.execute(f"SELECT {chosen} FROM ({query}) AS part")  # noqa: S608 - the user's
        return pl.DataFrame(self._cursor.fetch_arrow())

    def _described(self, query: str) -> tuple[Sequence[str], Sequence[str]]:
        """The names of the columns of a query, and their types."""
        self._cursor.execute(f"SELECT * FROM ({query}) AS part LIMIT 0")  # noqa: S608
        names = [name for name, *_ in self._cursor.description]
        check_names(names)
        each = enumerate(names)
        types = ", ".join(f"pg_typeof({_quoted(name)})::text AS t{place}" for place, name in each)
        row = self._rows(
            f"SELECT {types} FROM (SELECT 1) AS one LEFT JOIN ({query}) AS part ON true LIMIT 1"  # noqa: S608
        )
        return names, row[0]

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        self._cursor.execute(query)
        frame = pl.DataFrame(self._cursor.fetch_arrow())
        return frame.rows()


_ARROW_HAS = {
    *("smallint", "integer", "bigint", "real", "double precision", "boolean", "text"),
    *("character varying", "character", "date", "time without time zone"),
    *("timestamp without time zone", "timestamp with time zone"),
}
