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


def upsert(path, lines):
    """Upserts JSON lines through the optional hudi-rs writer; returns what it says."""
    program = env.hudirs_writer()
    if not program.exists():
        raise RuntimeError(f"{program}: missing; run {env.HERE / 'setup'} --hudirs")
    p = subprocess.run([str(program), str(path)], input="".join(json.dumps(x) + "\n" for x in lines), capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError(p.stderr.strip() or f"{program.name} ended with {p.returncode}")
    return p.stdout.strip()
