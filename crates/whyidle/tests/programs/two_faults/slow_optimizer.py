"""The optimizer goes from parameter to parameter, of which there are hundreds; items come a little slowly."""

import torch
from training import Scattered, Slow, arguments, loader, train

if __name__ == "__main__":
    a = arguments("fused_optimizer", "workers")
    model = Scattered(1000)
    fused = {"fused": True} if "fused_optimizer" in a.cure else {"foreach": False}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **fused)
    workers = 2 if "workers" in a.cure else 0
    data = loader(Slow(4096, 0.0015), 8, num_workers=workers)
    train(model, optimizer, data, a.steps)
