"""What experiments find on real training programs: `compare`, a program against itself, and `fix`.

A GPT fed by its own process against one fed by six workers; the latter against itself, which must show no clear
difference; `fix` on a loop that tokenises in two workers in fp32, and on transformers' Trainer with its defaults. Prints
a table in Markdown. Needs a GPU, PyTorch, tokenizers and transformers; `--small` is a try without a GPU.

    python3 bench/experiments.py --program target/release/whyidle --python target/test-venv/bin/python
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "programs"


class Bench:
    """Commands of one whyidle, with a history of their own."""

    def __init__(self, asked):
        self.program, self.python, self.small = asked.program, asked.python, asked.small
        self.steps, self.pairs = str(asked.steps), str(asked.pairs)
        self.place = tempfile.TemporaryDirectory()
        self.environment = {**os.environ, "XDG_DATA_HOME": self.place.name, "PYTHONUNBUFFERED": "1"}

    def gpt(self, *options):
        return [self.python, str(PROGRAMS / "small_gpt.py"), *options, *(["--small"] if self.small else [])]

    def ask(self, command, *arguments, after=()):
        """The JSON that a command of whyidle prints; what it says meanwhile goes to standard error."""
        options = ["--steps", self.steps, "--pairs", self.pairs, "--format", "json"]
        line = [self.program, command, *arguments, *options, *after]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, env=self.environment)
        if not done.stdout.startswith("{"):
            sys.exit(f"{' '.join(line)} ended with {done.returncode} and no result")
        return json.loads(done.stdout)


def ms(ns):
    return "–" if ns is None else f"{ns / 1e6:.1f} ms"


def change(effect):
    """The effect of a pair: a ratio less one, with its 95 % interval."""
    return f"{effect['effect']:+.1%} ({effect['low']:+.1%} … {effect['high']:+.1%}), {effect['pairs']} pairs"


def compared(name, found):
    row(name, ms(found["a"]["step_ns"]), ms(found["b"]["step_ns"]), change(found["effect"]), found["effect"]["answer"])


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def fixed(name, found):
    """One row for each change that was kept, in order, and one for all of them."""
    for attempt in found["attempts"]:
        if attempt["outcome"] == "kept":
            candidate = attempt["candidate"]
            predicted = candidate["predicted"]
            foreseen = "not predicted" if predicted is None else f"predicted {predicted:+.0%}"
            what = f"{name}: {candidate['change']['name']} = {candidate['change']['value']}"
            row(what, "", "", change(attempt["effect"]), foreseen)
    together = "nothing kept" if found["together"] is None else change(found["together"])
    row(f"{name}: all that was kept", ms(found["before_ns"]), ms(found["after_ns"]), together, "")


def main():
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--program", default="target/release/whyidle")
    asked.add_argument("--python", default=sys.executable)
    asked.add_argument("--steps", type=int, default=150)
    asked.add_argument("--pairs", type=int, default=6)
    asked.add_argument("--only", choices=("compare", "itself", "tokenised", "trainer"), action="append")
    asked.add_argument("--small", action="store_true")
    asked = asked.parse_args()
    wanted = set(asked.only or ("compare", "itself", "tokenised", "trainer"))
    bench = Bench(asked)
    row("what", "before", "after", "change of a step (95 %)", "")
    row(*["---"] * 5)
    hashed = ["--items", "hashed", "--bf16", "--workers"]
    alone, fed = bench.gpt(*hashed, "0"), bench.gpt(*hashed, "6")
    if "compare" in wanted:
        compared("no workers → six", bench.ask("compare", " ".join(alone), " ".join(fed)))
    if "itself" in wanted:
        compared("six workers against themselves", bench.ask("compare", "--self-test", after=["--", *fed]))
    if "tokenised" in wanted:
        loop = bench.gpt("--items", "tokenised", "--workers", "2")
        fixed("a loop that tokenises", bench.ask("fix", after=["--", *loop]))
    if "trainer" in wanted:
        loop = [bench.python, str(PROGRAMS / "trainer.py")]
        fixed("transformers' Trainer", bench.ask("fix", after=["--", *loop]))


if __name__ == "__main__":
    main()
