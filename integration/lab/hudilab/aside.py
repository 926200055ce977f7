"""Tables that their own engine can't read: kept in the cache until another engine reads them."""

import json
import shutil

from . import disk, env, hudirs
from .table import Table

READER = "1.2.0"


def _folder():
    return env.cache() / "aside"


def put(t):
    """Keeps table t and what is known of it."""
    to = _folder() / t.name
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(t.path, to / "table")
    state = {k: getattr(t, k) for k in ("name", "version", "kind", "writer", "ops", "notes", "windows", "cdc_windows", "twins")}
    state["order"] = [(i.at, i.action, i.completed) for i in t.order]
    (to / "state.json").write_text(json.dumps(state))


def names():
    return sorted(p.parent.name for p in _folder().glob("*/state.json"))


def take(session, name):
    """The table, to be read by session's engine."""
    state = json.loads((_folder() / name / "state.json").read_text())
    t = Table(session, name, state["version"], state["kind"], _folder() / name / "table")
    for k in ("writer", "ops", "windows", "cdc_windows", "twins"):
        setattr(t, k, state[k])
    t.notes = [*state["notes"], f"{t.writer} wrote this table and can't read it; the rows are those that {READER} reads."]
    t.order = [disk.Instant(*i, None) for i in state["order"]]
    return t


def by_hudirs(t):
    """Has hudi-rs read the table instead."""
    import hudi

    t.reader, t.engine = hudirs.Reader, f"hudi-rs {hudi.__version__}"
    t.notes[-1] = f"{t.writer} wrote this table and neither it nor {READER} can read it; the rows are those that hudi-rs reads."


def forget(name):
    shutil.rmtree(_folder() / name, ignore_errors=True)
