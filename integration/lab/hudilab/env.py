"""Where the laboratory's installed parts are, and which versions they have."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
GOLDEN = HERE.parent / "testdata" / "golden"
ARTIFACT = "hudi-spark3.5-bundle_2.12"

# The bundle that writes each table version as its own default.
BUNDLE_OF_VERSION = {6: "0.15.0", 8: "1.0.2", 9: "1.2.0"}


def cache():
    """The folder that `setup` fills; outside every checkout."""
    at = os.environ.get("HUDIFS_LAB_CACHE")
    return pathlib.Path(at) if at else pathlib.Path.home() / ".cache" / "hudifs-lab"


def bundles():
    """Version to pinned sha256 of every Hudi bundle."""
    lines = (HERE / "bundles.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and not line.startswith("#"))


def jar(bundle):
    return cache() / "m2" / "org" / "apache" / "hudi" / ARTIFACT / bundle / f"{ARTIFACT}-{bundle}.jar"


def python():
    return cache() / "venv" / "bin" / "python"


def hudirs_writer():
    """The optional hudi-rs program that writes."""
    return cache() / "bin" / "hudirs-writer"


def reexec():
    """Runs this program again under the laboratory's own Python, when it was started by another."""
    want = python()
    if not want.exists():
        sys.exit(f"{want}: missing; run {HERE / 'setup'} first")
    if pathlib.Path(sys.prefix) != cache() / "venv":
        os.execv(want, [str(want), *sys.argv])
