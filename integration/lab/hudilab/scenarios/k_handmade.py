"""What Flink alone writes, made by hand from the format's description: log-only groups with Flink's file ids, change flags.

No Flink engine can be had here, so these tables show our reading of the description; the expected rows are Spark's.
"""

from .. import handmade
from ..registry import scenario

BUCKET = "{:08d}-0000-0000-0000-000000000000-0"
HAND = "Delta commits after the first were made by hand from the format's description, as Flink writes them."


def row(i, ts, name, **op):
    return {"id": f"k{i}", "part": "p9", "ts": ts, "name": name, "qty": i, "price": i / 2, **op}


def start(t):
    t.notes.append(HAND)
    t.insert([(f"k{i}", "p1", 10, "a", i, 0.5) for i in range(4)])


@scenario(versions=(6, 9), types=("MOR",))
def handmade_log_only(t):
    """Groups of log files alone, with the fixed file ids of Flink's bucket index; a second log file; then Spark goes on."""
    start(t)
    first = handmade.append(t.path, "p9", BUCKET.format(0), [row(20, 10, "f"), row(21, 10, "f")], (2, 0, 0))
    t.see()
    handmade.append(t.path, "p9", BUCKET.format(1), [row(22, 10, "g")], (1, 0, 0))
    t.see()
    base, version = (first, 2) if t.version == 6 else ("", 1)
    handmade.append(t.path, "p9", BUCKET.format(0), [row(21, 9, "late"), row(20, 11, "new")], (0, 2, 0), base, version=version)
    t.see()
    t.upsert([("k0", "p1", 12, "spark", 0, 0.5)])


@scenario(versions=(6, 9), types=("MOR",))
def handmade_changelog(t):
    """_hoodie_operation: inserts, both sides of updates, deletes as rows."""
    t.opt(allow__operation__metadata__field="true")
    start(t)
    group = BUCKET.format(0)
    first = handmade.append(t.path, "p9", group, [row(i, 10, "i", op="I") for i in range(20, 25)], (5, 0, 0), operation=True)
    t.see()
    base, version = (first, 2) if t.version == 6 else ("", 1)
    changes = [row(20, 10, "i", op="-U"), row(20, 11, "u", op="U"), row(21, 11, "i", op="D"), row(22, 9, "i", op="D"), row(23, 12, "i", op="-U")]
    handmade.append(t.path, "p9", group, changes, (0, 2, 3), base, operation=True, version=version)
    t.see()
