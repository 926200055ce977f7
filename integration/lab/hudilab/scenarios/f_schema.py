"""Schemas that change."""

from ..registry import scenario

FIRST = "id string, part string, ts long, a int, b string"


def base(t):
    t.setup(schema=FIRST)
    t.insert([(f"k{i}", f"p{i % 2}", 1, i, f"b{i}") for i in range(8)])
    t.upsert([(f"k{i}", f"p{i % 2}", 2, i * 2, "u") for i in range(3)])


@scenario()
def added_columns(t):
    """Nullable columns added, inside a struct too, after base and log files were there."""
    t.watch_every = 1
    base(t)
    more = FIRST + ", c double, s struct<x:int,y:string>"
    t.upsert([("k1", "p1", 3, 11, "c", 1.5, (1, "y")), ("k9", "p1", 3, 9, "new", None, None)], schema=more)
    deeper = FIRST + ", c double, s struct<x:int,y:string,z:date>, l array<string>"
    t.upsert([("k2", "p0", 4, 22, "d", None, (2, None, None), ["l"])], schema=deeper)
    t.window(0, 3)


@scenario()
def widened_columns(t):
    """int to long to double, float to double, int to string."""
    t.watch_every = 1
    t.setup(schema="id string, part string, ts long, i int, f float, s int, n int")
    t.insert([(f"k{i}", "p", 1, i, i + 0.1, i, i) for i in range(6)])
    # A float that is exact: widened out of a log block 0.3 is 0.3 in 1.2.0 and 0.30000001192092896 in 1.0.2.
    t.upsert([("k0", "p", 2, 2**31 - 1, 0.375, 7, 1)])
    t.upsert([("k1", "p", 3, 2**40, 0.1, 2**41, 2)], schema="id string, part string, ts long, i long, f double, s long, n int")
    t.upsert([("k2", "p", 4, 2**50, 1e300, "text", 0.5)], schema="id string, part string, ts long, i long, f double, s string, n double")


@scenario()
def missing_columns(t):
    """A column that no longer comes is filled with nulls."""
    t.watch_every = 1
    base(t)
    t.opt(write__set__null__for__missing__columns="true")
    t.upsert([("k1", "p1", 3, 11), ("k9", "p1", 3, 9)], schema="id string, part string, ts long, a int")
    t.upsert([("k2", "p0", 4, 22, "back")])


@scenario()
def reordered_columns(t):
    """The same columns in another order."""
    base(t)
    t.upsert([("text", 3, "p1", "k1", 11)], schema="b string, ts long, part string, id string, a int")


@scenario(versions=(6, 8))
def schema_on_read(t):
    """ALTER TABLE under schema-on-read: add, widen, rename, drop and a struct's field; reads under the newest schema."""
    t.setup(schema="id string, part string, ts long, v int, name string, old string, st struct<a:int,b:string>")
    t.opt(schema__on__read__enable="true")
    t.watch_every = 1
    t.insert([(f"k{i}", "p", 1, i, f"n{i}", "o", (i, "b")) for i in range(5)])
    t.upsert([("k0", "p", 2, 10, "u", "o", (1, "c"))])
    if t.version > 6:  # 0.15.0 needs no word to read such a table, and breaks where it gets it
        t.session_conf("hoodie.schema.on.read.enable", "true")
    t.sql("alter table $t add columns (added string)")
    t.sql("alter table $t alter column v type bigint")
    t.sql("alter table $t rename column name to title")
    t.sql("alter table $t drop column old")
    new = "id string, part string, ts long, v long, title string, st struct<a:int,b:string>, added string"
    t.upsert([("k1", "p", 3, 2**40, "t1", (2, "d"), "x"), ("k9", "p", 3, 9, "t9", None, None)], schema=new, datasource__write__reconcile__schema="true")
