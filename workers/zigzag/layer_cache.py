"""Costs of layers, kept on disk: SQLite, shared by any number of workers.

A cost is a transaction of its own, so that a worker may be killed at any moment. A file that cannot be
used (a directory without rights, a damaged file) leaves a cache in memory, and `note` says why.
"""

import json
import os
import sqlite3

SCHEMA = "CREATE TABLE IF NOT EXISTS costs (machine TEXT, layer TEXT, cost TEXT, PRIMARY KEY (machine, layer)) WITHOUT ROWID"


def default_path():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "edgesage", "zigzag-layers.sqlite")


class LayerCache:
    """`machine` names all that a cost depends on beside the layer. `path`: "" for memory alone."""

    def __init__(self, path, machine):
        self._machine = machine
        self._held = {}
        self._database = None
        self.note = "in memory"
        if path:
            try:
                self._open(path)
                self.note = path
            except (OSError, sqlite3.Error) as error:
                self.note = f"in memory: {path} cannot be used ({error})"

    def _open(self, path):
        folder = os.path.dirname(os.path.abspath(path))
        os.makedirs(folder, exist_ok=True)
        database = sqlite3.connect(path, timeout=30, isolation_level=None)
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute(SCHEMA)
        self._database = database

    def get(self, layer):
        """The cost of a layer by its key, or None."""
        if layer not in self._held and self._database is not None:
            row = self._ask("SELECT cost FROM costs WHERE machine = ? AND layer = ?", (self._machine, layer))
            if row is not None:
                self._held[layer] = json.loads(row[0])
        return self._held.get(layer)

    def put(self, layer, cost):
        self._held[layer] = cost
        if self._database is not None:
            self._ask("INSERT OR IGNORE INTO costs VALUES (?, ?, ?)", (self._machine, layer, json.dumps(cost)))

    def _ask(self, statement, values):
        try:
            return self._database.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._database = None
            self.note = f"in memory: the cache could not be read or written ({error})"
            return None
