//! The report as `whyidle.memory/1`; `schema/whyidle.memory-1.schema.json` describes it.

use serde_json::{Value, json};
use whyidle_analysis::memory::{Apart, DeviceMemory, InGaps, Phase, Site, Totals};
use whyidle_model::{MemorySummary, SummaryRow};

use super::{MemoryReport, SnapshotReport, summary, words};
use crate::Catalog;
use crate::json::{sentences, text, tool, worded_notes};

const SCHEMA: &str = "whyidle.memory/1";

pub(crate) fn value(report: &MemoryReport, catalog: &Catalog) -> Value {
    json!({
        "schema": SCHEMA,
        "tool": tool(),
        "snapshots": report.snapshots.iter().map(|found| snapshot(found, catalog)).collect::<Vec<_>>(),
        "summaries": report.summaries.iter().map(|(path, table)| self::table(path, table, catalog)).collect::<Vec<_>>(),
    })
}

fn snapshot(report: &SnapshotReport, catalog: &Catalog) -> Value {
    let fullest = report.fullest();
    json!({
        "path": report.path,
        "sentence": fullest.map(|memory| sentences(catalog, &words::answer(report, memory))),
        "fullest": fullest.map(|memory| memory.device),
        "settings": report.settings,
        "devices": report.devices.iter().map(|memory| device(report, memory, catalog)).collect::<Vec<_>>(),
        "quality": worded_notes(catalog, &report.quality),
    })
}

fn totals(totals: &Totals) -> Value {
    json!({
        "allocated": totals.allocated,
        "active": totals.active,
        "requested": totals.requested,
        "reserved": totals.reserved,
    })
}

fn site(site: &Site) -> Value {
    json!({
        "place": site.place.as_ref().map(|(function, file, line)| json!({
            "function": function, "file": file, "line": line,
        })),
        "operator": site.operator,
        "phase": match site.phase {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Optimizer => "optimizer",
            Phase::Other => "other",
        },
    })
}

fn device(report: &SnapshotReport, memory: &DeviceMemory, catalog: &Catalog) -> Value {
    let pieces = &memory.fragmentation;
    let gaps = report.trace.iter().flat_map(|trace| &trace.gaps).find(|(of, _)| *of == memory.device);
    json!({
        "device": memory.device,
        "end": totals(&memory.end),
        "peak": totals(&memory.peak.totals),
        "peak_time_ns": memory.peak.time,
        "peak_reserved": memory.peak_reserved,
        "exact": memory.exact,
        "capacity": report.capacity(memory.device),
        "events": memory.events,
        "allocations": memory.allocations,
        "from_ns": memory.span.map(|(from, _)| from),
        "until_ns": memory.span.map(|(_, until)| until),
        "parts": memory.parts.iter().map(|part| json!({
            "site": part.site.map(|at| site(&report.sites[at as usize])),
            "bytes": part.bytes,
            "count": part.count,
        })).collect::<Vec<_>>(),
        "timeline": memory.timeline.iter().map(|stretch| json!({
            "start_ns": stretch.start,
            "low": stretch.low,
            "high": stretch.high,
            "reserved": stretch.reserved,
        })).collect::<Vec<_>>(),
        "fragmentation": {
            "cached": pieces.cached,
            "releasable": pieces.releasable,
            "split": pieces.split,
            "largest_free": pieces.largest_free,
            "grew_while_free": pieces.grew_while_free,
            "grew_bytes": pieces.grew_bytes,
            "failures": pieces.failures.iter().map(|failure| json!({
                "time_ns": failure.time,
                "bytes": failure.bytes,
                "device_free": failure.device_free,
                "allocated": failure.allocated,
                "cached": failure.cached,
                "in_pages": failure.in_pages,
                "in_pieces": failure.is_fragmented(),
            })).collect::<Vec<_>>(),
        },
        "driver": {
            "came": memory.churn.came,
            "came_bytes": memory.churn.came_bytes,
            "went": memory.churn.went,
            "went_bytes": memory.churn.went_bytes,
            "emptied": memory.churn.emptied,
            "came_again": memory.churn.came_again,
        },
        "gaps": gaps.map(|(_, found)| self::gaps(found)),
        "periods": memory.periods.map(|(by, count)| json!({ "by": by.id(), "count": count })),
        "growth": memory.growth.as_ref().map(|growth| json!({
            "kind": growth.kind.id(),
            "periods": growth.periods,
            "per_period": growth.per_period,
            "sites": growth.sites.iter().map(|grown| json!({
                "site": site(&report.sites[grown.site as usize]),
                "per_period": grown.per_period,
                "bytes": grown.bytes,
                "count": grown.count,
            })).collect::<Vec<_>>(),
        })),
        "advice": memory.advice.iter().map(|advice| json!({
            "id": advice.id(),
            "text": text(catalog, &words::advised(*advice)),
            "code": words::code(*advice),
        })).collect::<Vec<_>>(),
    })
}

fn gaps(found: &Result<InGaps, Apart>) -> Value {
    match found {
        Ok(found) => json!({
            "joined": true,
            "came": found.came,
            "went": found.went,
            "failed": found.failed,
            "gaps": found.gaps,
            "with_ns": found.with_ns,
            "all_ns": found.all_ns,
        }),
        Err(apart) => json!({
            "joined": false,
            "why": match apart {
                Apart::NoClock => "no-clock",
                Apart::NoHistory => "no-history",
                Apart::Times(_) => "times",
            },
            "apart_ns": if let Apart::Times(ns) = apart { Some(ns) } else { None },
        }),
    }
}

fn table(path: &str, table: &MemorySummary, catalog: &Catalog) -> Value {
    let row = |row: Option<SummaryRow>| {
        row.map(|row| json!({
            "current": row.current, "peak": row.peak, "allocated": row.allocated, "freed": row.freed, "unit": row.unit,
        }))
    };
    json!({
        "path": path,
        "device": table.device,
        "sentence": sentences(catalog, &summary::answer(table)),
        "out_of_memory": table.out_of_memory,
        "retries": table.retries,
        "allocated": row(table.allocated),
        "active": row(table.active),
        "requested": row(table.requested),
        "reserved": row(table.reserved),
        "non_releasable": row(table.non_releasable),
        "segments": row(table.segments),
    })
}
