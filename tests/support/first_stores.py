"""A new MLflow store for 20 ms instead of 0.7 s: the tables are those of the first one that this process made."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from typing import Any


def share_tables() -> None:
    """Where MLflow is loaded, let its migrations run for the first new sqlite file only, and copy their outcome into
    later ones; files with tables of an earlier MLflow are migrated as ever. Does nothing when called again.
    """
    utils = sys.modules.get("mlflow.store.db.utils")
    if utils is None or hasattr(utils._upgrade_db, "tables"):
        return
    migrate = utils._upgrade_db

    def upgrade(engine: Any) -> None:
        if engine.dialect.name != "sqlite" or _has_version(engine):
            migrate(engine)
        elif upgrade.tables is None:
            migrate(engine)
            upgrade.tables = _copy_of(engine)
        else:
            _fill(engine, upgrade.tables)

    upgrade.tables = None
    utils._upgrade_db = upgrade


def _has_version(engine: Any) -> bool:
    """Whether migrations have run on a store."""
    with closing(engine.raw_connection()) as connection:
        found = connection.driver_connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'")
        return found.fetchone() is not None


def _copy_of(engine: Any) -> bytes:
    with closing(engine.raw_connection()) as connection:
        return connection.driver_connection.serialize()


def _fill(engine: Any, tables: bytes) -> None:
    with closing(sqlite3.connect(":memory:")) as source, closing(engine.raw_connection()) as connection:
        source.deserialize(tables)
        source.backup(connection.driver_connection)
