"""Garbage is collected by hand after each step, over many objects; workers start anew for each short epoch."""

import gc

import torch
from training import Slow, arguments, loader, network, train

if __name__ == "__main__":
    a = arguments("gc", "persistent_workers")
    # A vocabulary, an index: what programs keep.
    kept = [{"id": at, "word": str(at)} for at in range(400_000)]
    model = network(20)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    data = loader(Slow(8 * 24, 0.001), 8, num_workers=2, persistent_workers="persistent_workers" in a.cure)
    if "gc" in a.cure:
        gc.freeze()
    train(model, optimizer, data, a.steps, after=gc.collect)
