#!/usr/bin/env python3
"""Has another engine read the golden tables and tells where its rows differ from those of the engine that wrote them.

    agree.py --engine 1.2.0|1.1.1|1.0.2|0.15.0|hudi-rs [--only REGEX] [--write]

Reads each table at each completed write and at latest. Prints one line for each table that differs or is refused, then
counts. --write keeps the differences in testdata/agreement/<engine>.json, from which docs/interop.md is drawn.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hudilab import env  # noqa: E402

FOLDER = env.GOLDEN.parent / "agreement"


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--engine", required=True, choices=[*env.bundles(), "hudi-rs"])
    p.add_argument("--only", default="")
    p.add_argument("--write", action="store_true")
    return p.parse_args()


def readable(engine, version):
    """Table versions that an engine was made to read."""
    return {"0.15.0": (6,), "1.0.2": (6, 8)}.get(engine, (6, 8, 9)).count(version) > 0


def compare(reader, zip_path, folder):
    """Instant (or "latest") to what differs, of one table; and how many reads were made."""
    from hudilab import canon, disk, expect

    path = folder / zip_path.stem
    disk.unpack(zip_path, path)
    wrong, reads, rows = {}, 0, 0
    with zipfile.ZipFile(zip_path) as z:
        index = json.loads(z.read("expected/index.json"))
        columns = as_written(index)
        wanted = [(i["instant"], i) for i in index["instants"] if "sha256" in i] + [("latest", {"sha256": index["latest_sha256"], "rows": index["latest_rows"]})]
        for at, want in wanted:
            reads += 1
            try:
                lines = written(reader(path, None if at == "latest" else at), columns)
                rows += len(lines)
                if canon.sha256(lines) != want["sha256"]:
                    was = z.read(f"expected/{at}.jsonl").decode().split("\n")[:-1]
                    wrong[at] = difference(lines, was)
            except (Exception, SystemExit) as err:
                wrong[at] = "refused: " + expect.first_line(err)
            except BaseException as err:  # a Rust panic comes as one
                if isinstance(err, KeyboardInterrupt):
                    raise
                wrong[at] = "broke: " + expect.first_line(err)
    shutil.rmtree(path)
    return wrong, reads, rows


def as_written(index):
    """The columns of which the written values are expected, not those that folders' names give (Table.twin)."""
    notes = [re.match(r"Expected values of (.+) are those written", n) for n in index["notes"]]
    return [c for n in notes if n for c in n[1].split(", ")]


def written(lines, columns):
    if not columns:
        return lines
    from hudilab import canon

    rows = [json.loads(x) for x in lines]
    return sorted(canon.line(r | {c: r[c + "_raw"] for c in columns}) for r in rows)


def difference(got, want):
    surplus, missing = [x for x in got if x not in want], [x for x in want if x not in got]
    text = f"{len(got)} rows for {len(want)}; {len(missing)} missing, {len(surplus)} surplus"
    if surplus and missing:
        a, b = json.loads(surplus[0]), json.loads(missing[0])
        text += "; columns " + ", ".join(sorted(k for k in a.keys() | b.keys() if a.get(k, "absent") != b.get(k, "absent")))
    return text


def main():
    o = options()
    env.reexec()
    session = None
    if o.engine == "hudi-rs":
        from hudilab import hudirs

        reader = hudirs.snapshot
    else:
        from hudilab import read
        from hudilab.session import Session

        session = Session(o.engine)
        reader = lambda path, at: read.snapshot(session, path, at)
    found, same, reads, rows = {}, 0, 0, 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="agree"))
    for z in sorted(env.GOLDEN.glob("*.zip")):
        version = int(re.match(r"\w+?_v(\d)", z.stem)[1])
        if not re.search(o.only, z.stem) or not readable(o.engine, version):
            continue
        wrong, n, r = compare(reader, z, folder)
        reads, rows = reads + n, rows + r
        if wrong:
            found[z.stem] = wrong
            print(z.stem, *(f"  {at}: {text}" for at, text in list(wrong.items())[:3]), sep="\n", flush=True)
        else:
            same += 1
    print(f"{o.engine}: {same} tables read alike, {len(found)} not; {reads} reads, {rows} rows")
    if o.write:
        FOLDER.mkdir(exist_ok=True)
        out = {"engine": o.engine, "alike": same, "reads": reads, "rows": rows, "differs": found}
        (FOLDER / f"{o.engine}.json").write_text(json.dumps(out, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    if session:
        session.stop()


if __name__ == "__main__":
    main()
