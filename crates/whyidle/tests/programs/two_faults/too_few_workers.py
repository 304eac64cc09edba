"""Two workers cannot keep up with items that come slowly, and start anew for each short epoch."""

import torch
from training import Slow, arguments, loader, network, train

if __name__ == "__main__":
    a = arguments("workers", "persistent_workers")
    model = network(20)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    workers = 8 if "workers" in a.cure else 2
    again = "persistent_workers" in a.cure
    data = loader(Slow(16 * 32, 0.008), 16, num_workers=workers, persistent_workers=again)
    train(model, optimizer, data, a.steps)
