"""A small training program with phases that a trace of a few steps never sees: epochs whose workers start anew, an
evaluation, and checkpoints. CPU only."""

import argparse
import os
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Dataset


def busy(seconds):
    """Holds a batch up as a larger model would."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


class Items(Dataset):
    def __init__(self, length, seconds=0.0):
        self.length = length
        self.seconds = seconds

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        busy(self.seconds)
        return torch.full((64,), float(index))


class Model(torch.nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)
        self.seconds = seconds

    def forward(self, x):
        busy(self.seconds)
        return self.layer(x)


def score(model, loader):
    """Not called an evaluation: it is told by what it does."""
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model(batch).sum()
    return total


class SlowWriter:
    """A file on slow storage."""

    def __init__(self, file, seconds):
        self.file, self.seconds = file, seconds

    def write(self, data):
        time.sleep(self.seconds)
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--start", type=float, default=3.0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    busy(args.start)
    model = Model(0.03)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    training = DataLoader(Items(8 * 60), batch_size=8, num_workers=1)
    # Prepared by the program itself, and slowly enough that a few looks a second meet it.
    held_out = DataLoader(Items(8 * 40, 0.002), batch_size=8)
    start = time.monotonic()
    print("training", flush=True)
    while time.monotonic() - start < args.seconds:
        for batch in training:
            optimizer.zero_grad()
            loss = model(batch).sum()
            # Backward of a larger model takes time too.
            loss.register_hook(lambda gradient: busy(0.01))
            loss.backward()
            optimizer.step()
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "model.pt"), "wb") as file:
            torch.save(model.state_dict(), SlowWriter(file, 0.05))
        score(model, held_out)


main()
