"""One Spark session with one Hudi bundle; two bundles cannot share a Java machine."""

import os
import time

from . import env

os.environ["TZ"] = "UTC"
time.tzset()

EXTENSION = "org.apache.spark.sql.hudi.HoodieSparkSessionExtension"


class Session:
    """A running Spark with the named Hudi bundle (0.15.0, 1.0.2, 1.1.1 or 1.2.0)."""

    def __init__(self, bundle, memory="3g"):
        jar = env.jar(bundle)
        if not jar.exists():
            raise SystemExit(f"{jar}: missing; run {env.HERE / 'setup'} first")
        self.bundle = bundle
        self.numbers = tuple(int(n) for n in bundle.split("."))
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {memory} pyspark-shell"
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYSPARK_PYTHON"] = str(env.python())
        from pyspark.sql import SparkSession

        work = env.cache() / "spark" / str(os.getpid())
        work.mkdir(parents=True, exist_ok=True)
        quiet = work / "log4j2.properties"
        quiet.write_text(
            "rootLogger.level = error\nrootLogger.appenderRef.a.ref = e\n"
            "appender.e.type = Console\nappender.e.name = e\nappender.e.target = SYSTEM_ERR\n"
            "appender.e.layout.type = PatternLayout\nappender.e.layout.pattern = %p %c{1}: %m%n\n"
        )
        self.work = work
        b = SparkSession.builder.master("local[2]").appName("hudifs-lab")
        for k, v in {
            "spark.jars": str(jar),
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": EXTENSION,
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Duser.timezone=UTC -Dlog4j2.configurationFile=file:{quiet} -Dderby.system.home={work}",
            "spark.sql.shuffle.partitions": "2",
            # Small data: compiling plans costs more than it saves.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.adaptive.enabled": "false",
            "spark.default.parallelism": "2",
            # Dates before 1582 as they are: Spark refuses them otherwise, because Spark 2 counted them by another calendar.
            "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
            "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
            "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
            "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
            "spark.sql.avro.datetimeRebaseModeInWrite": "CORRECTED",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.warehouse.dir": str(work / "warehouse"),
            "spark.hadoop.parquet.avro.write-old-list-structure": "true",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }.items():
            b = b.config(k, v)
        self.spark = b.getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")

    @property
    def hadoop_conf(self):
        return self.spark.sparkContext._jsc.hadoopConfiguration()

    def at_least(self, *numbers):
        return self.numbers >= numbers

    def stop(self):
        self.spark.stop()
        import shutil

        shutil.rmtree(self.work, ignore_errors=True)
