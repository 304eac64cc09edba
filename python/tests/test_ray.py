"""The verdict through Ray is the one without it, and a worker that is killed loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import fsspec
import pytest

ray = pytest.importorskip("ray")

from whyidle.ray import AnalysisError, analyze  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "testdata" / "straggler_data"
PROGRAM = Path(os.environ.get("WHYIDLE_TEST_PROGRAM", ROOT / "target" / "debug" / "whyidle"))


@pytest.fixture(scope="module", autouse=True)
def cluster():
    assert PROGRAM.is_file(), f"{PROGRAM} must be built first"
    for tries_left in (2, 1, 0):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
            break
        except Exception:  # A busy machine may take longer to start it than Ray waits.
            ray.shutdown()
            if not tries_left:
                raise
    yield
    ray.shutdown()


def without_ray(folder: Path, tmp_path: Path) -> dict:
    """The same digests, made and judged one after the other."""
    digests = tmp_path / "digests"
    digests.mkdir()
    for trace in sorted(folder.glob("trace*.json.gz")):
        out = digests / f"{trace.name}.digest"
        arguments = ["digest", trace, "--recorded", "-o", out]
        subprocess.run([PROGRAM, *arguments], check=True, capture_output=True)
    done = subprocess.run([PROGRAM, "merge", digests, "--format", "json"], check=True, capture_output=True)
    return json.loads(done.stdout)


def test_the_verdict_is_the_same_bit_for_bit(tmp_path):
    through_ray = analyze(RUN, binary=PROGRAM)
    assert json.dumps(through_ray) == json.dumps(without_ray(RUN, tmp_path))
    assert through_ray["verdict"]["primary"] == "rank.straggler"
    whole = subprocess.run([PROGRAM, "trace", RUN, "--format", "json"], check=True, capture_output=True)
    assert json.loads(whole.stdout)["findings"] == through_ray["findings"]


def test_a_killed_worker_loses_nothing(tmp_path):
    """A program that kills the worker that runs it, the first time it is asked for rank 1."""
    died = tmp_path / "died"
    program = tmp_path / "whyidle"
    program.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *rank1*) [ -e "{died}" ] || {{ : > "{died}"; kill -9 $PPID; sleep 5; }};; esac\n'
        f'exec "{PROGRAM}" "$@"\n'
    )
    program.chmod(0o755)
    verdict = analyze(RUN, binary=program)
    assert died.exists(), "no worker was killed"
    assert json.dumps(verdict) == json.dumps(without_ray(RUN, tmp_path))


def test_traces_are_read_through_fsspec(tmp_path):
    """Not a local path: the workers fetch it. A cached copy of a folder stands for a bucket."""
    url = f"simplecache::file://{RUN}/trace_rank0.json.gz"
    with fsspec.open(url) as file:
        assert file.read(2) == b"\x1f\x8b"
    verdict = analyze([f"local://{RUN}/trace_rank0.json.gz", f"file://{RUN}/trace_rank1.json.gz"], binary=PROGRAM)
    assert verdict["verdict"]["primary"] == "rank.straggler"


def test_what_is_no_trace_is_an_error_with_its_reason(tmp_path):
    broken = tmp_path / "trace_rank0.json"
    broken.write_text("<html>")
    with pytest.raises(Exception, match="web page"):
        analyze(broken, binary=PROGRAM)
    with pytest.raises(AnalysisError, match="no trace"):
        analyze([], binary=PROGRAM)
