"""The laboratory: Spark with Apache Hudi, and hudi-rs, making golden tables and judging ours."""
