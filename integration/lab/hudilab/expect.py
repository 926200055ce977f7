"""The expected side of a golden table: what Spark reads at every completed commit and in chosen windows."""

import datetime
import json

from . import canon, disk, read

# What an engine says when it refuses is kept to this many characters.
REFUSAL = 200


def texts(t):
    """File name to text of everything that Spark was seen to read of table t."""
    out, index = {}, {
        "name": t.name,
        "engine": t.engine or f"Apache Hudi {t.s.bundle} on Spark 3.5",
        "writer": f"Apache Hudi {t.writer}",
        "version": t.version,
        "type": t.kind,
        "operations": t.ops,
        "notes": t.notes,
        "pending": disk.pending(t.path),
        "instants": [],
        "windows": [],
    }
    active = {i.at: i for i in disk.completed(t.path)}
    for i in t.order:
        index["instants"].append(_instant(t, i, i.at in active, out))
    latest = t.reader.snapshot(t.s, t.path, twins=t.twins)
    out["expected/latest.jsonl"] = canon.text(latest)
    index["latest_rows"], index["latest_sha256"] = len(latest), canon.sha256(latest)
    if t.kind == "MOR" and t.reader is read:
        ro = t.reader.snapshot(t.s, t.path, query="read_optimized", twins=t.twins)
        out["expected/read_optimized.jsonl"] = canon.text(ro)
        index["read_optimized_rows"] = len(ro)
    for begin, end in t.windows:
        index["windows"].append(_window(t, "incremental", begin, end, out))
    for begin, end in t.cdc_windows:
        index["windows"].append(_window(t, "cdc", begin, end, out))
    out["expected/index.json"] = json.dumps(index, indent=1, ensure_ascii=False) + "\n"
    return out


def _instant(t, i, active, out):
    e = {"instant": i.at, "action": i.action, "completed": i.completed, "active": active}
    live = t.live.get(i.at)
    try:
        rows = t.reader.snapshot(t.s, t.path, at=i.at, twins=t.twins)
        e |= {"rows": len(rows), "sha256": canon.sha256(rows)}
        out[f"expected/{i.at}.jsonl"] = canon.text(rows)
    except Exception as err:
        rows = None
        e["refused"] = first_line(err)
    if live is not None and live != rows:
        e |= {"live_rows": len(live), "live_sha256": canon.sha256(live)}
        # Cleaning by file versions takes files that a commit needs, and Spark then shows what is left without a word.
        e["thin"] = rows is not None and len(rows) < len(live)
        out[f"expected/{i.at}.live.jsonl"] = canon.text(live)
    return e


def _bounds(s, kind, b, e):
    """What the engine must be told for (b, e]: requested times in 0.15; from 1.0 on completion times, the begin being one of
    the window in 1.0's incremental reads alone."""
    if not (s.at_least(1, 0) and e.completed):
        return b.at if b else "000", e.at
    if b is None:
        return "000", e.completed
    after = b.completed
    if kind == "incremental" and not s.at_least(1, 1):
        when = datetime.datetime.strptime(after, "%Y%m%d%H%M%S%f") + datetime.timedelta(milliseconds=1)
        after = when.strftime("%Y%m%d%H%M%S%f")[:17]
    return after, e.completed


def _window(t, kind, begin, end, out):
    b, e = (None if begin is None else t.order[begin]), t.order[end]
    w = {"kind": kind, "after": b.at if b else "", "to": e.at, "after_completed": b.completed if b else "", "to_completed": e.completed}
    bounds = _bounds(t.s, kind, b, e)
    try:
        rows = getattr(read, kind)(t.s, t.path, *bounds, twins=t.twins)
        w |= {"rows": len(rows), "sha256": canon.sha256(rows), "file": f"{kind}_{w['after'] or 'start'}_{w['to']}.jsonl"}
        out["expected/" + w["file"]] = canon.text(rows)
    except Exception as err:
        w["refused"] = first_line(err)
    return w


def first_line(err):
    """The telling line of a Java exception."""
    lines = [x.strip() for x in str(err).splitlines() if x.strip()]
    told = [x.lstrip(": ") for x in lines if x.startswith(": ") or ("Exception" in x and "Py4J" not in x)]
    line = (told or lines or ["?"])[0]
    for x in lines:
        if x.startswith("Caused by:"):
            line = x
    return line[:REFUSAL]
