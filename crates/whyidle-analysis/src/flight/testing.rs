//! Dumps for tests, written down entry by entry.

use whyidle_model::{FlightDump, FlightGroup, FlightState};

use super::RankDump;

/// One operation of a dump in the making.
#[derive(Clone, Copy)]
pub(super) struct Op<'a> {
    pub(super) group: u32,
    pub(super) seq: i64,
    pub(super) name: &'a str,
    pub(super) size: i64,
    pub(super) created: i64,
    pub(super) over: bool,
}

/// A collective of the first group that is over.
pub(super) fn op(seq: i64, name: &str, size: i64, created: i64) -> Op<'_> {
    Op { group: 0, seq, name, size, created, over: true }
}

/// A rank's dump; `groups` are names with their ranks.
pub(super) fn dump(rank: u32, groups: &[(&str, &[u32])], ops: &[Op<'_>]) -> RankDump {
    let group = |&(name, ranks): &(&str, &[u32])| FlightGroup {
        name: name.to_owned(),
        ranks: ranks.to_vec(),
        ..FlightGroup::default()
    };
    let mut dump = FlightDump {
        groups: groups.iter().map(group).collect(),
        stacks: vec![Vec::new()],
        ..FlightDump::default()
    };
    for (record, op) in ops.iter().enumerate() {
        let is_p2p = op.name.contains(' ');
        let size = dump.names.intern(&format!("[[{}]]", op.size));
        let kind = dump.names.intern("Float");
        let name = dump.names.intern(&format!("nccl:{}", op.name));
        let entries = &mut dump.entries;
        entries.record.push(record as i64);
        entries.group.push(op.group);
        entries.collective_seq.push(if is_p2p { 0 } else { op.seq });
        entries.p2p_seq.push(if is_p2p { op.seq } else { 0 });
        entries.op.push(op.seq);
        entries.name.push(name);
        entries.inputs.push(size);
        entries.outputs.push(size);
        entries.input_types.push(kind);
        entries.output_types.push(kind);
        entries.bytes.push(Some(4 * op.size));
        entries.state.push(if op.over { FlightState::Completed } else { FlightState::Scheduled });
        entries.retired.push(op.over);
        entries.is_p2p.push(is_p2p);
        entries.created.push(op.created);
        entries.started.push(None);
        entries.completed.push(None);
        entries.duration.push(None);
        entries.timeout.push(Some(600_000_000_000));
        entries.stack.push(0);
        entries.thread.push(kind);
    }
    RankDump { rank, dump, written: None }
}
