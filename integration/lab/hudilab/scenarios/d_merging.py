"""Payload classes, merge modes, ordering fields."""

import datetime as d
from decimal import Decimal as D

from ..registry import scenario

MODEL = "org.apache.hudi.common.model."
PARTIAL = "id string, part string, ts long, a string, b int, c double, d boolean"


def payload(t, cls):
    t.opt(datasource__write__payload__class=cls)


def sparse(ids, ts, **values):
    return [(f"k{i}", "p", ts, *(values.get(c) for c in "abcd")) for i in ids]


def partial_story(t):
    """Nulls that mean "not given": in order, out of order, log on log and log on base, around a delete."""
    t.insert(sparse(range(6), 10, a="a", b=1, c=1.0, d=True))
    t.upsert(sparse([0, 1, 2], 11, a="a2") + sparse([3], 9, b=9))
    t.upsert(sparse([0, 1], 12, b=2) + sparse([2], 5, c=5.0, a="late"))
    t.delete(sparse([4], 20))
    # 1.0.2 can't read a log file that brings a deleted key back, and other releases merge these payloads in their own ways.
    back = [] if (t.version, t.kind) == (8, "MOR") else sparse([4], 30, c=3.0)
    t.upsert(back + sparse([5], 13, d=False) + sparse([7], 1, a="new"))


@scenario()
def partial_update(t):
    """PartialUpdateAvroPayload."""
    t.setup(schema=PARTIAL)
    payload(t, MODEL + "PartialUpdateAvroPayload")
    partial_story(t)


@scenario()
def overwrite_non_defaults(t):
    """OverwriteNonDefaultsWithLatestAvroPayload."""
    t.setup(schema=PARTIAL)
    payload(t, MODEL + "OverwriteNonDefaultsWithLatestAvroPayload")
    partial_story(t)


@scenario(versions=(6, 9), types=("MOR",))
def event_time_payload(t):
    """EventTimeAvroPayload."""
    t.setup(schema=PARTIAL)
    payload(t, MODEL + "EventTimeAvroPayload")
    partial_story(t)


@scenario(versions=(6, 8))
def first_value(t):
    """FirstValueAvroPayload: a tie keeps the older row."""
    t.setup(schema=PARTIAL)
    payload(t, MODEL + "FirstValueAvroPayload")
    t.insert(sparse(range(4), 10, a="first"))
    t.upsert(sparse([0, 1], 10, a="tie") + sparse([2], 11, a="newer"))
    t.upsert(sparse([1, 2], 11, a="third"))


@scenario(versions=(6, 9))
def aws_dms(t):
    """AWSDmsAvroPayload: the column Op tells deletes."""
    t.setup(schema="id string, part string, ts long, Op string, v string")
    payload(t, MODEL + "AWSDmsAvroPayload")
    r = lambda i, ts, op, v: (f"k{i}", "p", ts, op, v)
    t.insert([r(i, 1, "I", f"a{i}") for i in range(5)])
    t.upsert([r(0, 2, "U", "b0"), r(1, 2, "D", "gone"), r(2, 0, "U", "low")])
    t.upsert([r(1, 3, "I", "back"), r(3, 3, "D", "gone"), r(9, 3, "D", "never")])


@scenario()
def postgres_debezium(t):
    """PostgresDebeziumAvroPayload: log sequence numbers and unavailable values."""
    t.setup(ordering="_event_lsn", schema="id string, part string, _event_lsn long, _change_operation_type string, v string, toast string")
    payload(t, MODEL + "debezium.PostgresDebeziumAvroPayload")
    r = lambda i, lsn, op, v, toast: (f"k{i}", "p", lsn, op, v, toast)
    t.insert([r(i, 10, "c", f"a{i}", f"big{i}") for i in range(5)])
    t.upsert([r(0, 11, "u", "b", "__debezium_unavailable_value"), r(1, 9, "u", "stale", "x"), r(2, 12, "d", "", "")])
    t.upsert([r(0, 12, "u", "c", "new"), r(3, 12, "u", "d", "__debezium_unavailable_value"), r(2, 13, "c", "back", "t")])


@scenario()
def mysql_debezium(t):
    """MySqlDebeziumAvroPayload: binlog file and position."""
    seq = "_event_seq string" if t.version < 9 else "_event_bin_file string, _event_pos long"
    t.setup(ordering="_event_seq" if t.version < 9 else "_event_bin_file,_event_pos", schema=f"id string, part string, {seq}, _change_operation_type string, v string")
    payload(t, MODEL + "debezium.MySqlDebeziumAvroPayload")

    def r(i, file, pos, op, v):
        at = (f"{file:05d}.{pos:08d}",) if t.version < 9 else (f"{file:05d}", pos)
        return (f"k{i}", "p", *at, op, v)

    t.insert([r(i, 1, 10, "c", f"a{i}") for i in range(5)])
    t.upsert([r(0, 1, 11, "u", "b"), r(1, 1, 9, "u", "stale"), r(2, 2, 1, "d", "")])
    t.upsert([r(0, 2, 1, "u", "c"), r(2, 2, 2, "c", "back"), r(3, 1, 10, "u", "tie")])


