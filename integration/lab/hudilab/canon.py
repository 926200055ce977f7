"""Rows as canonical text: one JSON object a line, the same spelling for every engine.

Keys sorted, lines sorted, compact separators, unicode as it is. Integers and booleans as JSON; floats and doubles as
Python's repr (a float widened to double; NaN and the infinities as strings); decimal a string with its scale; date
YYYY-MM-DD; timestamp YYYY-MM-DDTHH:MM:SS.ffffff in UTC; binary 0x…; struct an object with its nulls; list a list;
map a list of [key, value] sorted by key. _hoodie_file_name and _hoodie_commit_seqno are left out.
"""

import datetime
import decimal
import hashlib
import json
import math
import uuid

DROPPED = ("_hoodie_file_name", "_hoodie_commit_seqno")
UTC = datetime.timezone.utc


def spell(v):
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        if math.isnan(v):
            return "NaN"
        if math.isinf(v):
            return "Infinity" if v > 0 else "-Infinity"
        return v
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    if isinstance(v, datetime.datetime):
        if v.tzinfo is not None:
            v = v.astimezone(UTC).replace(tzinfo=None)
        return v.isoformat(timespec="microseconds")
    if isinstance(v, datetime.date):
        return v.isoformat()
    if isinstance(v, (bytes, bytearray)):
        return "0x" + bytes(v).hex()
    if isinstance(v, uuid.UUID):
        return str(v)
    if hasattr(v, "asDict"):
        return {k: spell(x) for k, x in v.asDict(recursive=False).items()}
    if isinstance(v, dict):
        return [[k, x] for k, x in sorted((spell(k), spell(x)) for k, x in v.items())]
    if isinstance(v, (list, tuple)):
        return [spell(x) for x in v]
    raise TypeError(f"no spelling for {type(v)}")


def line(fields):
    """The text of one row given as {name: already spelt value}."""
    kept = {k: v for k, v in fields.items() if k not in DROPPED}
    return json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def spark_lines(df, twins=None):
    """The rows of a Spark data frame, sorted. twins: column to the column that holds its value as written."""
    lines = []
    for r in df.collect():
        fields = {k: spell(v) for k, v in r.asDict(recursive=False).items()}
        for column, twin in (twins or {}).items():
            fields[column] = fields[twin]
        lines.append(line(fields))
    return sorted(lines)


def _sorted_entries(pairs):
    return [[k, v] for k, v in sorted(pairs, key=lambda p: p[0])]


def arrow_value(v, t):
    """Spells one value that pyarrow's to_pylist gave, of Arrow type t."""
    import pyarrow as pa

    if v is None:
        return None
    if pa.types.is_struct(t):
        return {f.name: arrow_value(v.get(f.name), f.type) for f in t}
    if pa.types.is_map(t):
        return _sorted_entries((arrow_value(k, t.key_type), arrow_value(x, t.item_type)) for k, x in v)
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [arrow_value(x, t.value_type) for x in v]
    if pa.types.is_timestamp(t) and not isinstance(v, datetime.datetime):
        v = v.to_pydatetime()
    return spell(v)


def arrow_lines(table):
    """The rows of an Arrow table, sorted. Nanosecond timestamps are cut to microseconds first."""
    import pyarrow as pa

    cols = []
    for f, c in zip(table.schema, table.columns):
        t = f.type
        if pa.types.is_timestamp(t) and t.unit == "ns":
            t = pa.timestamp("us", t.tz)
            c = c.cast(t, safe=False)
        cols.append((f.name, t, c.to_pylist()))
    return sorted(line({n: arrow_value(c[i], t) for n, t, c in cols}) for i in range(table.num_rows))


def text(lines):
    return "".join(x + "\n" for x in lines)


def sha256(lines):
    return hashlib.sha256(text(lines).encode()).hexdigest()
