#!/usr/bin/env python3
"""A judge: reads requests as JSON lines, answers each with a JSON line, in one Spark session with one Hudi bundle.

    judge.py --bundle VERSION          long-lived: {"id":1,"do":"rows","table":"/path"} -> {"id":1,"ok":{"lines":[...]}}
    judge.py --bundle VERSION --dump TABLE    prints rows latest and at each completed write, as text
    judge.py --bundle none             without Spark: hudirs_rows, parquet_rows

The commands are the methods of hudilab/commands.py. The first line said is {"ready": {"bundle": ..., "hudirs": ...}}.
A request that fails is answered with {"id":1,"error":"..."} and the judge goes on. It ends at the end of its input.
"""

import argparse
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hudilab import env  # noqa: E402


def protocol():
    """A writer on the real standard output; everything else, Java's prints included, goes to standard error."""
    real = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(real, "w", buffering=1)


def serve(judge, out):
    from hudilab.expect import first_line

    print(json.dumps({"ready": judge.version()}), file=out, flush=True)
    for line in sys.stdin:
        if not line.strip():
            continue
        number = None
        try:
            request = json.loads(line)
            number = request.get("id")
            said = {"id": number, "ok": judge.answer(request)}
        except Exception as err:
            said = {"id": number, "error": f"{type(err).__name__}: {first_line(err)}"}
        print(json.dumps(said, ensure_ascii=False), file=out, flush=True)


def dump(judge, table, out):
    from hudilab import disk

    read = judge.rows if judge.s else judge.hudirs_rows
    for at in [*(i.at for i in disk.completed(table)), None]:
        print(f"# {at or 'latest'}", file=out)
        try:
            for line in read(table, at)["lines"]:
                print(line, file=out)
        except Exception as err:
            print(f"# refused: {err}"[:500], file=out)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bundle", required=True, choices=[*env.bundles(), "none"])
    p.add_argument("--dump", metavar="TABLE")
    p.add_argument("--memory", default="3g", help="of the Java machine")
    o = p.parse_args()
    env.reexec()
    out = protocol()
    from hudilab.commands import Judge
    from hudilab.session import Session

    session = None if o.bundle == "none" else Session(o.bundle, o.memory)
    judge = Judge(session)
    if o.dump:
        dump(judge, o.dump, out)
    else:
        serve(judge, out)
    if session:
        session.stop()


if __name__ == "__main__":
    main()
