"""Writes and merges that every reader meets first."""

from ..registry import scenario


def rows(ids, ts, name, parts=3):
    """Rows of the default schema: ids spread over the partitions p0, p1, …"""
    return [(f"k{i:03d}", f"p{i % parts}", ts, f"{name}{i}", i * 10 + ts % 10, i + ts / 8) for i in ids]


@scenario()
def basic(t):
    """Insert, update, insert more, with several partitions and file groups."""
    t.insert(rows(range(12), 1, "a"))
    t.upsert(rows(range(0, 12, 2), 2, "b"))
    t.upsert(rows(range(10, 18), 3, "c"))
    t.upsert(rows([0, 17], 4, "d"))
    t.window(None, 0)
    t.window(0, 2)
    t.window(1, 3)


@scenario()
def eventtime(t):
    """Late updates, ties and equal values under event-time ordering."""
    t.opt(record__merge__mode="EVENT_TIME_ORDERING")
    t.opt(datasource__write__payload__class="org.apache.hudi.common.model.DefaultHoodieRecordPayload")
    t.insert(rows(range(9), 10, "a"))
    t.upsert(rows(range(3), 5, "late"))
    t.upsert(rows(range(2, 5), 10, "tie"))
    t.upsert(rows([1, 4], 11, "new") + rows([0], 9, "stilllate"))
    t.upsert(rows([1], 10, "between"))
    t.window(0, 4)


@scenario()
def committime(t):
    """The later commit wins whatever its ordering value."""
    t.opt(record__merge__mode="COMMIT_TIME_ORDERING")
    t.opt(datasource__write__payload__class="org.apache.hudi.common.model.OverwriteWithLatestAvroPayload")
    t.insert(rows(range(9), 10, "a"))
    t.upsert(rows(range(3), 5, "low"))
    t.upsert(rows(range(2, 5), 10, "same"))
    t.delete(rows([3, 6], 1, "gone"))
    t.upsert(rows([3], 2, "back"))


@scenario()
def deletes(t):
    """Deletes by key, by flag, late and early, and a return after a delete."""
    t.setup(schema="id string, part string, ts long, name string, qty int, price double, _hoodie_is_deleted boolean")
    f = lambda ids, ts, name, gone=False: [(*r, gone) for r in rows(ids, ts, name)]
    t.insert(f(range(15), 10, "a"))
    t.upsert(f([0, 1, 2], 11, "flag", True) + f([3], 12, "up"))
    t.upsert(f([4, 5], 5, "lateflag", True))
    t.delete(f([6, 7], 20, ""))
    t.delete(f([8], 1, ""))
    t.upsert(f([6], 15, "betweendelete") + f([7], 21, "afterdelete") + f([0], 12, "return"))
    t.delete(f([14, 11], 30, "") + f([99], 30, ""))
    t.window(0, 3)
    t.window(3, 6)


@scenario()
def nonpartitioned(t):
    """No partitions, several file groups, snappy pages."""
    t.setup(partition=None)
    t.opt(parquet__small__file__limit=0, parquet__compression__codec="snappy")
    t.bulk_insert(rows(range(8), 1, "a"))
    t.insert(rows(range(8, 16), 1, "b"))
    t.upsert(rows(range(4, 12), 2, "c"))
    t.delete(rows([5, 9], 3, ""))


@scenario()
def overwrite(t):
    """Insert overwrite, delete partition, insert overwrite table, and life after."""
    t.insert(rows(range(12), 1, "a"))
    t.upsert(rows(range(6), 2, "b"))
    t.insert_overwrite(rows([30, 33, 36], 3, "ow"))
    t.delete_partition("p1")
    t.upsert(rows([1, 2, 30], 4, "c"))
    t.insert_overwrite_table(rows(range(40, 46), 5, "all"))
    t.upsert(rows([40, 50], 6, "d"))
    t.window(1, 3)
    t.window(3, 6)


def killings(t, markers):
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(9), 2, "lost"))
    t.kill(markers)
    t.upsert(rows(range(3), 3, "b"))
    t.upsert(rows(range(2, 12), 4, "lost"))
    t.kill(markers)
    t.delete(rows([4], 5, ""))
    t.delete(rows([5, 6], 6, ""))
    t.kill(markers)
    t.upsert(rows([7], 7, "c"))
    t.window(0, 3)


@scenario()
def rollbacks(t):
    """A killed update, insert and delete, whose markers are lost: the rollbacks delete nothing and the files stay."""
    killings(t, markers=False)


@scenario()
def killed(t):
    """A killed update, insert and delete, each rolled back by the next write."""
    killings(t, markers=True)


@scenario()
def inflight(t):
    """The last write was killed and nobody has rolled it back."""
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.upsert(rows(range(2, 12), 3, "lost"))
    t.kill()


@scenario(types=("MOR",))
def compaction(t):
    """Compaction done, then more log files, then a second one."""
    t.insert(rows(range(12), 1, "a"))
    t.upsert(rows(range(6), 2, "b"))
    t.delete(rows([3], 3, ""))
    t.compact()
    t.upsert(rows([0, 4, 8, 12], 4, "c"))
    t.delete(rows([1, 12], 5, ""))
    t.compact()
    t.upsert(rows([2], 6, "d"))
    t.window(1, 4)


@scenario(types=("MOR",))
def compaction_pending(t):
    """A compaction planned and not run, with writes on both sides of it."""
    t.insert(rows(range(12), 1, "a"))
    t.upsert(rows(range(6), 2, "b"))
    t.compact("schedule")
    t.upsert(rows([0, 4, 8, 12], 4, "c"))
    t.delete(rows([1], 5, ""))
    t.upsert(rows([0], 6, "d"))


@scenario(types=("MOR",))
def parquet_logs(t):
    """Parquet log blocks, with deletes between."""
    t.opt(logfile__data__block__format="parquet")
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(6), 2, "b"))
    t.delete(rows([3], 3, ""))
    t.upsert(rows([0, 4], 4, "c"))
