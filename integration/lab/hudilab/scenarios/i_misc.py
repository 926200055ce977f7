"""No meta fields, change data capture, SQL, odd files."""

from ..registry import scenario
from .a_basic import rows


@scenario()
def no_meta_fields(t):
    """Files without meta columns."""
    t.opt(populate__meta__fields="false")
    if t.kind == "MOR":
        t.opt(index__type="SIMPLE")
    t.bulk_insert(rows(range(9), 1, "a")) if t.kind == "COW" else t.insert(rows(range(9), 1, "a"))
    if t.kind == "MOR":
        t.upsert(rows([0, 4, 12], 2, "b"))
        t.delete(rows([1], 3, ""))
    else:
        t.bulk_insert(rows(range(20, 24), 2, "b"))


def capture(t, mode):
    t.opt(table__cdc__enabled="true", table__cdc__supplemental__logging__mode=mode)
    t.insert(rows(range(6), 1, "a", parts=2))
    t.upsert(rows([0, 1, 10], 2, "b", parts=2))
    t.delete(rows([2, 3], 3, "", parts=2))
    if t.kind == "MOR":
        t.compact()
    t.upsert(rows([0, 2], 4, "c", parts=2))
    t.insert_overwrite(rows([5, 11], 5, "d", parts=2))
    t.upsert(rows([5], 6, "e", parts=2))
    t.delete_partition("p0")
    for b, e in ((None, 0), (0, 1), (1, 2), (0, 3), (2, 5), (None, -1), (5, -1)):
        t.window(b, e, cdc=True)
    t.window(0, 3)


@scenario()
def cdc_both(t):
    """CDC with both images."""
    capture(t, "data_before_after")


@scenario()
def cdc_before(t):
    """CDC with the image before."""
    capture(t, "data_before")


@scenario()
def cdc_keys(t):
    """CDC with keys alone."""
    capture(t, "op_key_only")


@scenario()
def duplicates(t):
    """Keys that occur twice: inserts that do not look for them, then an update and a delete of one."""
    t.opt(combine__before__insert="false", datasource__write__insert__drop__duplicates="false", merge__allow__duplicate__on__inserts="true")
    t.insert([("k1", "p", 1, "a", 1, 0.5), ("k1", "p", 1, "a", 1, 0.5), ("k2", "p", 1, "b", 2, 0.5), ("k3", "p", 1, "c", 3, 0.5)])
    t.insert([("k2", "p", 2, "again", 2, 0.5), ("k4", "p", 2, "d", 4, 0.5)])
    t.upsert([("k1", "p", 3, "up", 1, 0.5)])
    t.delete([("k2", "p", 4, "", 0, 0.0)])


@scenario()
def same_batch(t):
    """One batch that holds a key several times: the largest ordering value is written."""
    t.insert(rows(range(3), 1, "a", parts=1))
    t.upsert([("k000", "p0", 5, "five", 1, 0.5), ("k000", "p0", 7, "seven", 1, 0.5), ("k000", "p0", 6, "six", 1, 0.5), ("k001", "p0", 2, "x", 1, 0.5), ("k001", "p0", 2, "y", 1, 0.5)])


@scenario()
def sql(t):
    """INSERT, UPDATE, DELETE and MERGE by SQL."""
    t.insert(rows(range(9), 1, "a"))
    t.sql("update $t set name = 'updated', ts = 5 where qty > 60")
    t.sql("delete from $t where id in ('k001', 'k002')")
    t.sql(
        "merge into $t t using (select 'k003' id, 'p0' part, 9L ts, 'm' name, 1 qty, 2.5D price union all select 'k100', 'p1', 9L, 'n', 2, 3.5D "
        "union all select 'k004', 'p1', 9L, 'gone', 0, 0.0D) s on t.id = s.id and t.part = s.part "
        "when matched and s.name = 'gone' then delete when matched then update set * when not matched then insert *"
    )


@scenario(types=("COW",))
def many_pages(t):
    """Small pages and row groups, all codecs one after another."""
    t.opt(parquet__page__size=512, parquet__block__size=4096, parquet__small__file__limit=0)
    for n, codec in enumerate(("gzip", "snappy", "zstd", "uncompressed")):
        t.opt(parquet__compression__codec=codec)
        t.insert(rows(range(n * 60, n * 60 + 60), n, codec, parts=1))
    t.upsert(rows(range(0, 240, 17), 9, "up", parts=1))


@scenario(types=("MOR",))
def many_logs(t):
    """Many log files on one group, blocks of few rows, a rollover of the log file."""
    t.opt(logfile__data__block__max__size=256, logfile__max__size=1500)
    t.insert(rows(range(30), 1, "a", parts=1))
    for n in range(2, 9):
        t.upsert(rows(range(n, 30, n), n, f"u{n}.", parts=1))
    t.delete(rows(range(0, 30, 7), 9, "", parts=1))


@scenario()
def all_deleted(t):
    """Every row deleted, and a life after."""
    t.insert(rows(range(4), 1, "a", parts=2))
    t.delete(rows(range(4), 2, "", parts=2))
    t.upsert(rows([1, 9], 3, "b", parts=2))


@scenario(types=("COW",))
def empty_commit(t):
    """A commit that changed nothing."""
    t.insert(rows(range(3), 1, "a", parts=1))
    t.upsert([])
    t.upsert(rows([1], 2, "b", parts=1))


@scenario(types=("MOR",))
def failed_everything(t):
    """The very first write was killed, then a table begins; a killed compaction after."""
    t.upsert(rows(range(4), 1, "lost", parts=2))
    t.kill()
    t.upsert(rows(range(2, 6), 2, "a", parts=2))
    t.upsert(rows([2, 3], 3, "b", parts=2))
    t.compact()
    t.kill()
    t.upsert(rows([3, 4], 4, "c", parts=2))


@scenario(types=("MOR",))
def no_positions(t):
    """Log blocks without record positions, and base files read by key alone."""
    t.opt(write__record__positions="false")
    t.insert(rows(range(6), 1, "a", parts=2))
    t.upsert(rows([0, 3], 2, "b", parts=2))
    t.delete(rows([1], 3, "", parts=2))


@scenario(versions=(8, 9), types=("MOR",))
def positions(t):
    """Log blocks with record positions over a clean base file."""
    t.opt(write__record__positions="true")
    t.insert(rows(range(12), 1, "a", parts=2))
    t.upsert(rows([0, 3, 8], 2, "b", parts=2))
    t.delete(rows([1, 8], 3, "", parts=2))
    t.upsert(rows([3, 20], 4, "c", parts=2))
