"""Programs that are killed while they save checkpoints, each at another moment; what lies there is checked afterwards.

    python kill_checkpoints.py FOLDER FORMAT COUNT [SEED]

A program saves five states and keeps two. It kills itself (SIGKILL) before the nth line of code that it runs in the
modules that save, counted over both its threads; n is drawn evenly over a whole run. So every moment between two lines
is as likely as any other, and nothing waits for luck. After each kill, the newest checkpoint that is whole must be of the
last save that was known to be on the disk, or of a later one, and hold what that step's state was. Prints one line of
JSON; the exit status is 1 where one did not. The programs are forked from this one, which has loaded PyTorch.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import warnings
from pathlib import Path

import torch

from whyidle import AsyncCheckpointer
from whyidle.feed.checkpoint import latest_checkpoint, load_checkpoint

SAVES = 5
_TRACED = ("/whyidle/feed/checkpoint.py", "/whyidle/feed/files.py", "/whyidle/feed/snapshot.py", "/whyidle/feed/tensor_files.py")


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


def killed(folder: Path, format: str, kill_at: int | None) -> tuple[int, bool, int]:
    """The last step known to be on the disk, whether the program was killed, and the lines of one that was not."""
    reading, telling = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        lines = save_all(folder, format, kill_at, telling)
        os.write(telling, lines.to_bytes(4, "little"))
        os._exit(0)
    os.close(telling)
    said = b""
    while part := os.read(reading, 64):
        said += part
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return max(said, default=0), True, 0
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
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    torch.set_num_threads(1)
    known, _, lines = killed(folder / "whole", format, None)
    assert check(folder / "whole", known) == SAVES
    steps: dict[str, int] = {}
    kills = partial = 0
    wrong = []
    for at in range(count):
        place = folder / str(at)
        kill_at = rng.randint(1, lines)
        known, was_killed, _ = killed(place, format, kill_at)
        kills += was_killed
        partial += place.is_dir() and any(place.glob(".*.partial"))
        try:
            step = check(place, known)
            steps[str(step)] = steps.get(str(step), 0) + 1
            # And the next program goes on there, with nothing left of the killed one.
            AsyncCheckpointer(place)
            assert not any(place.glob(".*.partial"))
        except Exception as error:
            wrong.append(f"killed at line {kill_at} of {lines}: {error}")
    print(json.dumps({"runs": count, "kills": kills, "lines": lines, "partial": partial, "loaded": steps, "wrong": wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
