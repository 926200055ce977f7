"""Table services: log compaction, clustering, savepoints, cleaning, archival."""

from ..registry import scenario
from .a_basic import rows


@scenario(types=("MOR",))
def log_compaction(t):
    """Log blocks merged into one, then more log files, then a compaction."""
    t.insert(rows(range(6), 1, "a", parts=1))
    for n in range(2, 5):
        t.upsert(rows(range(n, n + 3), n, f"u{n}.", parts=1))
    t.delete(rows([4], 5, "", parts=1))
    t.opt(log__compaction__inline="true", log__compaction__blocks__threshold=2)
    t.upsert(rows([0, 1], 6, "v", parts=1))
    t.opt(log__compaction__inline=None)
    t.upsert(rows([1, 2], 7, "w", parts=1))
    t.compact()
    t.upsert(rows([2, 3], 8, "x", parts=1))


@scenario()
def clustering(t):
    """Small files clustered into one, sorted, then life after."""
    t.opt(parquet__small__file__limit=0)
    for n in range(3):
        t.insert(rows(range(n * 6, n * 6 + 6), n + 1, "a", parts=2))
    t.upsert(rows([0, 7, 14], 5, "b", parts=2))
    t.cluster(hoodie__clustering__plan__strategy__sort__columns="name")
    t.upsert(rows([1, 7, 20], 6, "c", parts=2))
    t.delete(rows([2], 7, "", parts=2))
    t.window(2, 5)
    t.window(3, 4)


@scenario()
def clustering_pending(t):
    """A clustering planned and not run; other partitions go on."""
    t.opt(parquet__small__file__limit=0)
    t.insert(rows(range(0, 12, 2), 1, "a", parts=2))
    t.insert(rows(range(12, 24, 2), 2, "b", parts=2))
    t.cluster("schedule")
    t.upsert(rows(range(1, 8, 2), 3, "c", parts=2))


@scenario()
def savepoint_restore(t):
    """A savepoint, two writes, and back to it; then on."""
    t.watch_every = 1
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    at = t.savepoint()
    t.upsert(rows(range(2, 12), 3, "lost"))
    t.delete(rows([0, 1], 4, ""))
    t.restore(at)
    t.upsert(rows([1, 12], 5, "c"))


@scenario(types=("MOR",))
def savepoint_kept(t):
    """Compaction and cleaning around a savepoint whose files stay."""
    t.watch_every = 1
    t.insert(rows(range(6), 1, "a", parts=2))
    t.upsert(rows(range(3), 2, "b", parts=2))
    t.savepoint()
    for n in range(3, 6):
        t.upsert(rows(range(n, n + 3), n, f"u{n}.", parts=2))
        t.compact()
    t.opt(clean__automatic="true", cleaner__commits__retained=1, clean__commits__retained=1)
    t.upsert(rows([0], 9, "z", parts=2))


@scenario()
def cleaning(t):
    """Old file versions cleaned by commits; past commits are refused."""
    t.watch_every = 1
    t.opt(clean__automatic="true", cleaner__commits__retained=2, clean__commits__retained=2)
    t.insert(rows(range(6), 1, "a", parts=2))
    for n in range(2, 8):
        t.upsert(rows(range(n % 3, n % 3 + 3), n, f"u{n}.", parts=2))
        if t.kind == "MOR" and n % 2:
            t.compact()
    t.delete(rows([0], 9, "", parts=2))


@scenario(types=("COW",))
def cleaning_versions(t):
    """Old file versions cleaned by their number, and a replaced group cleaned away."""
    t.watch_every = 1
    t.opt(clean__automatic="true", cleaner__policy="KEEP_LATEST_FILE_VERSIONS", clean__policy="KEEP_LATEST_FILE_VERSIONS")
    t.opt(cleaner__fileversions__retained=1, clean__fileversions__retained=1)
    t.insert(rows(range(6), 1, "a", parts=2))
    t.upsert(rows([0], 2, "b", parts=2))
    t.insert_overwrite(rows([2, 4], 3, "ow", parts=2))
    t.upsert(rows([1, 3], 4, "c", parts=2))


@scenario()
def archival(t):
    """A long history, most of it archived, with cleaning, a killed write and an overwrite on the way."""
    t.opt(clean__automatic="true", cleaner__commits__retained=2, clean__commits__retained=2)
    t.opt(archive__automatic="true", keep__min__commits=4, keep__max__commits=6, commits__archival__batch=2)
    t.opt(timeline__compaction__batch__size=3, datasource__compaction__async__enable="false")
    t.watch_every = 6
    t.insert(rows(range(6), 1, "a", parts=2))
    for n in range(2, 30):
        if n == 9:
            t.insert_overwrite(rows([0, 2, 20], n, "ow", parts=2))
        else:
            t.upsert(rows([n % 6, (n * 5 + 1) % 12], n, f"u{n}.", parts=2))
        if n == 12:
            t.kill()
        if t.kind == "MOR" and n % 8 == 0:
            t.compact()


@scenario(types=("COW",))
def archival_unclean(t):
    """Archived commits whose files are all still there: nothing was cleaned."""
    t.opt(archive__automatic="true", keep__min__commits=3, keep__max__commits=4, commits__archival__batch=1, cleaner__commits__retained=2)
    t.watch_every = 4
    t.insert(rows(range(4), 1, "a", parts=1))
    for n in range(2, 12):
        t.upsert(rows([n % 4, n], n, f"u{n}.", parts=1))


@scenario(types=("MOR",))
def everything(t):
    """Compaction, clustering, cleaning, rollback, overwrite and delete partition in one life."""
    t.watch_every = 1
    t.opt(parquet__small__file__limit=0, clean__automatic="true", cleaner__commits__retained=3, clean__commits__retained=3)
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(5), 2, "b"))
    t.compact()
    t.upsert(rows([0, 3, 10], 3, "c"))
    t.upsert(rows([1, 2], 4, "lost"))
    t.kill()
    t.delete(rows([4], 5, ""))
    t.insert(rows(range(12, 18), 6, "d"))
    t.compact()
    t.cluster()
    t.upsert(rows([0, 12, 1], 7, "e"))
    t.delete_partition("p2")
    t.upsert(rows([2, 3], 8, "f"))
    t.insert_overwrite(rows([4, 7, 30], 9, "g"))
    t.upsert(rows([3, 7], 10, "h"))
    t.window(0, 4)
    t.window(5, -1)
