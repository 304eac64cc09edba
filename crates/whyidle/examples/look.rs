//! scratch
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use whyidle_analysis::{facts::Facts, ledger::Line, device::devices};
fn main() {
    for p in std::env::args().skip(1) {
        let path = std::path::Path::new(&p);
        let trace = match whyidle_readers::read_trace(path, &Default::default()) { Ok(t)=>t, Err(e)=>{println!("{p}: {e:?}"); continue} };
        let f = Facts::new(&trace);
        println!("== {p} events {} host {} gpu {} notes {:?}", trace.events, trace.host.len(), trace.gpu.len(), trace.notes.sorted().iter().map(|n|(n.code.id(),n.count)).collect::<Vec<_>>());
        println!("  found {:?} host steps {} chain threads {:?}", f.found_by, f.host_steps.len(), f.chain.threads.iter().map(|&t| trace.threads[t].tid).collect::<Vec<_>>());
        for d in devices(&trace) {
            let df = f.device(&trace, d, |_| true);
            let o = df.occupancy;
            println!("  dev {d} occ {o:?}");
            println!("  steps {:?} excl {:?} backlog {}", df.steps.used.iter().map(|s| (s.number, s.window.length() as f64/1e6)).collect::<Vec<_>>(), df.steps.excluded, df.steps.backlog);
            let len = df.ledger.length() as f64; let n = df.steps.used.len().max(1) as f64;
            let mut v: Vec<_> = Line::ALL.iter().map(|&l| (df.ledger.total(l), l)).filter(|x| x.0>0).collect();
            v.sort_by_key(|x| -x.0);
            println!("  {}", v.iter().map(|(t,l)| format!("{} {:.2}ms {:.1}%", l.id(), *t as f64/1e6/n, *t as f64/len*100.0)).collect::<Vec<_>>().join(" | "));
        }
    }
}
