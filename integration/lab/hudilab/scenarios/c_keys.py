"""Key generators, key types and partition paths."""

import datetime as d
from decimal import Decimal as D

from ..registry import scenario

ODD = ["plain", "with space", "a/b", "c:d", "100%", "é€", "x=y", "q?#&+", "it's \"q\"", "a%2Fb", "UPPER", "..dots", "tab\there", None, ""]


def odd(ids, ts):
    return [(f"o{i:02d}", ODD[i % len(ODD)], ts, f"n{i}.{ts}", i, i / 2) for i in ids]


@scenario()
def odd_partitions_encoded(t):
    """Odd partition values, URL-encoded, hive style; null and empty go to the default partition."""
    t.twin("part")
    t.opt(datasource__write__partitionpath__urlencode="true", datasource__write__hive_style_partitioning="true")
    t.insert(odd(range(15), 1))
    t.upsert(odd([1, 2, 4, 13, 14], 2))


@scenario(versions=(6, 9))
def odd_partitions_plain(t):
    """Partition values as they are: a slash makes levels."""
    t.twin("part")
    use = [0, 1, 5, 9, 10, 13]
    t.insert(odd(use + [20, 2], 1))
    t.upsert(odd([1, 13, 2], 2))


@scenario()
def complex_keys(t):
    """Several key and partition fields, with null and empty parts, hive style."""
    t.setup(key="a,b", partition="p,q", schema="a string, b int, p string, q int, ts long, v string").twin("p", "q")
    t.opt(datasource__write__hive_style_partitioning="true")
    rows = [("x", 1, "n", 1), ("x", 2, "n", 2), ("", 3, "s", 1), (None, 4, "s", 1), ("a:b,c", 5, None, 1), ("y", None, "n", None), ("é", 6, "", 2)]
    t.insert([(*r, 1, "first") for r in rows])
    t.upsert([(*r, 2, "second") for r in rows[1:5]])
    t.delete([(*rows[5], 3, "")])


@scenario(versions=(6, 9), types=("MOR",))
def complex_single(t):
    """The complex generator with a single key field, whose spelling changed between releases."""
    t.setup(key="id", partition="part", keygen="complex")
    t.insert([(f"k{i}", "p", 1, "a", i, 0.5) for i in range(5)])
    t.upsert([(f"k{i}", "p", 2, "b", i, 0.5) for i in range(2, 7)])


@scenario(versions=(6, 9), types=("MOR",))
def key_types(t):
    """Record keys of a date, a decimal, a timestamp, a long and a boolean together."""
    t.setup(key="kd,kn,kt,kl,kb", partition=None, keygen="none", schema="kd date, kn decimal(8,3), kt timestamp, kl bigint, kb boolean, ts long, v string")
    rows = [(d.date(2020, 2, 29), D("1.500"), d.datetime(2020, 1, 1, 1, 1, 1, 500), 2**40, True), (d.date(1969, 12, 31), D("-0.001"), d.datetime(1969, 12, 31, 23, 59, 59), -1, False)]
    t.insert([(*r, 1, "a") for r in rows])
    t.upsert([(*rows[0], 2, "b")])
    t.delete([(*rows[1], 3, "")])


@scenario(versions=(6, 9), types=("COW",))
def key_number(t):
    """A single numeric record key and a numeric partition column."""
    t.setup(key="id", partition="part", schema="id bigint, part int, ts long, v string")
    t.insert([(i, i % 2, 1, f"a{i}") for i in range(-3, 7)])
    t.upsert([(i, i % 2, 2, f"b{i}") for i in range(0, 4)])
    t.delete([(5, 1, 3, "")])


def timed(t, column, values, **opts):
    t.setup(partition="at", keygen="timestamp", schema=f"id string, at {column}, ts long, v string").twin("at")
    t.opt(**{"keygen__timebased__" + k: v for k, v in opts.items()})
    t.insert([(f"k{i}", v, 1, "a") for i, v in enumerate(values)])
    t.upsert([(f"k{i}", v, 2, "b") for i, v in enumerate(values) if i % 2])
    t.insert([(f"n{i}", v, 1, "c") for i, v in enumerate(values[:2])])


