"""What lies on disk: instants by file name, packing a table into a zip and out of it."""

import os
import pathlib
import re
import struct
import time
import zipfile

WRITES = ("commit", "deltacommit", "replacecommit")


class Instant:
    """A completed write: requested time, action, completion time ("" in layout 1), and its file."""

    def __init__(self, at, action, completed, path):
        self.at, self.action, self.completed, self.path = at, action, completed, path

    def __repr__(self):
        return f"{self.at}_{self.completed}.{self.action}"


def timeline_dir(table):
    two = pathlib.Path(table) / ".hoodie" / "timeline"
    return two if two.is_dir() else pathlib.Path(table) / ".hoodie"


def completed(table, actions=WRITES):
    """The active completed instants of the actions, by requested time."""
    out = []
    for f in timeline_dir(table).iterdir():
        m = re.fullmatch(r"(\d{14,17})(?:_(\d{14,17}))?\.([a-z]+)", f.name)
        if m and m[3] in actions:
            out.append(Instant(m[1], m[3], m[2] or "", f))
    return sorted(out, key=lambda i: i.at)


def pending(table):
    """Names of the requested or inflight instant files that no completed one answers."""
    names = [f.name for f in timeline_dir(table).iterdir() if re.match(r"\d{14,17}", f.name)]
    done = {re.match(r"\d+", n)[0] for n in names if not n.endswith(("inflight", "requested"))}
    return sorted(n for n in names if re.match(r"\d+", n)[0] not in done)


def properties(table):
    out = {}
    for line in (pathlib.Path(table) / ".hoodie" / "hoodie.properties").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            k, v = line.split("=", 1)
            out[k] = v.replace("\\:", ":").replace("\\=", "=")
    return out


def kill_last(table, stats, markers=True):
    """Leaves the last completed write as a killed writer does: no completed file, and a marker for each file that it wrote.

    stats: reads the write statistics out of an instant's file. Without markers it is a writer that lost them too; the next
    writer's rollback then deletes nothing. Returns the instant's requested time.
    """
    last = max(completed(table), key=lambda i: i.completed or i.at)
    if markers:
        for path, kind in _marked(stats(last.path), two=bool(last.completed)):
            m = pathlib.Path(table) / ".hoodie" / ".temp" / last.at / f"{path}.marker.{kind}"
            m.parent.mkdir(parents=True, exist_ok=True)
            m.touch()
    last.path.unlink()
    crc = last.path.parent / f".{last.path.name}.crc"
    if crc.exists():
        crc.unlink()
    return last.at


def _marked(stats, two):
    """Path and marker type of every file that a write's statistics name; log files are appended to in layout 1."""
    for s in stats:
        path = s["path"]
        if ".log." in path:
            folder = path.rpartition("/")[0]
            for name in s.get("logFiles") or [path.rpartition("/")[2]]:
                full = f"{folder}/{name}".lstrip("/")
                if two or full == path:
                    yield full, "CREATE" if two else "APPEND"
        else:
            yield path, "CREATE" if s.get("prevCommit") in (None, "null") else "MERGE"
        for c in s.get("cdcStats") or {}:
            yield c, "CREATE"


# From 1601-01-01, where the times of a zip's NTFS field start, to 1970-01-01, and their unit: 100 ns.
NTFS_EPOCH, NTFS_TICKS = 11644473600, 10_000_000


def _entry(name, mtime):
    z = zipfile.ZipInfo(name, time.gmtime(max(mtime, 315532800))[:6])
    z.compress_type = zipfile.ZIP_DEFLATED
    z.external_attr = 0o644 << 16
    ticks = round((mtime + NTFS_EPOCH) * 1000) * (NTFS_TICKS // 1000)
    z.extra = struct.pack("<HHIHHQQQ", 0x000A, 32, 0, 1, 24, ticks, ticks, ticks)
    return z


def _time(e):
    """The time of a zip's entry, in seconds; the first zips were made with a field that holds no more than that."""
    if struct.unpack("<H", e.extra[:2])[0] == 0x5455:
        return struct.unpack("<HHBl", e.extra[:9])[3]
    return struct.unpack("<HHIHHQ", e.extra[:20])[5] / NTFS_TICKS - NTFS_EPOCH


def pack(zip_path, table, texts):
    """Writes table under table/ (checksum side files left out, empty folders kept) and texts, name to string, into one zip.

    The same table gives the same bytes: entries are sorted and carry the files' own times, to the millisecond: in layout 1
    the time of an instant's file is when it completed.
    """
    table = pathlib.Path(table)
    tmp = pathlib.Path(f"{zip_path}.tmp")
    with zipfile.ZipFile(tmp, "w", compresslevel=9) as z:
        for name in sorted(texts):
            z.writestr(_entry(name, 315532800), texts[name], compresslevel=9)
        files = []
        for root, dirs, names in os.walk(table):
            files += [pathlib.Path(root) / n for n in names if not n.endswith(".crc")]
            if not dirs and not names:
                files.append(pathlib.Path(root))
        for f in sorted(files):
            rel = "table/" + f.relative_to(table).as_posix()
            if f.is_dir():
                e = _entry(rel + "/", 315532800)
                e.external_attr = (0o40755 << 16) | 0x10
                z.writestr(e, b"")
            else:
                z.writestr(_entry(rel, f.stat().st_mtime), f.read_bytes(), compresslevel=9)
    tmp.replace(zip_path)


def unpack(zip_path, to):
    """Lays the table of a zip at folder to, with its files' times."""
    to = pathlib.Path(to)
    with zipfile.ZipFile(zip_path) as z:
        for e in z.infolist():
            if not e.filename.startswith("table/"):
                continue
            out = to / e.filename[len("table/"):]
            if e.is_dir():
                out.mkdir(parents=True, exist_ok=True)
                continue
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_bytes(z.read(e))
            os.utime(out, (_time(e),) * 2)
