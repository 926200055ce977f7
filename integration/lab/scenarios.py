#!/usr/bin/env python3
"""Makes the golden tables: runs the scenarios in one Spark session for each Hudi bundle and packs what they wrote.

    scenarios.py [--only REGEX] [--bundle VERSION] [--missing] [--list] [--out FOLDER] [--keep FOLDER]

A table that its own engine wrote and then can't read is put aside, and read by 1.2.0 when all else is done.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hudilab import env  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="", help="only scenarios whose name matches")
    p.add_argument("--bundle", default="", help="only those of this Hudi version; without it, each version in a process of its own")
    p.add_argument("--missing", action="store_true", help="only those whose zip is not there yet")
    p.add_argument("--aside", action="store_true", help="only read, with 1.2.0, the tables that were put aside")
    p.add_argument("--list", action="store_true", help="print the names")
    p.add_argument("--out", type=pathlib.Path, default=env.GOLDEN, help="where the zips go")
    p.add_argument("--keep", type=pathlib.Path, help="leave the unpacked tables in this folder")
    return p.parse_args()


def make(session, sc, out, keep):
    from hudilab import aside, disk, expect
    from hudilab.table import Table

    folder = pathlib.Path(tempfile.mkdtemp(prefix="golden", dir=session.work))
    path = folder / sc.name
    if sc.base:
        disk.unpack(out / f"{sc.base}.zip", path)
    t = Table(session, sc.name, sc.version, sc.kind, path)
    aside.forget(sc.name)
    try:
        sc.build(t)
        try:
            texts = expect.texts(t)
        except Exception:
            aside.put(t)
            raise
        disk.pack(out / f"{sc.name}.zip", path, texts)
        return len(t.order), sum(1 for n in texts if n.endswith(".jsonl"))
    finally:
        if keep:
            shutil.copytree(path, keep / sc.name, dirs_exist_ok=True)
        t.done()
        session.spark.catalog.clearCache()
        shutil.rmtree(folder, ignore_errors=True)


def run(bundle, todo, o):
    from hudilab import aside, expect
    from hudilab.session import Session

    session, failed = Session(bundle), []
    for sc in todo:
        began = time.monotonic()
        try:
            commits, files = make(session, sc, o.out, o.keep)
            size = (o.out / f"{sc.name}.zip").stat().st_size
            print(f"{sc.name}: {commits} commits, {files} row files, {size} bytes, {time.monotonic() - began:.1f} s", flush=True)
        except Exception as err:
            if sc.name not in aside.names():
                failed.append(sc.name)
            where = [f for f in traceback.extract_tb(err.__traceback__) if "hudilab" in f.filename]
            print(f"FAILED {sc.name}: {expect.first_line(err)} (line {where[0].lineno} of {where[0].name}: {where[0].line})", flush=True)
    session.stop()
    return failed


def read_aside(o):
    """Reads the tables put aside, and packs them."""
    from hudilab import aside, disk, expect
    from hudilab.session import Session

    names = [n for n in aside.names() if re.search(o.only, n)]
    if not names:
        return 0
    session, bad = Session(aside.READER), 0
    for name in names:
        try:
            t = aside.take(session, name)
            try:
                texts = expect.texts(t)
            except Exception:
                aside.by_hudirs(t)
                texts = expect.texts(t)
            disk.pack(o.out / f"{name}.zip", t.path, texts)
            aside.forget(name)
            print(f"{name}: read by {t.engine or aside.READER}, {(o.out / f'{name}.zip').stat().st_size} bytes", flush=True)
        except Exception as err:
            bad = 1
            print(f"FAILED {name} by {aside.READER}: {expect.first_line(err)}", flush=True)
    session.stop()
    return bad


def main():
    o = options()
    from hudilab import registry

    todo = [s for s in registry.load() if re.search(o.only, s.name) and o.bundle in ("", s.bundle)]
    if o.missing:
        todo = [s for s in todo if not (o.out / f"{s.name}.zip").exists()]
    if o.list:
        print("\n".join(f"{s.name}\t{s.bundle}" for s in todo))
        return 0
    env.reexec()
    o.out.mkdir(parents=True, exist_ok=True)
    if o.aside:
        return read_aside(o)
    if o.bundle:
        return 1 if run(o.bundle, todo, o) else 0
    bad = 0
    for b in sorted({s.bundle for s in todo}, key=lambda v: [int(n) for n in v.split(".")]):
        bad |= subprocess.call([sys.executable, *sys.argv, "--bundle", b])
    return bad | subprocess.call([sys.executable, *sys.argv, "--aside"])


if __name__ == "__main__":
    sys.exit(main())
