"""Programs that are killed while they save checkpoints, each at another moment; what lies there is checked afterwards.

    python kill_checkpoints.py FOLDER FORMAT KILLS [--outside]

A program saves five states and keeps two. It kills itself (SIGKILL) before the nth line of code that it runs in the
modules that save, ``torch.save`` among them, counted over both its threads; n is drawn evenly over a whole run. So
every moment between two lines is as likely as any other, and nothing waits for luck. With ``--outside``, it is killed
from outside instead, after a time drawn evenly over the time of a whole run: also within a write. After each kill, the
newest checkpoint that is whole must be of the last save that was known to be on the disk, or of a later one, and hold
what that step's state was. Prints one line of JSON; the exit status is 1 where one did not. The programs are forked
from this one, which has loaded PyTorch.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import torch

from whyidle import AsyncCheckpointer
from whyidle.feed.checkpoint import latest_checkpoint, load_checkpoint

SAVES = 5
_TRACED = (
    "/whyidle/feed/checkpoint.py", "/whyidle/feed/files.py", "/whyidle/feed/snapshot.py",
    "/whyidle/feed/tensor_files.py", "/torch/serialization.py",
)  # fmt: skip


def state_of(step: int) -> dict:
    weight = torch.full((128, 64), float(step))
    return {"model": {"weight": weight, "tied": weight}, "moments": [weight + 1, weight[:3] * 2], "step": step}


def save_all(folder: Path, format: str, kill_at: int | None, told: int) -> int:
    """Save every state; returns the lines that ran."""
    lines = 0
    lock = threading.Lock()

    def traced(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.endswith(_TRACED):
            return None
        if event == "line":
            with lock:
                lines += 1
                if lines == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
        return traced

    if kill_at is not None:
        threading.settrace(traced)
        sys.settrace(traced)
    checkpoints = AsyncCheckpointer(folder, keep=2, format=format)
    state = state_of(0)
    for step in range(1, SAVES + 1):
        for inner in (state["model"]["weight"], *state["moments"]):
            inner.add_(1.0)  # Where the snapshot were none, this would reach the save before it.
        state = state_of(step)
        checkpoints.save(state, step)
        if step % 2:
            checkpoints.wait()
            os.write(told, bytes([step]))
    checkpoints.close()
    sys.settrace(None)
    threading.settrace(None)
    return lines


def killed(folder: Path, format: str, kill_at: int | None, after: float | None = None) -> tuple[int, bool, int]:
    """The last step known to be on the disk, whether the program was killed, and the lines of one that was not.

    ``kill_at`` is a line, ``None`` to trace none; ``after`` is a time in seconds.
    """
    reading, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        lines = save_all(folder, format, kill_at, telling)
        os.write(telling, lines.to_bytes(4, "little"))
        os._exit(0)
    os.close(telling)
    said = b""
    ends = None if after is None else time.monotonic() + after
    while True:
        left = None if ends is None else max(0.0, ends - time.monotonic())
        if not select.select([reading], [], [], left)[0]:
            os.kill(child, signal.SIGKILL)
            ends = None
        elif part := os.read(reading, 64):
            said += part
        else:
            break
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        # Killed after its last word, it said its lines already: four bytes, of which the step before is the truth.
        return max(said[: SAVES - SAVES // 2], default=0), True, 0
    assert status == 0, status
    return max(said[:-4]), False, int.from_bytes(said[-4:], "little")


def check(folder: Path, known: int) -> int | None:
    """The step that loads; an error where it is lost or wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # A damaged one that is passed over would be a fault, too.
        path = latest_checkpoint(folder)
    if path is None:
        assert known == 0, f"step {known} is lost"
        return None
    state = load_checkpoint(path)
    step = state["step"]
    assert step >= known and path.name.startswith(f"step-{step:012}"), f"{path} after step {known}"
    wanted = state_of(step)
    assert torch.equal(state["model"]["weight"], wanted["model"]["weight"])
    assert state["model"]["weight"].data_ptr() == state["model"]["tied"].data_ptr()
    assert all(torch.equal(one, other) for one, other in zip(state["moments"], wanted["moments"], strict=True))
    return step


def main() -> int:
    folder, format, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    outside = "--outside" in sys.argv
    rng = random.Random(0)
    torch.set_num_threads(1)
    begun = time.monotonic()
    known, _, lines = killed(folder / "whole", format, None if outside else 0)
    took = time.monotonic() - begun
    assert check(folder / "whole", known) == SAVES
    steps: dict[str, int] = {}
    kills = partial = 0
    wrong = []
    runs = 0
    # A program that ended before its time to be killed is checked like the others, and one more is run.
    while kills < count and runs < 5 * count:
        place = folder / str(runs)
        runs += 1
        kill_at = None if outside else rng.randint(1, lines)
        after = rng.uniform(0, took) if outside else None
        known, was_killed, _ = killed(place, format, kill_at, after)
        kills += was_killed
        partial += place.is_dir() and any(place.glob(".*.partial"))
        try:
            step = check(place, known)
            steps[str(step)] = steps.get(str(step), 0) + 1
            # And the next program goes on there, with nothing left of the killed one.
            AsyncCheckpointer(place)
            assert not any(place.glob(".*.partial"))
        except Exception as error:
            wrong.append(f"killed at line {kill_at} or after {after} s: {error}")
    print(
        json.dumps({"runs": runs, "kills": kills, "lines": lines, "partial": partial, "loaded": steps, "wrong": wrong})
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
