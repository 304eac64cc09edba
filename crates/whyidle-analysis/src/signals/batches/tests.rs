//! Synthetic programs and a recorded one: a step time is right or absent, never a multiple.

use super::*;

/// Two workers that write a batch of 668 bytes in turn every 50 ms, sampled every 60 ms.
fn table(quantum: f64, batches: i64) -> Table {
    let mut table = Table::default();
    let (mut pids, mut written) = (Vec::new(), Vec::new());
    for sample in 0..(batches * 50 / 60) {
        for pid in [11_i64, 12] {
            let t = sample * 60_000_000;
            let own = (t / 50_000_000 + (pid - 11)) / 2;
            table.t.push(t);
            pids.push(pid as f64);
            written.push(9_000.0 + own as f64 * quantum);
        }
    }
    table.numbers.insert("pid".to_owned(), pids);
    table.numbers.insert("wchar".to_owned(), written);
    table
}

#[test]
fn quanta_are_counted_as_batches() {
    let found = batches(&table(668.0, 80), &[11, 12]).unwrap_or_else(|| panic!("batches"));
    assert_eq!(found.quantum, 668);
    let error = (found.period_ns - 50_000_000).abs() as f64 / 50e6;
    assert!(error < 0.04 && found.low_ns < found.period_ns && found.period_ns < found.high_ns, "{found:?}");
}

#[test]
fn writing_without_a_quantum_counts_nothing() {
    let mut table = table(668.0, 80);
    if let Some(written) = table.numbers.get_mut("wchar") {
        for (at, value) in written.iter_mut().enumerate() {
            *value = 9_000.0 + (at as f64).powf(2.3) * 37.0;
        }
    }
    assert_eq!(batches(&table, &[11, 12]), None);
    assert_eq!(batches(&Table::default(), &[11]), None);
}

/// A program as seen from outside.
#[derive(Clone, Copy, Debug)]
struct Program {
    step_s: f64,
    workers: u32,
    quantum: f64,
    /// Standard deviation of the time between batches, of the time.
    unsteady: f64,
    /// Bytes of a batch that follow when it is taken.
    tail: f64,
    /// A batch differs by up to so many bytes.
    sizes: f64,
    /// Chance of a pause of all workers after a step, as long as up to 20 steps.
    stalls: f64,
    /// Steps take this many times as long from the middle on.
    drift: f64,
    every_s: f64,
    jitter: bool,
    length_s: f64,
}

/// Numbers from 0 to 1, the same each time (a linear congruence of Knuth's).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.next() * values.len() as f64) as usize % values.len()]
    }
}

impl Program {
    fn any(chance: &mut Chance) -> Self {
        Self {
            step_s: 0.003 * 700_f64.powf(chance.next()),
            workers: chance.of(&[1, 2, 2, 4, 8]),
            quantum: (420.0 * 12_f64.powf(chance.next())).round(),
            unsteady: chance.of(&[0.0, 0.02, 0.1, 0.3]),
            tail: chance.of(&[0.0, 0.0, 68.0, 136.0]),
            sizes: chance.of(&[0.0, 0.0, 3.0, 12.0]),
            stalls: chance.of(&[0.0, 0.0, 0.01, 0.05]),
            drift: chance.of(&[1.0, 1.0, 1.0, 1.3]),
            every_s: chance.of(&[0.1, 0.25, 0.5, 1.0, 1.1, 2.0]),
            jitter: chance.next() < 0.5,
            length_s: chance.of(&[20.0, 20.0, 60.0]),
        }
    }

    /// What a sampler sees of it, and when batches came.
    fn seen(&self, chance: &mut Chance) -> (Table, Vec<f64>) {
        // What each worker wrote when.
        let mut writes: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.workers as usize];
        let mut t = chance.next() * self.step_s;
        let (mut batches, mut came) = (0_u32, Vec::new());
        while t < self.length_s {
            let worker = (batches % self.workers) as usize;
            let bytes = self.quantum + (self.sizes * (2.0 * chance.next() - 1.0)).round();
            came.push(t);
            writes[worker].push((t, bytes - self.tail));
            writes[worker].push((t + chance.next() * 0.8 * self.step_s, self.tail));
            let slower = if t > self.length_s / 2.0 { self.drift } else { 1.0 };
            // Twelve even numbers make a normal one.
            let normal = (0..12).map(|_| chance.next()).sum::<f64>() - 6.0;
            t += slower * self.step_s * (1.0 + self.unsteady * normal).max(0.1);
            if chance.next() < self.stalls {
                t += 20.0 * chance.next() * self.step_s;
            }
            batches += 1;
        }
        for own in &mut writes {
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut table = Table::default();
        let (mut pids, mut written) = (Vec::new(), Vec::new());
        let (mut at, mut next) = (vec![0_usize; writes.len()], vec![9_000.0; writes.len()]);
        let mut t = chance.next() * self.every_s;
        while t < self.length_s {
            for (worker, own) in writes.iter().enumerate() {
                while own.get(at[worker]).is_some_and(|(when, _)| *when <= t) {
                    next[worker] += own[at[worker]].1;
                    at[worker] += 1;
                }
                table.t.push(((t + 1e-4 * worker as f64) * 1e9) as i64);
                pids.push(100.0 + worker as f64);
                written.push(next[worker]);
            }
            // A sampler is a little late each time.
            let jitter = if self.jitter { 0.5 + chance.next() } else { 1.0 };
            t += self.every_s * jitter * (1.0 + 0.01 * chance.next());
        }
        table.numbers.insert("pid".to_owned(), pids);
        table.numbers.insert("wchar".to_owned(), written);
        (table, came)
    }
}

