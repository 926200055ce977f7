"""Delta commits made by hand from the format's description, for what no engine at hand writes: Flink's log files."""

import datetime
import io
import json
import pathlib
import re
import shutil
import struct
import time

from . import disk

MAGIC = b"#HUDI#"
AVRO_BLOCK = 3
INSTANT_TIME, SCHEMA = 0, 2


def block(kind, headers, content):
    """One log block of format version 1."""
    head = b"".join(struct.pack(">ii", k, len(v.encode())) + v.encode() for k, v in headers.items())
    body = struct.pack(">iii", 1, kind, len(headers)) + head + struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    length = len(body) + 8
    return MAGIC + struct.pack(">q", length) + body + struct.pack(">q", length + len(MAGIC))


def avro_block(instant, schema, rows):
    """A data block of Avro records; schema is a JSON text with the meta columns, rows are dicts."""
    import fastavro

    parsed, content = fastavro.parse_schema(json.loads(schema)), struct.pack(">ii", 3, len(rows))
    for r in rows:
        one = io.BytesIO()
        fastavro.schemaless_writer(one, parsed, r)
        content += struct.pack(">i", len(one.getvalue())) + one.getvalue()
    return block(AVRO_BLOCK, {INSTANT_TIME: instant, SCHEMA: schema}, content)


def now():
    time.sleep(0.01)
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]


def load(path):
    """The body of a commit's file as a dict, and its Avro schema (None where it is JSON)."""
    raw = pathlib.Path(path).read_bytes()
    if raw[:4] != b"Obj\x01":
        return json.loads(raw), None
    import fastavro

    reader = fastavro.reader(io.BytesIO(raw))
    return next(reader), reader.writer_schema


def stats(path):
    """The write statistics in a commit's file."""
    return [s for of in load(path)[0]["partitionToWriteStats"].values() for s in of]


class Template:
    """The last completed delta commit of a table, from which the next one is made."""

    def __init__(self, table):
        self.table = pathlib.Path(table)
        self.last = disk.completed(table)[-1]
        self.body, self.schema = load(self.last.path)
        self.avro = self.schema is not None
        self.table_schema = self.body["extraMetadata"]["schema"]

    def with_meta(self, operation):
        """The table's schema with the meta columns, _hoodie_operation too where asked."""
        s = json.loads(self.table_schema)
        names = ["commit_time", "commit_seqno", "record_key", "partition_path", "file_name"] + (["operation"] if operation else [])
        own = [f for f in s["fields"] if not f["name"].startswith("_hoodie_")]
        s["fields"] = [{"name": f"_hoodie_{n}", "type": ["null", "string"], "doc": "", "default": None} for n in names] + own
        return json.dumps(s)

    def commit(self, instant, partition, file_id, log, counts, base=""):
        """Writes the three instant files of a delta commit that wrote one log file."""
        stat = dict(next(iter(self.body["partitionToWriteStats"].values()))[0])
        size = (self.table / log).stat().st_size
        inserts, updates, deletes = counts
        values = {
            "fileId": file_id, "path": log, "partitionPath": partition, "prevCommit": base or "null", "numWrites": inserts + updates,
            "numInserts": inserts, "numUpdateWrites": updates, "numDeletes": deletes, "totalWriteBytes": size, "fileSizeInBytes": size,
            "logVersion": 1, "logOffset": 0, "baseFile": "", "logFiles": [pathlib.PurePath(log).name], "totalLogBlocks": 0,
        }
        stat.update({k: v for k, v in values.items() if k in stat or not self.avro})
        body = dict(self.body, partitionToWriteStats={partition: [stat]})
        folder, done = self.last.path.parent, now()
        for state in ("requested", "inflight"):
            shutil.copy(folder / f"{self.last.at}.deltacommit.{state}", folder / f"{instant}.deltacommit.{state}")
        if self.avro:
            import fastavro

            with open(folder / f"{instant}_{done}.deltacommit", "wb") as f:
                fastavro.writer(f, self.schema, [body])
        else:
            (folder / f"{instant}.deltacommit").write_text(json.dumps(body, indent=2))


def append(table, partition, file_id, rows, counts, base="", operation=False, version=1):
    """Adds a delta commit whose log file holds rows (dicts of table columns, "op" for _hoodie_operation) and returns its instant.

    base: in layout 1 the instant in the log file's name, where it is not the commit's own.
    """
    t, instant = Template(table), now()
    full = []
    for n, r in enumerate(rows):
        meta = {"commit_time": instant, "commit_seqno": f"{instant}_0_{n}", "record_key": r["id"], "partition_path": partition, "file_name": file_id}
        if operation:
            meta["operation"] = r["op"]
        full.append({f"_hoodie_{k}": v for k, v in meta.items()} | {k: v for k, v in r.items() if k != "op"})
    folder = pathlib.Path(table) / partition
    if not folder.exists():
        folder.mkdir()
        note = next(p for p in pathlib.Path(table).glob("*/.hoodie_partition_metadata"))
        (folder / note.name).write_text(re.sub(r"commitTime=\d+", f"commitTime={instant}", note.read_text()))
    name = f".{file_id}_{base or instant}.log.{version}_0-1-0"
    (folder / name).write_bytes(avro_block(instant, t.with_meta(operation), full))
    t.commit(instant, partition, file_id, f"{partition}/{name}", counts, base)
    return instant
