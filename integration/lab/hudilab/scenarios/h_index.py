"""Writer indexes that leave a mark on the table."""

from ..registry import scenario
from .a_basic import rows


@scenario()
def bucket(t):
    """Bucket index; on MOR new groups start as log files alone."""
    t.opt(index__type="BUCKET", bucket__index__num__buckets=4, bucket__index__hash__field="id")
    t.upsert(rows(range(10), 1, "a", parts=2))
    t.upsert(rows(range(3, 12), 2, "b", parts=2))
    t.delete(rows([3, 4], 3, "", parts=2))
    if t.kind == "MOR":
        t.compact()
        t.upsert(rows([4, 15], 4, "c", parts=2))


@scenario(types=("MOR",))
def bucket_killed(t):
    """Log-only groups of a killed write, rolled back."""
    t.opt(index__type="BUCKET", bucket__index__num__buckets=2)
    t.upsert(rows(range(4), 1, "a", parts=1))
    t.upsert(rows(range(10), 2, "lost", parts=3))
    t.kill()
    t.upsert(rows(range(2, 6), 3, "b", parts=2))


@scenario(types=("MOR",))
def consistent_hashing(t):
    """Consistent hashing, and a resize by clustering."""
    t.opt(index__type="BUCKET", index__bucket__engine="CONSISTENT_HASHING", bucket__index__num__buckets=2, bucket__index__min__num__buckets=1, bucket__index__max__num__buckets=8)
    t.upsert(rows(range(12), 1, "a", parts=2))
    t.upsert(rows(range(4), 2, "b", parts=2))
    t.compact()
    resize = {
        "clustering__plan__strategy__class": "org.apache.hudi.client.clustering.plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
        "clustering__execution__strategy__class": "org.apache.hudi.client.clustering.run.strategy.SparkConsistentBucketClusteringExecutionStrategy",
        "bucket__index__max__file__size": 1000, "parquet__max__file__size": 1000, "bucket__split__threshold": 0.1,
        "clustering__updates__strategy": "org.apache.hudi.client.clustering.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy",
        "clustering__inline": "true", "clustering__inline__max__commits": 1,
    }
    t.opt(**resize)
    t.upsert(rows(range(12, 20), 3, "c", parts=2))
    t.opt(**{k: None for k in resize if k.startswith("clustering__inline")})
    t.upsert(rows([0, 5, 13, 21], 4, "d", parts=2))


@scenario()
def global_moves(t):
    """A global index that moves a record to the partition it now names."""
    t.opt(index__type="GLOBAL_SIMPLE", simple__index__update__partition__path="true")
    t.insert(rows(range(6), 1, "a"))
    t.upsert([("k000", "p2", 2, "moved", 0, 0.5), ("k001", "p1", 2, "stayed", 1, 0.5)])
    t.upsert([("k000", "p0", 3, "home", 0, 0.5), ("k005", "p9", 3, "new part", 5, 0.5)])


@scenario(types=("COW",))
def filters_default(t):
    """Bloom filters of the default size; one table with fixed ones."""
    t.opt(index__bloom__num_entries=None)
    t.insert(rows(range(3), 1, "a", parts=1))
    t.upsert(rows([1], 2, "b", parts=1))
    t.opt(bloom__index__filter__type="SIMPLE", index__bloom__num_entries=1000, parquet__small__file__limit=0)
    t.insert(rows(range(5, 8), 3, "c", parts=1))
