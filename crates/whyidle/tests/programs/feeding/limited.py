"""Trains with one limit, by its argument: `compute`, the network; `prep`, what is done to each item; `waits`, items that
come slowly without work for the processor; `storage`, small reads all over a file; `memory`, none of the data, by a loop of its own that no loader feeds."""

import argparse
import os
import random
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Dataset

WIDTH = 128
SIZE = 64 << 20


class Items(Dataset):
    def __init__(self, limit, path):
        self.limit, self.path, self.file = limit, path, None
        self.random = random.Random(0)

    def __len__(self):
        return 512

    def __getitem__(self, at):
        if self.file is None:
            self.file = os.open(self.path, os.O_RDONLY)
            # No reading ahead: each of these is a read of its own.
            os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_RANDOM)
        reads = 100 if self.limit == "storage" else 1
        for _ in range(reads):
            os.pread(self.file, 4096, self.random.randrange(SIZE // 4096) * 4096)
        if self.limit == "waits":
            time.sleep(0.004)
        words = 20_000 if self.limit == "prep" else 100
        seen = sum(hash(str(word)) & 1 for word in range(words))
        return torch.full((WIDTH,), float(at % 7 + seen % 2))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("limit", choices=["compute", "prep", "waits", "storage", "memory"])
    ap.add_argument("--folder", default=tempfile.gettempdir())
    a = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    path = os.path.join(a.folder, "whyidle-items-%d.bin" % os.getuid())
    if not os.path.exists(path) or os.path.getsize(path) != SIZE:
        with open(path + ".new", "wb") as file:
            file.write(os.urandom(SIZE))
        os.rename(path + ".new", path)
    layers = 60 if a.limit == "compute" else 3
    width = 512 if a.limit == "compute" else WIDTH
    parts = [torch.nn.Linear(WIDTH, width)]
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.ReLU()]
    model = torch.nn.Sequential(*parts, torch.nn.Linear(width, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    made = Items(a.limit, path)
    batches = [torch.randn(8, WIDTH)] * 64 if a.limit == "memory" else DataLoader(made, batch_size=8)
    step = 0
    while True:
        for x in batches:
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            print("step %d loss %.4f" % (step, loss.item()), flush=True)