/// Mean time between batches.
fn mean(came: &[f64]) -> f64 {
    (came[came.len() - 1] - came[0]) / (came.len() - 1) as f64
}

/// A time that feeds alerts must be right or absent. Half of the programs that are sampled with jitter and deliver
/// enough batches must be told, else refusing would be all that is tested.
#[test]
fn a_step_time_is_right_or_absent_and_never_a_multiple() {
    let (mut told, mut able, mut able_told, mut wrong) = (0, 0, 0, Vec::new());
    let mut errors = Vec::new();
    const PROGRAMS: usize = 1_500;
    const SEEDS: [u64; 6] = [11, 103, 201, 202, 203, 204];
    let chances = SEEDS.into_iter().flat_map(|seed| {
        let mut chance = Chance(seed);
        (0..PROGRAMS).map(move |_| {
            chance.next();
            Chance(chance.0)
        })
    });
    for mut chance in chances {
        let program = Program::any(&mut chance);
        let (table, came) = program.seen(&mut chance);
        let workers: Vec<u32> = (100..100 + program.workers).collect();
        let found = batches(&table, &workers);
        let is_able = program.jitter && came.len() >= 24;
        able += usize::from(is_able);
        able_told += usize::from(is_able && found.is_some());
        let Some(found) = found else { continue };
        told += 1;
        let ratio = found.period_ns as f64 / 1e9 / mean(&came);
        if program.stalls == 0.0 {
            errors.push((ratio - 1.0).abs());
        }
        // The bytes of a batch, and with them the time; a pause may be most of what was seen.
        let bytes = f64::from(found.quantum) / program.quantum;
        if !(0.67..1.5).contains(&bytes) || program.stalls == 0.0 && !(0.67..1.5).contains(&ratio) {
            wrong.push((program, found, ratio));
        }
    }
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    let summary = format!(
        "{} programs, {told} told; of {able} sampled unevenly {able_told}; error median {median:.4}, worst {worst:.3}",
        PROGRAMS * SEEDS.len()
    );
    assert!(wrong.is_empty(), "{summary}; {} wrong: {:?}", wrong.len(), wrong);
    assert!(2 * able_told >= able && median < 0.02, "{summary}");
}

/// Windows of what an agent saw: a fifth of them used to be told six times too long.
#[test]
fn a_recorded_beat_is_no_quantum() {
    let text = include_str!("../../../testdata/workers-written.csv");
    let rows: Vec<[f64; 3]> = text
        .lines()
        .skip(1)
        .map(|line| {
            let mut fields = line.split(',').map(|field| field.parse().unwrap_or(f64::NAN));
            std::array::from_fn(|_| fields.next().unwrap_or(f64::NAN))
        })
        .collect();
    let end = rows.last().map_or(0.0, |row| row[0]);
    const LEN: f64 = 20.0;
    let (mut windows, mut told) = (0, 0);
    for from in (0..).map(f64::from).take_while(|from| from + LEN <= end) {
        let own: Vec<&[f64; 3]> = rows.iter().filter(|row| (from..from + LEN).contains(&row[0])).collect();
        let mut table =
            Table { t: own.iter().map(|row| (row[0] * 1e9) as i64).collect(), ..Table::default() };
        table.numbers.insert("pid".to_owned(), own.iter().map(|row| row[1]).collect());
        table.numbers.insert("wchar".to_owned(), own.iter().map(|row| row[2]).collect());
        windows += 1;
        let Some(found) = batches(&table, &[11, 12]) else { continue };
        told += 1;
        // Between 15 and 28 ms by hand, counted in batches of 567 bytes.
        assert!((540..600).contains(&found.quantum), "{from}: {found:?}");
        assert!((14_000_000..30_000_000).contains(&found.period_ns), "{from}: {found:?}");
    }
    assert!(2 * told > windows, "{told} of {windows}");
}
