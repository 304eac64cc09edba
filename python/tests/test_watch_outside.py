"""``WHYIDLE=1``: the package's ``.pth`` file watches a program that says nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import whyidle  # noqa: E402

SOURCE = Path(whyidle.__file__).parents[1]
PTH = SOURCE / "packaging" / "whyidle_watch.pth"

TRAIN = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    torch.set_num_threads(1)
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loader = DataLoader(TensorDataset(torch.ones(80, 2)), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    for (batch,) in loader:
        net(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

if __name__ == "__main__":
    print("trains")
    main()
"""


@pytest.fixture
def run(tmp_path, monkeypatch, program):
    """Runs Python as it starts with the package installed: site reads the ``.pth`` file."""
    monkeypatch.chdir(tmp_path)
    installed = tmp_path / "site"
    installed.mkdir()
    (installed / PTH.name).write_text(PTH.read_text())
    start = tmp_path / "start"
    start.mkdir()
    (start / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(installed)!r})\n")
    (tmp_path / "train.py").write_text(TRAIN)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        given = {name: value for name, value in os.environ.items() if not name.startswith("WHYIDLE")}
        given["PYTHONPATH"] = os.pathsep.join([str(start), str(SOURCE)])
        command = [sys.executable, *arguments]
        return subprocess.run(command, capture_output=True, text=True, env={**given, **environment}, timeout=240)

    return run


def test_a_program_is_watched_and_its_workers_are_not(run):
    done = run("train.py", WHYIDLE="1", WHYIDLE_OUT="out")
    assert done.returncode == 0 and done.stdout == "trains\n", done.stderr
    assert done.stderr.count("whyidle: ") == 1 and "recording  out" in done.stderr
    about = json.loads(Path("out/recording.json").read_text())
    assert about["in_loop"]["steps"]["all"] == 39 and about["workers"] == 1 and about["in_loop"]["faults"] == 0
    # A place that is taken is never an error of the program's.
    again = run("train.py", WHYIDLE="1", WHYIDLE_OUT="out")
    assert again.returncode == 0 and "recording  out-2" in again.stderr
    assert about == json.loads(Path("out/recording.json").read_text())


def test_nothing_happens_unless_it_is_asked_for(run):
    for value in ({}, {"WHYIDLE": "0"}, {"WHYIDLE": "off"}, {"WHYIDLE": ""}):
        done = run("-c", "import sys; print([name for name in sys.modules if name.startswith('whyidle')])", **value)
        assert done.stdout.strip() == "[]", done.stderr
    assert not Path("whyidle-runs").exists()


def test_a_program_that_does_not_train_is_left_alone(run):
    done = run("-c", "import torch; print('fine')", WHYIDLE="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
    assert not Path("whyidle-runs").exists()
    # Even where the package is gone and its file is not.
    code = "import sys; print('fine')"
    broken = run("-c", code, WHYIDLE="1", PYTHONPATH=str(Path("start").absolute()))
    assert broken.returncode == 0 and broken.stdout == "fine\n"


def test_a_program_that_watches_itself_is_watched_once(run):
    code = TRAIN.replace(
        "    main()\n", "    import whyidle\n    with whyidle.watch('own', sample=False):\n        main()\n"
    )
    Path("train.py").write_text(code)
    done = run("train.py", WHYIDLE="1", WHYIDLE_OUT="out")
    assert done.returncode == 0, done.stderr
    assert Path("own/recording.json").exists() and not Path("out").exists()
    assert done.stderr.count("whyidle: ") == 1


def test_processes_that_multiprocessing_starts_report_too(run):
    code = TRAIN.replace(
        "    main()\n",
        "    import multiprocessing\n"
        "    for way in ('fork', 'spawn'):\n"
        "        child = multiprocessing.get_context(way).Process(target=main)\n"
        "        child.start()\n        child.join()\n        assert child.exitcode == 0\n",
    )
    Path("train.py").write_text(code)
    done = run("train.py", WHYIDLE="1", WHYIDLE_OUT="out")
    assert done.returncode == 0, done.stderr
    for folder in ("out", "out-2"):
        assert json.loads(Path(folder, "recording.json").read_text())["in_loop"]["steps"]["all"] == 39
