"""Whether `whyidle fix` finds the best single change of programs with two faults, without being told of either.

The truth is measured first: each program of crates/whyidle/tests/programs/two_faults runs as it is and with each of its
own cures behind a flag, in interleaved rounds. Then `whyidle fix` searches the program as it is. Its best change is the
kept one with the largest effect against what was kept before. Prints one row a program, and how many agree.

    python3 bench/fix.py --program target/debug/whyidle --python target/test-venv/bin/python
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/whyidle/tests/programs/two_faults")
# Programs, and their cures by the names that `fix` gives them.
PROGRAMS = {
    "waits_for_items": ["workers", "fused_optimizer"],
    "slow_optimizer": ["fused_optimizer", "workers"],
    "collects_garbage": ["gc", "persistent_workers"],
    "too_few_workers": ["workers", "persistent_workers"],
    "tiny_buckets": ["bucket_cap_mb", "find_unused_parameters"],
}
RANKS = {"tiny_buckets": 2}


def command(python, name):
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", str(RANKS[name])] if name in RANKS else []
    return [python, *launch, os.path.normpath(os.path.join(HERE, name + ".py"))]


def step_ms(command, ranks, steps):
    """The mean step after the first quarter."""
    running = subprocess.Popen(
        [*command, "--steps", str(steps)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    times = [time.monotonic() for line in running.stdout if line.startswith("step")]
    if running.wait() != 0:
        sys.exit("%s failed" % command)
    times = times[len(times) // 4 :]
    return (times[-1] - times[0]) / (len(times) - 1) * 1e3 * ranks


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--program", default="target/release/whyidle")
    ap.add_argument("--python", default=sys.executable)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--only", action="append")
    a = ap.parse_args()
    agree = 0
    names = [name for name in PROGRAMS if not a.only or name in a.only]
    print("| program | as it is | with each cure alone | best | fix: kept, in order | in all | agrees |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in names:
        base, cures = command(a.python, name), PROGRAMS[name]
        measured = {cure: [] for cure in [None, *cures]}
        for _ in range(a.rounds):
            for cure, times in measured.items():
                times.append(step_ms(base + (["--cure", cure] if cure else []), RANKS.get(name, 1), 2 * a.steps))
        truth = {cure: statistics.median(times) for cure, times in measured.items()}
        best = min(cures, key=truth.get)
        with tempfile.TemporaryDirectory() as folder:
            found = subprocess.run(
                [a.program, "fix", "--steps", str(a.steps), "--format", "json", "--db", folder + "/h.db", "--", *base],
                stdout=subprocess.PIPE, env=dict(os.environ, XDG_RUNTIME_DIR=folder), text=True,
            )
        found = json.loads(found.stdout)
        kept = [attempt for attempt in found["attempts"] if attempt["outcome"] == "kept"]
        shown = ", ".join(
            "%s %+.0f %%" % (k["candidate"]["change"]["name"] + "=" + k["candidate"]["change"]["value"], 100 * k["effect"]["effect"])
            for k in kept
        )
        first = min(kept, key=lambda k: k["effect"]["effect"])["candidate"]["change"]["name"] if kept else None
        agree += first == best
        alone = ", ".join("%s %.1f" % (cure, truth[cure]) for cure in cures)
        in_all = "%.1f → %.1f ms" % (found["before_ns"] / 1e6, (found["after_ns"] or found["before_ns"]) / 1e6)
        print("| %s | %.1f ms | %s | %s | %s | %s | %s |" % (name, truth[None], alone, best, shown or "nothing", in_all, first == best), flush=True)
    print("\nthe best single change was found in %d of %d" % (agree, len(names)))


if __name__ == "__main__":
    main()
