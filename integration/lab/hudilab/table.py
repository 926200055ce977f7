"""A table of a scenario: operations through Spark, remembering what was seen after each."""

import contextlib
import shutil

from . import disk, handmade, read

PLAIN = {
    "hoodie.embed.timeline.server": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.finalize.write.parallelism": "2",
    "hoodie.datasource.write.reconcile.schema": "false",
    # A filter sized for small files: the default takes 100 KiB a file. Scenarios on filters set their own.
    "hoodie.index.bloom.num_entries": "500",
    "hoodie.compact.inline": "false",
}

# The classes behind the short names that scenarios use.
KEYGENS = {
    n: f"org.apache.hudi.keygen.{c}"
    for n, c in {
        "simple": "SimpleKeyGenerator",
        "complex": "ComplexKeyGenerator",
        "none": "NonpartitionedKeyGenerator",
        "timestamp": "TimestampBasedKeyGenerator",
        "custom": "CustomKeyGenerator",
    }.items()
}

DEFAULT_SCHEMA = "id string, part string, ts long, name string, qty int, price double"


class Table:
    """One table. Every completed write is recorded; every watch_every-th of them with the rows that are latest right after it.

    By default none is: time travel shows the same, except after a schema change, cleaning or archival, and costs the reads.
    """

    def __init__(self, session, name, version, kind, path):
        self.s, self.name, self.version, self.kind, self.path = session, name, version, kind, str(path)
        self.writer, self.reader, self.engine = session.bundle, read, ""
        self.schema, self.opts = DEFAULT_SCHEMA, dict(PLAIN)
        self.live, self.order, self.ops = {}, [], []
        self.windows, self.cdc_windows, self.notes = [], [], []
        self.watch, self.watch_every = True, 0
        self.twins, self.session_keys = {}, []
        self.setup()

    def setup(self, key="id", partition="part", ordering="ts", schema=None, keygen=None, **more):
        """Sets what the table is; call before the first write. Option names are given by `opt`."""
        self.schema = schema or self.schema
        keygen = keygen or ("none" if not partition else "complex" if "," in key + partition else "simple")
        o = self.opts
        o.update({
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.table.type": {"COW": "COPY_ON_WRITE", "MOR": "MERGE_ON_READ"}[self.kind],
            "hoodie.datasource.write.recordkey.field": key,
            "hoodie.datasource.write.keygenerator.class": KEYGENS.get(keygen, keygen),
        })
        o["hoodie.datasource.write.partitionpath.field"] = partition or ""
        o.pop("hoodie.datasource.write.precombine.field", None)
        if ordering:
            o["hoodie.datasource.write.precombine.field"] = ordering
        default = {"0.15.0": 6, "1.0.2": 8}.get(self.s.bundle, 9)
        if self.version != default:
            o["hoodie.write.table.version"] = str(self.version)
            o["hoodie.write.auto.upgrade"] = "false"
        self.key = key
        return self

    def opt(self, **named):
        """Sets options for all later writes; `__` stands for a dot, the leading hoodie. is added."""
        self.opts.update({_dotted(k): str(v) for k, v in named.items() if v is not None})
        for k in [k for k, v in named.items() if v is None]:
            self.opts.pop(_dotted(k), None)
        return self

    @contextlib.contextmanager
    def hadoop(self, settings):
        """Sets Hadoop configuration for the writes inside."""
        conf = self.s.hadoop_conf
        before = {k: conf.get(k) for k in settings}
        for k, v in settings.items():
            conf.set(k, v)
        try:
            yield
        finally:
            for k, v in before.items():
                conf.unset(k) if v is None else conf.set(k, v)

    def twin(self, *columns):
        """Adds for each column another, <column>_raw, of the same values, and expects of the column what its twin says.

        Spark takes partition columns from the folders' names: an empty text is shown as null, an epoch as a text or as a
        date. The files hold what was written.
        """
        self.twins = {c: c + "_raw" for c in columns}
        self.notes.append("Expected values of " + ", ".join(columns) + " are those written; Spark shows them as the folders' names say.")
        return self

    # writes

    def frame(self, rows, schema=None):
        schema, rows = schema or self.schema, [tuple(r) for r in rows]
        columns = [c.split() for c in schema.split(",")] if self.twins else []
        for column, twin in self.twins.items():
            at = [c[0] for c in columns].index(column)
            schema += f", {twin} {columns[at][1]}"
            rows = [(*r, r[at]) for r in rows]
        return self.s.spark.createDataFrame(rows, schema).coalesce(1)

    def write(self, operation, rows, schema=None, mode="append", **opts):
        self._note(f"{operation} {len(rows)} rows" + (f" {opts}" if opts else "") + (f" schema {schema}" if schema else ""))
        self.write_frame(operation, self.frame(rows, schema), mode, **opts)

    def write_frame(self, operation, df, mode="append", **opts):
        o = dict(self.opts)
        o["hoodie.datasource.write.operation"] = operation
        o.update({_dotted(k): str(v) for k, v in opts.items()})
        df.write.format("hudi").options(**o).mode(mode).save(self.path)
        self.see()

    def upsert(self, rows, **kw):
        self.write("upsert", rows, **kw)

    def insert(self, rows, **kw):
        self.write("insert", rows, **kw)

    def bulk_insert(self, rows, **kw):
        self.write("bulk_insert", rows, **kw)

    def delete(self, rows, **kw):
        """Deletes the keys of full rows (their ordering value counts)."""
        self.write("delete", rows, **kw)

    def insert_overwrite(self, rows, **kw):
        self.write("insert_overwrite", rows, **kw)

    def insert_overwrite_table(self, rows, **kw):
        self.write("insert_overwrite_table", rows, **kw)

    def delete_partition(self, *partitions):
        self._note(f"delete_partition {partitions}")
        df = self.s.spark.createDataFrame([], self.schema)
        self.write_frame("delete_partition", df, hoodie__datasource__write__partitions__to__delete=",".join(partitions))

    def kill(self, markers=True):
        """The last write's completed file vanishes: what a killed writer leaves (see disk.kill_last)."""
        at = disk.kill_last(self.path, handmade.stats, markers)
        self.live.pop(at, None)
        self.order = [i for i in self.order if i.at != at]
        self._note(f"killed before completing {at}" + ("" if markers else ", its markers lost"))
        return at

    def session_conf(self, key, value):
        """Sets an option for reads too, until the scenario is done."""
        self.s.spark.conf.set(key, value)
        self.session_keys.append(key)

    def done(self):
        """Takes the scenario's settings out of the session."""
        for k in self.session_keys:
            self.s.spark.conf.unset(k)

    # services

    @contextlib.contextmanager
    def _confs(self):
        """Puts the table's options into the session, from where procedures and SQL take them."""
        conf = self.s.spark.conf
        for k, v in self.opts.items():
            conf.set(k, v)
        try:
            yield
        finally:
            for k in self.opts:
                if k not in self.session_keys:
                    conf.unset(k)

    def call(self, statement):
        self._note(statement)
        with self._confs():
            out = self.s.spark.sql(statement.replace("$path", self.path)).collect()
        self.see()
        return out

    def sql(self, statement):
        """A statement about the table, written $t, registered in the catalog on first use."""
        self._note(statement)
        name = "lab_" + self.name
        self.s.spark.sql(f"create table if not exists {name} using hudi location '{self.path}'")
        with self._confs():
            self.s.spark.sql(statement.replace("$t", name)).collect()
        self.see()

    def _service(self, name, op, **opts):
        o = dict(self.opts)
        o.update({_dotted(k): str(v) for k, v in opts.items()})
        text = ",".join(f"{k}={v}" for k, v in o.items() if "," not in v and k != "hoodie.table.name")
        self.call(f"call {name}(op => '{op}', path => '$path', options => '{text}')")

    def compact(self, op="scheduleAndExecute", **opts):
        self._service("run_compaction", op, **({"hoodie__compact__inline__max__delta__commits": 1} | opts))

    def cluster(self, op="scheduleAndExecute", **opts):
        self._service("run_clustering", op, **({"hoodie__clustering__plan__strategy__small__file__limit": 100000000} | opts))

    def savepoint(self, index=-1):
        at = self.order[index].at
        self.call(f"call create_savepoint(path => '$path', commit_time => '{at}')")
        return at

    def restore(self, at):
        self.call(f"call rollback_to_savepoint(path => '$path', instant_time => '{at}')")
        gone = [i.at for i in self.order if i.at > at]
        self.order = [i for i in self.order if i.at <= at]
        for g in gone:
            self.live.pop(g, None)

    # seeing

    def see(self):
        """Records the rows that are latest now under every newly completed write."""
        if not self.watch:
            return
        known = {i.at for i in self.order}
        fresh = [i for i in disk.completed(self.path) if i.at not in known]
        if not fresh:
            return
        self.order += sorted(fresh, key=lambda i: i.completed or i.at)
        if self.watch_every and len(self.order) % self.watch_every == 0:
            self.live[self.order[-1].at] = read.snapshot(self.s, self.path, twins=self.twins)

    def adopt(self):
        """Takes over a table that was there: its commits are known, its live rows are not; its columns are the table's."""
        self.order = sorted(disk.completed(self.path), key=lambda i: i.completed or i.at)
        p = disk.properties(self.path)
        self.opts["hoodie.table.name"] = p["hoodie.table.name"]
        self.opts["hoodie.write.auto.upgrade"] = "true"
        self.opts["hoodie.write.set.null.for.missing.columns"] = "true"

    def window(self, begin, end, cdc=False):
        """Asks for the changes after the commit with index begin (None: the start) up to the one with index end."""
        (self.cdc_windows if cdc else self.windows).append((begin, end))

    def _note(self, text):
        self.ops.append(text.replace(self.path, "$path"))

    def drop(self):
        shutil.rmtree(self.path, ignore_errors=True)


def _dotted(k):
    k = k.replace("__", ".")
    return k if k.startswith("hoodie.") else "hoodie." + k
