"""Items come slowly and are fetched in the training process; the optimizer goes from parameter to parameter."""

import torch
from training import Slow, arguments, loader, network, train

if __name__ == "__main__":
    a = arguments("workers", "fused_optimizer")
    model = network(60)
    fused = {"fused": True} if "fused_optimizer" in a.cure else {"foreach": False}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **fused)
    workers = 8 if "workers" in a.cure else 0
    data = loader(Slow(4096, 0.004), 8, num_workers=workers)
    train(model, optimizer, data, a.steps)
