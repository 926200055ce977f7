"""hudi-rs for Python as a second reader."""

import json
import subprocess

from . import canon, disk, env


def snapshot(path, at=None):
    """Rows of the table at path, latest or as of an instant, as canonical lines."""
    import pyarrow as pa
    from hudi import HudiReadOptions, HudiTable

    o = HudiReadOptions()
    if at:
        o = o.with_as_of_timestamp(at)
    batches = HudiTable(str(path)).read(o)
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    if disk.properties(path).get("hoodie.populate.meta.fields") == "false":
        table = table.select([c for c in table.column_names if not c.startswith("_hoodie_")])
    return canon.arrow_lines(table)


class Reader:
    """Stands in for the module read where Spark can't read a table."""

    @staticmethod
    def snapshot(_, path, at=None, twins=None):
        out = []
        for text in snapshot(path, at):
            fields = json.loads(text)
            for column, twin in (twins or {}).items():
                fields[column] = fields[twin]
            out.append(canon.line(fields))
        return sorted(out)


def write(path, operation, rows):
    """Writes rows through the optional hudi-rs program; returns what it says. operation: upsert, append, delete or compact.

    rows are objects of scalars in canonical spelling (binary, lists and maps have another in arrow-json); of deletes
    objects with the members key and partition.
    """
    program = env.hudirs_writer()
    if not program.exists():
        raise RuntimeError(f"{program}: missing; run {env.HERE / 'setup'} --hudirs")
    text = "".join(json.dumps(x) + "\n" for x in rows)
    p = subprocess.run([str(program), str(path), operation], input=text, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip() or f"{program.name} ended with {p.returncode}")
    return json.loads(p.stdout)