@scenario()
def timestamp_millis(t):
    """The timestamp generator over epoch milliseconds, hive style."""
    t.opt(datasource__write__hive_style_partitioning="true")
    timed(t, "bigint", [1700000000123, 1700086400000, 0, -1], timestamp__type="EPOCHMILLISECONDS", output__dateformat="yyyy-MM-dd", timezone="UTC")


@scenario(versions=(6, 9))
def timestamp_text(t):
    """The timestamp generator over text, into three levels of folders."""
    values = ["2024-01-02T03:04:05.006Z", "2024-02-29T23:59:59.999Z", "1969-07-20T20:17:40.000Z"]
    timed(t, "string", values, timestamp__type="DATE_STRING", output__dateformat="yyyy/MM/dd", timezone="UTC", input__dateformat="yyyy-MM-dd'T'HH:mm:ss.SSSZ")


@scenario(versions=(6, 9), types=("COW",))
def timestamp_seconds(t):
    """The timestamp generator over epoch seconds."""
    timed(t, "bigint", [1700000000, 1700086400, 86400], timestamp__type="UNIX_TIMESTAMP", output__dateformat="yyyyMMdd-HH", timezone="GMT+8:00")


@scenario(versions=(6, 9), types=("COW",))
def timestamp_scalar(t):
    """The timestamp generator over days."""
    timed(t, "int", [19700, 19701, 0], timestamp__type="SCALAR", timestamp__scalar__time__unit="DAYS", output__dateformat="yyyy-MM", timezone="UTC")


@scenario(versions=(6, 9))
def custom_keys(t):
    """The custom generator: a simple and a timestamp partition field."""
    t.setup(partition="part:SIMPLE,at:TIMESTAMP", keygen="custom", schema="id string, part string, at bigint, ts long, v string").twin("part", "at")
    t.opt(datasource__write__hive_style_partitioning="true")
    t.opt(keygen__timebased__timestamp__type="EPOCHMILLISECONDS", keygen__timebased__output__dateformat="yyyyMMdd", keygen__timebased__timezone="UTC")
    rows = [(f"k{i}", f"p{i % 2}", 1700000000000 + i * 86400000) for i in range(6)]
    t.insert([(*r, 1, "a") for r in rows])
    t.upsert([(*r, 2, "b") for r in rows[:3]])


@scenario(versions=(6, 9), types=("COW",))
def auto_keys(t):
    """No record key: keys are made by the writer, equal rows stay apart."""
    t.setup()
    t.opt(datasource__write__recordkey__field=None, datasource__write__precombine__field=None)
    t.insert([("a", f"p{i % 2}", 1, "same", 1, 0.5) for i in range(4)])
    t.insert([("a", f"p{i % 2}", 1, "same", 1, 0.5) for i in range(3)])


@scenario(versions=(6, 9))
def levels(t):
    """Three partition columns as three levels, not hive style."""
    t.setup(key="id", partition="y,m,d", keygen="complex", schema="id string, y int, m int, d string, ts long, v string").twin("y", "m", "d")
    rows = [(f"k{i}", 2023 + i % 2, i % 3, f"{i:02d}") for i in range(6)]
    t.insert([(*r, 1, "a") for r in rows])
    t.upsert([(*r, 2, "b") for r in rows[2:5]])


@scenario(versions=(6, 9), types=("COW",))
def dropped_partition_column(t):
    """The partition column is not in the data files."""
    t.opt(datasource__write__drop__partition__columns="true", datasource__write__hive_style_partitioning="true")
    t.insert([(f"k{i}", f"p{i % 2}", 1, "a", i, 0.5) for i in range(6)])
    t.upsert([(f"k{i}", f"p{i % 2}", 2, "b", i, 0.5) for i in range(2)])
