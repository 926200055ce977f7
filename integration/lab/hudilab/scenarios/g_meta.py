"""Tables with a metadata table."""

from ..registry import scenario
from .a_basic import rows


def with_files(t):
    t.opt(metadata__enable="true", metadata__index__column__stats__enable="false", metadata__index__partition__stats__enable="false")
    if t.version >= 8:
        t.opt(metadata__record__index__enable="false", metadata__global__record__level__index__enable="false")


@scenario()
def meta_files(t):
    """The files partition alone, through updates, a rollback, an overwrite and cleaning."""
    with_files(t)
    t.opt(clean__automatic="true", cleaner__commits__retained=2, clean__commits__retained=2)
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.upsert(rows(range(4), 3, "lost"))
    t.kill()
    t.upsert(rows(range(2, 6), 4, "c"))
    t.delete_partition("p1")
    t.upsert(rows([0, 1, 20], 5, "d"))
    t.upsert(rows([0], 6, "e"))


@scenario()
def meta_compacted(t):
    """The metadata table compacted, cleaned and archived."""
    with_files(t)
    t.opt(metadata__compact__max__delta__commits=3, metadata__keep__min__commits=4, metadata__keep__max__commits=6, metadata__clean__async="false")
    t.watch_every = 4
    t.insert(rows(range(4), 1, "a", parts=2))
    for n in range(2, 13):
        t.upsert(rows([n % 4, n], n, f"u{n}.", parts=2))


@scenario()
def meta_every(t):
    """Every index that a write can ask for: column statistics, bloom filters, record index, partition statistics."""
    t.opt(metadata__enable="true", metadata__index__column__stats__enable="true", metadata__index__bloom__filter__enable="true")
    t.opt(metadata__record__index__enable="true", metadata__global__record__level__index__enable="true", index__type="RECORD_INDEX" if t.version > 6 else "BLOOM")
    t.opt(metadata__record__index__min__filegroup__count=2, metadata__record__index__max__filegroup__count=2)
    t.opt(metadata__index__column__stats__file__group__count=1, metadata__index__bloom__filter__file__group__count=1)
    t.opt(metadata__index__column__stats__column__list="id,ts,name,qty,price", metadata__index__partition__stats__enable="true" if t.version > 6 else None)
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.delete(rows([2, 5], 3, ""))
    t.upsert(rows([2, 12], 4, "c"))


@scenario(versions=(8, 9))
def meta_sql_indexes(t):
    """A secondary index and an expression index, made by SQL, then writes that keep them."""
    t.opt(embed__timeline__server="true")  # without it 1.2.0 loses the path of a metadata file on the way to its tasks
    t.opt(metadata__enable="true", metadata__record__index__enable="true", metadata__global__record__level__index__enable="true")
    t.opt(metadata__record__index__min__filegroup__count=1, metadata__record__index__max__filegroup__count=1)
    t.insert(rows(range(9), 1, "a"))
    t.opt(write__lock__provider="org.apache.hudi.client.transaction.lock.InProcessLockProvider")
    t.sql("create index name_idx on $t (name)")
    t.upsert(rows(range(4), 86400 * 3, "b"))
    t.delete(rows([2], 86400 * 4, ""))
    # Last: a write to a table with an expression index is more than 1.2.0 always manages.
    t.sql("create index day_idx on $t using column_stats(ts) options(expr='from_unixtime', format='yyyy-MM-dd')")


@scenario(versions=(8, 9), types=("COW",))
def meta_default(t):
    """What the engine keeps when nothing is said."""
    t.opt(metadata__enable=None)
    t.insert(rows(range(6), 1, "a", parts=2))
    t.upsert(rows([0, 7], 2, "b", parts=2))
