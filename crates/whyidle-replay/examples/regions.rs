//! scratch
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use std::collections::BTreeMap;
use whyidle_analysis::{device::devices, facts::Facts};
use whyidle_replay::models::{Context, flow::regions};
fn main() {
    for p in std::env::args().skip(1) {
        let trace = whyidle_readers::read_trace(std::path::Path::new(&p), &Default::default()).unwrap();
        let facts = Facts::new(&trace);
        let d = devices(&trace)[0];
        let device = facts.device(&trace, d, |_| true);
        let cx = Context::new(&trace, &facts, &device);
        let mut m: BTreeMap<String, (u32, i64, f64, f64, f64, usize)> = BTreeMap::new();
        for r in regions(&trace, &facts, &cx) {
            let old: i64 = r.entries.iter().map(|&e| cx.launched[e].used_ns).sum();
            if old == 0 {
                continue;
            }
            let sig: Vec<String> = r
                .entries
                .iter()
                .map(|&e| {
                    let k = cx.kind(&cx.launched[e]).unwrap();
                    let n = trace.names.get(k.name).trim_start_matches("aten::").to_owned();
                    let big = k.reads.iter().chain(&k.writes).map(|v| v.0).max().unwrap_or(0);
                    format!("{n}:{}", if big > 1 << 20 { format!("{}M", big >> 20) } else { "s".into() })
                })
                .collect();
            let key = format!("{} {}", if r.backward { "B" } else { "F" }, sig.join(" "));
            let row = m.entry(key).or_default();
            row.0 += 1;
            row.1 += old;
            row.2 += r.read;
            row.3 += r.written;
            row.4 += r.moved;
            row.5 += r.results;
        }
        let n = device.steps.used.len() as f64;
        let mut v: Vec<_> = m.into_iter().collect();
        v.sort_by_key(|x| -x.1.1);
        let (mut a, mut b) = (0.0, 0.0);
        for (_, r) in &v {
            a += r.1 as f64 / 1e6 / n;
            b += (r.2 + r.3) / 1e9 / n;
        }
        println!("== {p} old {a:.2} ms bytes {b:.2} GB");
        for (k, r) in v.iter().take(14) {
            println!(
                "{:5.1}x old {:7.1} us read {:6.0} MB write {:6.0} MB moved {:6.0} MB results {:.1} | {}",
                r.0 as f64 / n,
                r.1 as f64 / 1e3 / r.0 as f64,
                r.2 / 1e6 / r.0 as f64,
                r.3 / 1e6 / r.0 as f64,
                r.4 / 1e6 / r.0 as f64,
                r.5 as f64 / r.0 as f64,
                &k[..k.len().min(330)]
            );
        }
    }
}
