"""Tables that several releases wrote: other engines' defaults, older versions by newer engines, upgrades."""

from ..registry import scenario
from .a_basic import rows


@scenario(versions=(9, 8, 6), bundle="1.1.1")
def life(t):
    """1.1.1 writes each version."""
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.delete(rows([1, 5], 3, ""))
    if t.kind == "MOR":
        t.compact()
    t.upsert(rows([0, 12], 4, "c"))


@scenario(versions=(8, 6), bundle="1.2.0")
def older(t):
    """1.2.0 writes older versions."""
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.delete(rows([1, 5], 3, ""))
    if t.kind == "MOR":
        t.compact()
    t.upsert(rows([0, 12], 4, "c"))
    t.upsert(rows([0, 3], 5, "lost"))
    t.kill()
    t.upsert(rows([3], 6, "d"))


@scenario(versions=(6,), bundle="1.0.2")
def written(t):
    """1.0.2 writes version 6."""
    t.insert(rows(range(9), 1, "a"))
    t.upsert(rows(range(4), 2, "b"))
    t.delete(rows([1, 5], 3, ""))
    t.upsert(rows([0, 12], 4, "c"))


# 1.0.2 upgrades a merge-on-read table by compacting it and leaves that compaction pending with its files written; what the
# rows of deleted and returned keys are then differs from reader to reader, so only the copy-on-write table is kept.
@scenario(versions=(8,), types=("COW",), bundle="1.0.2", base="{t}_v6_deletes")
def upgraded(t):
    """A version 6 table that 1.0.2 upgraded to version 8."""
    grow(t)


@scenario(versions=(9,), bundle="1.2.0", base="{t}_v6_basic")
def upgraded_six(t):
    """A version 6 table that 1.2.0 upgraded to version 9."""
    grow(t)


@scenario(versions=(9,), bundle="1.2.0", base="{t}_v8_rollbacks")
def upgraded_eight(t):
    """A version 8 table that 1.2.0 upgraded to version 9."""
    grow(t)


def grow(t):
    t.adopt()
    t.upsert(rows([0, 1, 2, 40], 100, "upgraded"))
    t.delete(rows([3], 101, ""))
    t.upsert(rows([1], 102, "again"))
