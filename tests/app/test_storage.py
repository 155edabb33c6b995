"""Plans outlive the process, and a database that cannot be used is said to be so."""

import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from app.jobs import leases
from app.operations.settings import Settings
from app.routers.cost_models import EXAMPLE
from app.schemas.lists import JobOut
from app.storage import database as storage
from app.storage import revisions
from tests.app.here import here
from tests.app.service import ROOT, Json, Service, environment, faults, two_layers
from tests.waiting import until


def of_revision(folder: Path, revision: str) -> Engine:
    """Make a database as an earlier release has it."""
    engine = create_engine(f"sqlite:///{folder / 'interlace.db'}")
    with engine.begin() as connection:
        config = revisions.config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return engine


def insert(connection: Connection, table: str, row: Json) -> None:
    values = ", ".join(f":{name}" for name in row)
    connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"), row)


def test_what_was_kept_before_there_were_jobs(tmp_path: Path, service: Service) -> None:
    """A database of revision 4, with a plan, a simulation and a sweep."""
    engine = of_revision(tmp_path, "0004")
    small = {key: two_layers()[key] for key in ("graph", "cluster")}
    made = {
        "plans": (two_layers(), "optimal"),
        "simulations": (small | {"policy": "ddp"}, "ddp"),
        "sweeps": (small | {"workers": [2, 4]}, None),
    }
    answers = {path: service.post(body, f"/v1/{path}").json() for path, (body, _) in made.items()}
    with engine.begin() as connection:
        for number, (table, (body, status)) in enumerate(made.items()):
            found = answers[table]
            result = {key: found[key] for key in found if key not in JobOut.model_fields}
            row: Json = {
                "id": f"old{number}",
                "state": "succeeded",
                "created_at": f"2026-11-01T00:00:0{number}.000000Z",
                "finished_at": "2026-11-21T00:00:01.000000Z",
                "name": "two layers",
                "request": json.dumps(body),
                "result": json.dumps(result),
            }
            own: Json = {"status": status, "iteration_time_us": 1.5} if status else {"cells": 2}
            row |= own
            insert(connection, table, row)
    engine.dispose()
    with here(tmp_path) as newer:
        for number, table in enumerate(made):
            found = newer.get(f"/v1/{table}/old{number}").json()
            assert found["state"] == "succeeded"
            same = {key for key in answers[table] if key not in JobOut.model_fields}
            assert {key: found[key] for key in same} == {key: answers[table][key] for key in same}
            (listed,) = newer.get(f"/v1/{table}").json()[table]
            shown = {"plans": "status", "simulations": "policy", "sweeps": "cells"}[table]
            assert listed[shown] == {"plans": "optimal", "simulations": "ddp", "sweeps": 2}[table]
        for drawn in ("plans/old0", "simulations/old1"):
            assert newer.get(f"/v1/{drawn}/timeline.json").status_code == 200
        assert newer.get("/v1/sweeps/old2/table.csv").status_code == 200


def test_what_was_kept_with_a_state(tmp_path: Path) -> None:
    """A database of revision 5, with a cost model and a graph."""
    with here(tmp_path) as client:
        made = client.post("/v1/cost-models", json=EXAMPLE).json()
        graph = two_layers()["graph"]
    file = tmp_path / "interlace.db"
    report = {"format": "csv", "steps": 1}
    rows: dict[str, Json] = {
        "cost_models": {"algorithm": "linear", "result": {"name": "é", "fits": []}},
        "graphs": {"format": "csv", "ops": 6, "request": graph, "result": {"report": report}},
    }
    engine = create_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        config = revisions.config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0005")
        ends = text("SELECT state, created_at = finished_at FROM cost_models")
        assert list(connection.execute(ends)) == [("succeeded", 1)]
        for table, own in rows.items():
            row = {"id": "old", "state": "succeeded", "name": "é", "request": {}, **own}
            row |= dict.fromkeys(("created_at", "finished_at"), "2026-11-01T00:00:00.000000Z")
            row = {key: json.dumps(v) if isinstance(v, dict) else v for key, v in row.items()}
            insert(connection, table, row)
    engine.dispose()
    with here(tmp_path) as client:
        assert client.get(f"/v1/cost-models/{made['id']}").json() == made
        assert client.get("/v1/cost-models/old").json() == {
            "id": "old",
            "created_at": "2026-11-01T00:00:00.000000Z",
            "name": "é",
            "fits": [],
        }
        old = {"id": "old", "graph": graph, "report": report}
        assert client.get("/v1/graphs/old").json() == old
        (listed,) = client.get("/v1/graphs").json()["graphs"]
        assert (listed["id"], listed["name"], listed["ops"]) == ("old", "é", 6)
        models = client.get("/v1/cost-models").json()["cost_models"]
        assert [set(model) for model in models] == [{"id", "created_at", "name", "algorithm"}] * 2


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE jobs",  # the tables are gone
        "UPDATE alembic_version SET version_num = '0000'",  # of another revision
        "DELETE FROM alembic_version",  # of no revision
    ],
)
@pytest.mark.live
def test_broken_while_running(one_worker: Service, damage: str) -> None:
    client = one_worker.client
    assert client.get("/readyz").status_code == 200
    with (
        closing(sqlite3.connect(one_worker.log.parent / "interlace.db")) as database,
        closing(sqlite3.connect(":memory:")) as copy,
    ):
        database.backup(copy)
        with database:
            database.execute(damage)
        answer = client.get("/readyz")
        faults(answer)
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        assert client.get("/healthz").status_code == 200
        copy.backup(database)
    until(lambda: client.get("/readyz").status_code == 200)  # jobs, too


