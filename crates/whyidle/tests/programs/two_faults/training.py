"""What the five programs of this folder share. Each has two faults and the cure of each behind a flag: `--cure NAME`,
so that the truth can be measured without the tool. Nothing of the tool's knows these flags."""

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset

WIDTH = 64


def arguments(*cures):
    parser = argparse.ArgumentParser()
    parser.add_argument("--cure", action="append", default=[], choices=cures)
    parser.add_argument("--steps", type=int, default=1 << 40)
    parsed = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return parsed


class Slow(Dataset):
    """Items that take `seconds` each to arrive, as from a store far away, without work for the processor."""

    def __init__(self, items, seconds):
        self.items, self.seconds = items, seconds
        made = torch.Generator().manual_seed(1)
        self.x = torch.randn(items, WIDTH, generator=made)
        self.y = self.x.sum(dim=1, keepdim=True).sign()

    def __len__(self):
        return self.items

    def __getitem__(self, at):
        if self.seconds:
            time.sleep(self.seconds)
        return self.x[at], self.y[at]


def network(layers):
    """Many small parameters: two for each layer."""
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()]
    return torch.nn.Sequential(*parts, torch.nn.Linear(WIDTH, 1))


class Scattered(torch.nn.Module):
    """A layer whose rows are parameters of their own."""

    def __init__(self, rows):
        super().__init__()
        self.rows = torch.nn.ParameterList([torch.randn(WIDTH) / WIDTH for _ in range(rows)])

    def forward(self, x):
        return torch.tanh(x @ torch.stack(list(self.rows)).T).mean(dim=1, keepdim=True)


def train(model, optimizer, loader, steps, after=lambda: None):
    step = 0
    while True:
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            after()
            step += 1
            print(f"step {step} loss {loss.item():.4f}", flush=True)
            if step >= steps:
                return


def loader(dataset, batch, **options):
    return DataLoader(dataset, batch_size=batch, shuffle=False, **options)
