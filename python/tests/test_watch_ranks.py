"""The watch on several ranks: DDP over gloo with two, started as torchrun does and by multiprocessing."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import whyidle  # noqa: E402

SCRIPT = """
import atexit, os, sys
import torch, torch.distributed as dist
import whyidle

def train(rank, out, sample, steps):
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        dist.init_process_group("gloo", rank=rank, world_size=2)
    else:
        dist.init_process_group("gloo")
    net = torch.nn.Linear(64, 64)
    if os.environ.get("WRAP") == "fsdp":
        from torch.distributed.fsdp import fully_shard
        fully_shard(net, mesh=dist.init_device_mesh("cpu", (2,)))
    else:
        net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with whyidle.watch(out or None, sample=sample, trace_steps=3, trace_after_s=0, lang="en") as watch:
        for at in range(steps):
            net(torch.ones(8, 64)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            # The directory is all that ranks share; how fast steps are must not matter here.
            if steps > 10_000 and at % 200 == 0:
                done = torch.tensor(float(watch._tracer.traced > 0))
                dist.all_reduce(done)
                if done == 2:
                    break
    print("verdict" if watch.verdict else "none", "refused" if watch.refusal else "", flush=True)
    assert watch.faults.count == 0, watch.faults.first
    dist.destroy_process_group()
    # What runs at exit runs; the interpreter is not taken down. A thread of gloo may still hold the last tensor, and where
    # it lets go of it meanwhile PyTorch aborts, with whyidle or without (pytorch/pytorch#179291).
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(0)

if __name__ == "__main__":
    out, sample, steps = sys.argv[1], sys.argv[2] == "sample", int(sys.argv[3])
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), out, sample, steps)
    else:
        torch.multiprocessing.spawn(train, args=(out, sample, steps), nprocs=2)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WHYIDLE", "WHYIDLE_OUT"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("PYTHONPATH", str(Path(whyidle.__file__).parents[1]))
    (tmp_path / "train.py").write_text(SCRIPT)


def ranks(*arguments: str) -> list[tuple[str, str]]:
    """What both ranks print, started as torchrun does."""
    running = []
    for rank in ("0", "1"):
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        command = [sys.executable, "train.py", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen(command, env={**os.environ, **place}, **pipes))
    said = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    return said


def test_each_rank_records_and_rank_0_reports(program):
    zero, one = ranks("out", "alone", "1000000")
    assert zero[0].split() == ["none", "refused"] and one[0].split() == ["none"]
    assert "whyidle: " in zero[1] and "whyidle: " not in one[1]
    names = sorted(os.listdir("out"))
    assert names == [
        "recording.json", "recording_rank0.json", "recording_rank1.json", "trace_rank0.json.gz", "trace_rank1.json.gz",
    ]  # fmt: skip
    for rank in range(2):
        about = json.loads(Path(f"out/recording_rank{rank}.json").read_text())
        assert (about["rank"], about["world"], about["state"], about["active_steps"]) == (rank, 2, "ended", 3)
        assert about["step_ms_mean"] > 0 and about["missing"] == []
    whole = json.loads(Path("out/recording.json").read_text())
    assert whole["world"] == 2 and whole["step_ms_mean"] > 0
    # They traced the same steps: so many collectives each, with the same numbers.
    traces = [json.loads(gzip.decompress(Path(f"out/trace_rank{rank}.json.gz").read_bytes())) for rank in range(2)]
    assert [trace["distributedInfo"]["rank"] for trace in traces] == [0, 1]
    reduced = [sum("all_reduce" in str(event.get("name")) for event in trace["traceEvents"]) for trace in traces]
    assert reduced[0] == reduced[1] > 0
    # Each trace is read with its own rank's step time.
    for rank in range(2):
        done = subprocess.run(
            [program, "trace", f"out/trace_rank{rank}.json.gz", "--format", "json"], capture_output=True, text=True
        )
        assert json.loads(done.stdout)["inputs"][0]["rank"] == rank


def test_a_sampler_for_the_host_and_not_for_each_rank(program, cards):
    ranks("out", "sample", "1000000")
    names = set(os.listdir("out"))
    assert {"recording.json", "recording_rank1.json", "proc.csv", "stacks.jsonl"} <= names
    whole = json.loads(Path("out/recording.json").read_text())
    pids = [json.loads(Path(f"out/recording_rank{rank}.json").read_text())["pids"][0] for rank in range(2)]
    assert set(pids) <= set(whole["pids"]), "both ranks are watched"
    assert whole["world"] == 2


def test_fsdp_is_recorded_alike(monkeypatch):
    monkeypatch.setenv("WRAP", "fsdp")
    ranks("out", "alone", "60")
    for rank in range(2):
        about = json.loads(Path(f"out/recording_rank{rank}.json").read_text())
        assert about["in_loop"]["steps"]["all"] == 59 and about["in_loop"]["boundaries"] == "optimizer"


def test_ranks_of_multiprocessing_share_a_directory_unasked():
    command = [sys.executable, "train.py", "", "alone", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    (folder,) = Path("whyidle-runs").iterdir()
    assert {"recording.json", "recording_rank0.json", "recording_rank1.json"} <= set(os.listdir(folder))
    assert done.stderr.count("whyidle: ") == 1