@scenario()
def delete_marker(t):
    """A column of one's own that marks deletes."""
    t.setup(schema="id string, part string, ts long, kind string, v string")
    payload(t, MODEL + "DefaultHoodieRecordPayload")
    t.opt(payload__delete__field="kind", payload__delete__marker="gone", payload__ordering__field="ts")
    r = lambda i, ts, kind, v: (f"k{i}", "p", ts, kind, v)
    t.insert([r(i, 10, "here", f"a{i}") for i in range(6)])
    t.upsert([r(0, 11, "gone", ""), r(1, 9, "gone", "late"), r(2, 11, "Gone", "not quite")])
    t.upsert([r(0, 10, "here", "late return"), r(3, 12, "gone", ""), r(9, 1, "gone", "never there")])
    t.upsert([r(0, 12, "here", "return"), r(3, 11, "here", "late")])


@scenario(types=("MOR",))
def no_ordering(t):
    """A table without ordering field."""
    t.setup(ordering=None)
    t.insert([(f"k{i}", "p", 10, "a", i, 0.5) for i in range(6)])
    t.upsert([(f"k{i}", "p", 5, "b", i, 0.5) for i in range(2, 8)])
    t.delete([(f"k{i}", "p", 1, "", 0, 0.0) for i in (0, 3)])
    t.upsert([("k3", "p", 0, "back", 3, 0.5)])


def typed_ordering(t, column, values):
    """values ascend; each is used late, tied and new, for data and deletes."""
    t.setup(schema=f"id string, part string, ts {column}, v string")
    payload(t, MODEL + "DefaultHoodieRecordPayload")
    low, mid, high = values
    r = lambda i, ts, v: (f"k{i}", "p", ts, v)
    t.insert([r(i, mid, "a") for i in range(6)])
    t.upsert([r(0, low, "low"), r(1, mid, "tie"), r(2, high, "high")])
    t.delete([r(3, low, ""), r(4, mid, ""), r(5, high, "")])
    t.upsert([r(2, mid, "late"), r(5, mid, "late return"), r(4, high, "return")])


@scenario(types=("MOR",))
def ordering_string(t):
    """Ordering by text: UTF-16 order and UTF-8 order differ."""
    typed_ordering(t, "string", ["9", "\U0001f600", "\uffee"])


@scenario(versions=(6, 9), types=("MOR",))
def ordering_double(t):
    """Ordering by a double, negative values and zero."""
    typed_ordering(t, "double", [-1.5, 0.0, 1e300])


@scenario(types=("MOR",))
def ordering_int(t):
    """Ordering by an int, with zero, which a delete block also uses for "none"."""
    typed_ordering(t, "int", [-5, 0, 5])


@scenario(versions=(6, 9), types=("MOR",))
def ordering_decimal(t):
    """Ordering by a decimal."""
    typed_ordering(t, "decimal(12,4)", [D("-2.0000"), D("0.0001"), D("10.5000")])


@scenario(versions=(6, 9), types=("MOR",))
def ordering_timestamp(t):
    """Ordering by a timestamp."""
    typed_ordering(t, "timestamp", [d.datetime(1969, 1, 1), d.datetime(2024, 1, 1, 0, 0, 0, 1), d.datetime(2024, 1, 1, 0, 0, 0, 2)])


@scenario(versions=(6, 9), types=("MOR",))
def ordering_date(t):
    """Ordering by a date."""
    typed_ordering(t, "date", [d.date(1969, 1, 1), d.date(1970, 1, 1), d.date(2024, 1, 1)])


@scenario(versions=(9,), types=("COW", "MOR"))
def ordering_two(t):
    """Ordering by two fields."""
    t.setup(ordering="major,minor", schema="id string, part string, major int, minor string, v string")
    r = lambda i, a, b, v: (f"k{i}", "p", a, b, v)
    t.insert([r(i, 1, "m", "a") for i in range(6)])
    t.upsert([r(0, 1, "a", "late"), r(1, 1, "z", "new"), r(2, 2, "a", "new"), r(3, 0, "z", "late")])
    t.delete([r(4, 1, "a", ""), r(5, 1, "m", "")])
    t.upsert([r(1, 1, "n", "late"), r(5, 1, "a", "return?")])


@scenario(versions=(8, 9), types=("MOR",))
def merge_into_partial(t):
    """MERGE INTO that changes some columns: partial log blocks."""
    t.insert([(f"k{i}", f"p{i % 2}", 10, "a", i, 0.5) for i in range(8)])
    t.opt(spark__sql__merge__into__partial__updates="true")
    t.sql("merge into $t t using (select 'k1' id, 'p1' part, 11L ts, 77 qty) s on t.id = s.id when matched then update set t.ts = s.ts, t.qty = s.qty")
    t.sql("merge into $t t using (select 'k1' id, 'p1' part, 12L ts, 'b' name union all select 'k2', 'p0', 9L, 'late') s on t.id = s.id when matched then update set t.ts = s.ts, t.name = s.name")
    t.upsert([("k1", "p1", 13, "whole", 1, 9.5)])
    t.sql("merge into $t t using (select 'k1' id, 'p1' part, 14L ts, 1.25D price) s on t.id = s.id when matched then update set t.ts = s.ts, t.price = s.price")
