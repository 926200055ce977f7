"""Every column type, with the values at its edges."""

import datetime as d
from decimal import Decimal as D

from ..registry import scenario

ALL = """id string, part string, ts long, f_bool boolean, f_byte tinyint, f_short smallint, f_int int, f_long bigint,
f_float float, f_double double, f_dec decimal(10,2), f_dec38 decimal(38,18), f_dec5 decimal(5,5), f_date date, f_time timestamp,
f_string string, f_binary binary, f_struct struct<a:int,b:string,c:struct<d:double,e:date>>,
f_ints array<int>, f_structs array<struct<x:string,y:bigint>>, f_lists array<array<string>>,
f_map map<string,int>, f_mapstruct map<string,struct<v:double,w:array<string>>>, f_deep struct<m:map<string,array<decimal(6,3)>>>"""


def stamp(text):
    return d.datetime.fromisoformat(text)


def full(n):
    return (
        True, n % 100, n * 7, n * 1001, n * 10**12, n + 0.5, n / 3, D(f"{n}.25"), D(f"{n}.000000000000000001"), D("0.12345"),
        d.date(2024, 1, 1) + d.timedelta(n), stamp("2024-02-29T12:34:56.789012") + d.timedelta(n),
        f"text {n}", bytes([n, 0, 255]), (n, f"b{n}", (n * 1.5, d.date(2000, 1, 1))), [n, n + 1], [(f"x{n}", n), ("y", -n)],
        [["a", "b"], [], [str(n)]], {"one": n, "two": 2}, {"k": (n / 2, ["w", ""]), "j": (0.0, [])}, ({"d": [D("1.500"), D("-0.001")]},),
    )


NULLS = (None,) * 21

LOW = (
    False, -128, -32768, -(2**31), -(2**63), -3.4028234663852886e38, -1.7976931348623157e308, D("-99999999.99"), D("-99999999999999999999.999999999999999999"),
    D("-0.99999"), d.date(1, 1, 1), stamp("0001-01-03T00:00:00"), "", b"", (None, None, None), [], [], [], {}, {}, (None,),
)
HIGH = (
    True, 127, 32767, 2**31 - 1, 2**63 - 1, 1.401298464324817e-45, 5e-324, D("99999999.99"), D("99999999999999999999.999999999999999999"),
    D("0.99999"), d.date(9999, 12, 31), stamp("9999-12-29T23:59:59.999999"), "größe \U0001f600 \u2028 \t\n\"\\ \x01\x7f", bytes(range(256)),
    (0, "", (0.0, None)), [0, -1, 2**31 - 1], [("", 0), (None, None)], [[""]], {"": 0, "ü": None, "Z": 1, "a": 2}, {"": (None, None)}, ({},),
)
ODD = (
    None, 0, 0, 0, 0, float("nan"), float("-inf"), D("0.00"), D("0"), D("-0.00001"), d.date(1969, 12, 31), stamp("1969-12-31T23:59:59.999999"),
    " ", b"\x00", (1, None, (float("nan"), d.date(1582, 10, 15))), [7], [("only", None)], [[], []], {"n": None}, {"z": (1e16, ["\u00e9", "e\u0301"])},
    ({"e": [], "": [D("999.999")]},),
)
ZEROS = (
    False, 1, 1, 1, 1, -0.0, 1e-5, D("1.10"), D("1"), D("0.10000"), d.date(1970, 1, 1), stamp("1970-01-01T00:00:00"), "0", b"0", (0, "0", (-0.0, d.date(1970, 1, 1))),
    [1, 1], [("d", 1), ("d", 1)], [["x"], ["x"]], {"x": 1}, {"x": (0.1, ["x"])}, ({"x": [D("0.000")]},),
)


def row(i, ts, values):
    return (f"t{i}", "even" if i % 2 == 0 else "odd", ts, *values)


def edges():
    return [row(i, 1, v) for i, v in enumerate((full(1), NULLS, LOW, HIGH, ODD, ZEROS, full(7)))]


def swap(t, cut=list):
    """Updates that turn values into nulls and nulls into values."""
    t.upsert(cut([row(0, 2, NULLS), row(1, 2, full(9)), row(3, 2, ODD)]))
    t.upsert(cut([row(2, 3, HIGH), row(4, 3, LOW), row(8, 3, full(8))]))


def without(t, *columns):
    """Gives the table the schema without the columns, and a function that cuts rows to it."""
    fields = [c.strip() for c in ALL.replace("\n", " ").split(", ")]
    keep = [i for i, c in enumerate(fields) if not c.startswith(columns)]
    t.setup(schema=", ".join(fields[i] for i in keep))
    return lambda rows: [tuple(r[i] for i in keep) for r in rows]


def unread(t, before=9):
    """Columns that the engine writes and can't read again: releases before 1.2 stumble over lists of lists and of decimals."""
    return ("f_lists", "f_deep") if t.version < before else ()


@scenario()
def types(t):
    """All types in files that the Avro path wrote, two-level lists."""
    cut = without(t, *unread(t))
    t.insert(cut(edges()))
    swap(t, cut)


@scenario()
def types_lists3(t):
    """All types with three-level lists, null elements among them."""
    cut = without(t, *unread(t, before=8))
    with t.hadoop({"parquet.avro.write-old-list-structure": "false"}):
        nulls = list(full(3))
        nulls[14], nulls[16] = [None, 1, None], [["a", None], None]
        t.insert(cut([*edges(), row(9, 1, nulls)]))
        swap(t, cut)


@scenario()
def types_bulk(t):
    """All types in files that Spark's own row writer wrote, then updated through Avro. It refuses bytes and shorts."""
    cut = without(t, "f_byte", "f_short", *unread(t))
    t.opt(parquet__compression__codec="zstd")
    t.bulk_insert(cut(edges()))
    if t.kind == "COW" and t.version < 9:  # releases before 1.2 can't rewrite such a file
        t.bulk_insert(cut([row(10, 2, full(9)), row(11, 2, NULLS)]))
    else:
        swap(t, cut)


@scenario(types=("MOR",))
def types_parquet_logs(t):
    """All types in Parquet log blocks; decimals left out, which 0.15.0 cannot read back from them."""
    cut = without(t, "f_dec", "f_deep")
    t.opt(logfile__data__block__format="parquet")
    t.insert(cut(edges()))
    swap(t, cut)


@scenario(types=("COW",))
def types_millis(t):
    """Timestamps of milliseconds, written by Spark's row writer."""
    t.setup(schema="id string, part string, ts long, at timestamp")
    t.opt(parquet__outputtimestamptype="TIMESTAMP_MILLIS")
    times = ["1969-12-31T23:59:59.999", "1970-01-01T00:00:00", "2024-02-29T12:34:56.789", "0001-01-03T00:00:00", "9999-12-29T23:59:59.999"]
    t.bulk_insert([(f"m{i}", "p", 1, stamp(x)) for i, x in enumerate(times)] + [("m9", "p", 1, None)])
    t.bulk_insert([("n0", "p", 2, stamp("2001-09-09T01:46:40.123"))])


@scenario(versions=(9,))
def types_local(t):
    """Timestamps on a wall clock."""
    t.setup(schema="id string, part string, ts long, wall timestamp_ntz")
    times = ["1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "2024-03-31T02:30:00.000001"]
    t.insert([(f"w{i}", "p", 1, stamp(x)) for i, x in enumerate(times)] + [("w9", "p", 1, None)])
    t.upsert([("w9", "p", 2, stamp("1900-01-01T00:00:00.5")), ("w0", "p", 2, None)])