@pytest.mark.live
def test_processes_may_start_at_once(tmp_path: Path, database: Callable[[], str | None]) -> None:
    """One makes the tables, the others wait for it."""
    url = database()
    named = {} if url is None else {"INTERLACE_DATABASE_URL": url}
    code = (
        "from app.operations.settings import Settings; from app.storage.database import Store; "
        "Store(Settings()).open()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], env=environment(tmp_path, **named), cwd=ROOT)
        for _ in range(4)
    ]
    assert [process.wait() for process in started] == [0, 0, 0, 0]


def test_models_and_migrations_agree(tmp_path: Path, database: Callable[[], str | None]) -> None:
    with closing(storage.Store(Settings(data_dir=tmp_path, database_url=database()))) as store:
        store.open()
        with store._engine.begin() as connection:
            config = revisions.config()
            config.attributes["connection"] = connection
            command.check(config)


def test_a_new_file_has_the_tables_that_migrations_make(tmp_path: Path) -> None:
    found = []
    for name in ("made", "migrated"):
        (tmp_path / name).mkdir()
        settings = Settings(data_dir=tmp_path / name)
        with closing(storage.Store(settings, is_migrated=name == "migrated")) as store:
            if name == "migrated":
                migrate(store, "head")
            store.check()
            with store._engine.connect() as connection:
                told = "SELECT name, sql LIKE '%AUTOINCREMENT%' FROM sqlite_master ORDER BY name"
                names = list(map(tuple, connection.exec_driver_sql(told)))
                revision = revisions.found_in(connection)
            found.append((columns(store), names, revision))
    assert found[0] == found[1]
    assert found[0][2] == revisions.HEAD


#: The revision of the oldest release that may run beside this one.
OLDEST = "0007"


def migrate(store: storage.Store, revision: str) -> None:
    """Bring the tables of a database to a revision."""
    with store._writing.begin() as connection:
        config = revisions.config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def columns(store: storage.Store) -> dict[tuple[str, str], tuple[str, bool]]:
    """Return the type of each column, and whether a row may be written without it."""
    with store._engine.connect() as connection:
        found = inspect(connection)
        return {
            (table, column["name"]): (
                str(column["type"]),
                column["nullable"] or column["default"] is not None,
            )
            for table in found.get_table_names()
            for column in found.get_columns(table)
        }


def test_migrations_only_add(tmp_path: Path, database: Callable[[], str | None]) -> None:
    """A server of the release before goes on beside them: it reads and writes what it knows."""
    settings = Settings(data_dir=tmp_path, database_url=database())
    with closing(storage.Store(settings, is_migrated=True)) as store:
        migrate(store, OLDEST)
        before = columns(store)
        migrate(store, "head")
        after = columns(store)
    assert {place: after.get(place) for place in before} == before
    tables = {table for table, _ in before}
    added = {place: what for place, what in after.items() if place not in before}
    assert added, "nothing was added since"
    assert all(optional for (table, _), (_, optional) in added.items() if table in tables)


NEWER = (
    "ALTER TABLE jobs ADD COLUMN colour TEXT",
    "ALTER TABLE jobs ADD COLUMN urgency INTEGER NOT NULL DEFAULT 1",
    "CREATE TABLE colours (name TEXT PRIMARY KEY)",
    "CREATE INDEX jobs_by_colour ON jobs (colour)",
    "UPDATE alembic_version SET version_num = '9999'",
)


def test_an_older_server_goes_on_beside_a_newer_one(
    tmp_path: Path, database: Callable[[], str | None]
) -> None:
    """And starts beside it; not when what it needs is gone."""
    url = database() or f"sqlite:///{tmp_path}/shared.db"
    with here(tmp_path, database_url=url) as service, here(tmp_path, database_url=url) as later:
        made = service.post("/v1/plans", json=two_layers()).json()
        store = service.store
        with store.writing() as connection:
            for change in NEWER:
                connection.execute(text(change))
        for each in (service, later):
            each.store.check()
            assert each.get(f"/v1/plans/{made['id']}").json() == made
        for each in (service, later):
            newer = each.post("/v1/plans", json=two_layers())
            assert newer.status_code == 202
            claimed = leases.claim(each.store, "it", ["small", "solves"])
            assert claimed is not None
            assert leases.renew(each.store, claimed, {"phase": "x"}, None)
            assert leases.hand_back(each.store, claimed.number, claimed.lease, died=False)
            assert each.delete(newer.headers["location"]).status_code == 204
        with store.writing() as connection:
            connection.execute(text("ALTER TABLE runs RENAME COLUMN runtime TO gone"))
        for each in (service, later):
            answer = each.get("/readyz")
            faults(answer)
            assert answer.status_code == 503
            assert re.search("runtime|UndefinedColumn", answer.json()["detail"])
