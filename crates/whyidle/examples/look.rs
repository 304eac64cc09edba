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
            if let Some(prog) = whyidle_replay::program::Program::new(&trace, &f, &df) {
                if let (Some(a), Some(b)) = (df.steps.used.first(), df.steps.used.last()) {
                    let first = prog.numbers.iter().position(|&n| n==a.number).unwrap(); let last = prog.numbers.iter().position(|&n| n==b.number).unwrap();
                    let fid = whyidle_replay::simulate::fidelity(&prog, a.window.start, b.window.end);
                    let l = whyidle_replay::simulate::Lengths::recorded(&prog);
                    let st = whyidle_replay::simulate::steady(&prog, &l, first..last+1);
                    let truth = std::env::var("STEP").ok().and_then(|v| v.parse::<f64>().ok());
                    let ruler = whyidle_replay::profiler_cost::Ruler::new(&trace, &f);
                    let c = whyidle_replay::profiler_cost::without_profiler(&prog, &ruler);
                    let ranks = trace.meta.distributed.as_ref().is_some_and(|d| d.world_size > 1);
                    let est = whyidle_replay::unprofiled::estimate(&prog, &c, first..last+1, ranks);
                    let rec = whyidle_readers::recording::read(path.parent().unwrap(), trace.meta.distributed.as_ref().map(|d| d.rank)).ok().flatten();
                    let t = truth.or(rec.and_then(|r| r.step_ms_mean));
                    if let Some(t) = t { 
                        let mut cc = c.clone(); let has = f.tree.threads().iter().flatten().any(|&r| f.tree.context(whyidle_model::HostId(r))==whyidle_analysis::tree::Context::LoadFromWorkers);
                        let fit = whyidle_replay::unprofiled::fit(&prog, &f.works, &mut cc, first..last+1, (t*1e6) as i64, has);
                        println!("  EST {p} true {t:.1} est {:?} err {:.1}% ruler {:?} {:?} fit {fit:?}", est.map(|e| (e.ns as f64/1e6, e.device_bound)), est.map_or(f64::NAN, |e| (e.ns as f64/1e6/t-1.)*100.), ruler.operator.map(|o| trace.names.get(o)), ruler.per_step); }
                    println!("  REPLAY {p} err {:.3}% slack {:.3}% steady {:.2} vs traced {:.2} gap {} lat {} nodes {}+{}", fid.error*100., fid.slack*100., st.period as f64/1e6, (b.window.end-a.window.start) as f64/1e6/df.steps.used.len() as f64, prog.typical_gap, prog.typical_latency, prog.host.len(), prog.gpu.len());
                }
            }
            let len = df.ledger.length() as f64; let n = df.steps.used.len().max(1) as f64;
            let mut v: Vec<_> = Line::ALL.iter().map(|&l| (df.ledger.total(l), l)).filter(|x| x.0>0).collect();
            v.sort_by_key(|x| -x.0);
            println!("  {}", v.iter().map(|(t,l)| format!("{} {:.2}ms {:.1}%", l.id(), *t as f64/1e6/n, *t as f64/len*100.0)).collect::<Vec<_>>().join(" | "));
        }
    }
}
