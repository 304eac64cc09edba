//! Several ranks replayed together: a collective ends for all of them a transfer after the last has reached it.

use crate::simulate::{MEASURE, SETTLE};
use crate::skeleton::{Paths, Skeleton};

/// What a rank does in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Nobody can go on before the last has come.
    Member,
    /// Sends into the receiver's buffer and goes on.
    Sender,
    /// Waits for the sender.
    Receiver,
}

/// A collective as one rank meets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    /// Which collective it is, of those that several ranks meet in; `None` where the peers are not known.
    pub instance: Option<u32>,
    /// What this rank does in it.
    pub part: Part,
    /// How long the transfer takes, ns.
    pub transfer: i64,
}

/// A rank that takes part in a replay.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Its steps.
    pub skeleton: &'a Skeleton,
    /// Its collectives, in the order of launch.
    pub meetings: &'a [Meeting],
}

/// Why ranks cannot be replayed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// They replay different numbers of steps.
    Windows,
    /// They wait for each other in different orders.
    Orders,
}

/// Period of a step that ranks settle to together, ns.
///
/// # Errors
/// Where their windows differ, or each waits for a collective that another launches later.
pub fn period(members: &[Member<'_>]) -> Result<i64, Stuck> {
    let steps = members.first().map_or(1, |member| member.skeleton.steps);
    if members.iter().any(|member| member.skeleton.steps != steps) {
        return Err(Stuck::Windows);
    }
    let instances = members.iter().flat_map(|member| member.meetings).filter_map(|meeting| meeting.instance);
    let instances = instances.max().map_or(0, |most| most as usize + 1);
    let mut expected = vec![0_u32; instances];
    for meeting in members.iter().flat_map(|member| member.meetings) {
        if let Some(instance) = meeting.instance {
            expected[instance as usize] += 1;
        }
    }
    let mut ranks: Vec<Rank<'_>> = members.iter().map(|&member| Rank::new(member)).collect();
    let latest = |ranks: &[Rank<'_>]| {
        ranks
            .iter()
            .map(|rank| (rank.device_end, rank.host))
            .fold((i64::MIN, i64::MIN), |a, b| (a.0.max(b.0), a.1.max(b.1)))
    };
    for _ in 0..SETTLE {
        pass(&mut ranks, &expected)?;
    }
    let before = latest(&ranks);
    for _ in 0..MEASURE {
        pass(&mut ranks, &expected)?;
    }
    let after = latest(&ranks);
    let passes = i64::try_from(MEASURE).unwrap_or(1) * i64::from(steps.max(1));
    Ok((after.0 - before.0).max(after.1 - before.1) / passes)
}

/// A collective under way.
#[derive(Clone, Copy)]
struct Open {
    missing: u32,
    latest: i64,
    sent: i64,
}

struct Rank<'a> {
    member: Member<'a>,
    host: i64,
    streams: Vec<i64>,
    device_end: i64,
    /// When each collective ended; those not yet known are absent.
    ends: Vec<i64>,
    /// The next collective has been reached and waits for others.
    waiting: bool,
}

impl<'a> Rank<'a> {
    fn new(member: Member<'a>) -> Self {
        let streams = vec![FAR_PAST; member.skeleton.streams as usize];
        Self { member, host: 0, streams, device_end: FAR_PAST, ends: Vec::new(), waiting: false }
    }

    fn at(&self, paths: &Paths) -> i64 {
        let time = |source: usize| match source.checked_sub(1) {
            None => self.host,
            Some(stream) if stream < self.streams.len() => self.streams[stream],
            Some(later) => self.ends[later - self.streams.len()],
        };
        paths.iter().map(|&(source, ns)| time(source as usize).saturating_add(ns)).max().unwrap_or(FAR_PAST)
    }

    fn finish(&mut self) {
        let skeleton = self.member.skeleton;
        let streams = skeleton.stream_ends.iter().map(|paths| self.at(paths)).collect();
        let (host, device) = (self.at(&skeleton.host), self.at(&skeleton.device));
        self.host = host;
        self.device_end = self.device_end.max(device);
        self.streams = streams;
        self.ends.clear();
    }
}

/// Before anything that is replayed, and far from the edge of the numbers.
const FAR_PAST: i64 = i64::MIN / 4;

/// All ranks once through their steps.
fn pass(ranks: &mut [Rank<'_>], expected: &[u32]) -> Result<(), Stuck> {
    let mut open: Vec<Open> =
        expected.iter().map(|&missing| Open { missing, latest: FAR_PAST, sent: FAR_PAST }).collect();
    loop {
        let (mut moved, mut unfinished) = (false, false);
        for rank in ranks.iter_mut() {
            moved |= advance(rank, &mut open);
            unfinished |= rank.ends.len() < rank.member.skeleton.len();
        }
        if !unfinished {
            break;
        }
        if !moved {
            return Err(Stuck::Orders);
        }
    }
    ranks.iter_mut().for_each(Rank::finish);
    Ok(())
}

/// Lets a rank go on until it waits for another; whether it moved.
fn advance(rank: &mut Rank<'_>, open: &mut [Open]) -> bool {
    let skeleton = rank.member.skeleton;
    let mut moved = false;
    while rank.ends.len() < skeleton.len() {
        let at = rank.ends.len();
        let meeting = rank.member.meetings[at];
        let transfer = (meeting.transfer as f64 * skeleton.factors[at]) as i64;
        let end = match meeting.instance {
            None => rank.at(&skeleton.reached[at]) + transfer,
            Some(instance) => {
                let state = &mut open[instance as usize];
                if !rank.waiting {
                    let reached = rank.at(&skeleton.reached[at]);
                    state.missing -= 1;
                    state.latest = state.latest.max(reached);
                    if meeting.part == Part::Sender {
                        state.sent = state.sent.max(reached + transfer);
                        moved = true;
                        rank.ends.push(reached + transfer);
                        continue;
                    }
                    (rank.waiting, moved) = (true, true);
                }
                if state.missing > 0 {
                    return moved;
                }
                rank.waiting = false;
                if meeting.part == Part::Receiver && state.sent > FAR_PAST {
                    state.sent.max(rank.at(&skeleton.reached[at]) + transfer.min(RECEIVED_NS))
                } else {
                    state.latest + transfer
                }
            }
        };
        rank.ends.push(end);
        moved = true;
    }
    moved
}

/// Receiving what already lies in the buffer takes no longer than this, ns (8 MB over NVLink: 20 µs).
const RECEIVED_NS: i64 = 20_000;
