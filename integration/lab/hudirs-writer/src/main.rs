//! Writes into an existing Hudi table with hudi-rs: a second writer beside Spark.
//!
//!     hudirs-writer TABLE [upsert|append|delete|compact]
//!
//! Rows come as JSON lines on standard input, in the table's own schema (spelt as arrow-json reads them); for `delete` each line
//! is `{"key": …, "partition": …}`. Prints what was done as one JSON line. A row that does not fit the schema ends it with an error.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::ExitCode;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::Schema;
use hudi::table::Table;
use hudi::{HoodieKey, WriteResult};

/// Input beyond this many bytes is refused: the program is for small tables.
const MAX_INPUT: u64 = 64 << 20;

fn batches(schema: Schema) -> Result<Vec<RecordBatch>, Box<dyn Error>> {
    let input = BufReader::new(std::io::stdin().take(MAX_INPUT));
    let reader = ReaderBuilder::new(Arc::new(schema)).with_strict_mode(true).build(input)?;
    Ok(reader.collect::<Result<Vec<_>, _>>()?)
}

fn keys() -> Result<Vec<HoodieKey>, Box<dyn Error>> {
    let mut out = Vec::new();
    for line in BufReader::new(std::io::stdin().take(MAX_INPUT)).lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let v: serde_json::Value = serde_json::from_str(&line)?;
        let text = |name: &str| v.get(name).and_then(|x| x.as_str()).unwrap_or_default().to_string();
        out.push(HoodieKey::new(text("key"), text("partition")));
    }
    Ok(out)
}

fn told(r: &WriteResult) -> String {
    serde_json::json!({
        "instant": r.requested_time, "completed": r.completion_time,
        "writes": r.num_writes, "updates": r.num_updates, "inserts": r.num_inserts, "deletes": r.num_deletes,
    })
    .to_string()
}

async fn run() -> Result<String, Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: hudirs-writer TABLE [upsert|append|delete|compact]")?;
    let what = args.next().unwrap_or_else(|| "upsert".into());
    let mut table = Table::new(&path).await?;
    let done = match what.as_str() {
        "upsert" => table.upsert(batches(table.get_schema().await?)?).await?,
        "append" => table.append(batches(table.get_schema().await?)?).await?,
        "delete" => table.delete_keys(keys()?).await?,
        "compact" => {
            let r = table.compact().await?;
            return Ok(serde_json::json!({ "instant": r.requested_time }).to_string());
        }
        other => return Err(format!("no operation {other:?}: upsert, append, delete or compact").into()),
    };
    Ok(told(&done))
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(err) => {
            eprintln!("hudirs-writer: {err}");
            ExitCode::FAILURE
        }
    }
}
