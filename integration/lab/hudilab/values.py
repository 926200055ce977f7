"""Canonical values back into Python values of a Spark type."""

import datetime
import decimal


def parse(v, t):
    """The Python value of Spark type t that canon.spell wrote as v."""
    if v is None:
        return None
    kind = t.typeName()
    if kind in ("float", "double"):
        return float(v)
    if kind == "decimal":
        return decimal.Decimal(v)
    if kind == "date":
        return datetime.date.fromisoformat(v)
    if kind in ("timestamp", "timestamp_ntz"):
        return datetime.datetime.fromisoformat(v)
    if kind == "binary":
        return bytes.fromhex(v.removeprefix("0x"))
    if kind == "struct":
        return tuple(parse(v.get(f.name), f.dataType) for f in t.fields)
    if kind == "array":
        return [parse(x, t.elementType) for x in v]
    if kind == "map":
        return {parse(k, t.keyType): parse(x, t.valueType) for k, x in v}
    return v
