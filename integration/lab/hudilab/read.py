"""Reads of a Hudi table through Spark, as canonical lines."""

import json

from . import canon, disk


def snapshot(s, path, at=None, query=None, twins=None):
    """Rows of the table at path, latest or as of an instant; query: None, "read_optimized"; twins as in canon.spark_lines."""
    r = s.spark.read.format("hudi")
    if query:
        r = r.option("hoodie.datasource.query.type", query)
    if at:
        r = r.option("as.of.instant", at)
    return canon.spark_lines(_shown(r.load(str(path)), path), twins)


def _shown(df, path):
    """Without the meta columns where the table has none: engines differ in whether they show them as nulls."""
    if disk.properties(path).get("hoodie.populate.meta.fields") == "false":
        df = df.drop(*[c for c in df.columns if c.startswith("_hoodie_") and c != "_hoodie_is_deleted"])
    return df


def _window(s, path, begin, end):
    r = s.spark.read.format("hudi").option("hoodie.datasource.query.type", "incremental")
    r = r.option("hoodie.datasource.read.begin.instanttime", begin)
    return r.option("hoodie.datasource.read.end.instanttime", end)


def incremental(s, path, begin, end, twins=None):
    """Latest rows changed in (begin, end]: requested times in 0.15, completion times from 1.0 on."""
    return canon.spark_lines(_window(s, path, begin, end).load(str(path)), twins)


def image(v):
    """A CDC image: parsed, without the meta columns and without nulls, which the engines show or leave out at will."""
    if v is None or v == "null":
        return None
    parsed = json.loads(v)
    return {k: x for k, x in parsed.items() if x is not None and not k.startswith("_hoodie_")}


def cdc(s, path, begin, end, twins=None):
    """CDC rows of (begin, end] as {op, ts_ms, before, after}; twins are not looked at."""
    df = _window(s, path, begin, end).option("hoodie.datasource.query.incremental.format", "cdc").load(str(path))
    rows = [{"op": r["op"], "ts_ms": r["ts_ms"], "before": image(r["before"]), "after": image(r["after"])} for r in df.collect()]
    return sorted(canon.line(r) for r in rows)
