"""Parquet files read by independent readers, as a mount shows them."""

from . import canon


def pyarrow_lines(files):
    """Rows of the files by pyarrow, each file read by itself."""
    import pyarrow.parquet as pq

    return sorted(x for f in files for x in canon.arrow_lines(pq.ParquetFile(f).read()))


def duckdb_lines(files):
    """Rows of the files by duckdb, through Arrow."""
    import duckdb

    lines = []
    with duckdb.connect() as db:
        for f in files:
            lines += canon.arrow_lines(db.execute("select * from read_parquet(?, hive_partitioning = false)", [str(f)]).to_arrow_table())
    return sorted(lines)
