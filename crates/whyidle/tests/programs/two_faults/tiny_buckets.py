"""Two ranks reduce gradients in buckets of a few kilobytes, and look for unused parameters that do not exist.
Run by torchrun with two processes."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from training import Slow, arguments, loader, network, train

if __name__ == "__main__":
    a = arguments("bucket_cap_mb", "find_unused_parameters")
    dist.init_process_group("gloo")
    model = DistributedDataParallel(
        network(150),
        bucket_cap_mb=25 if "bucket_cap_mb" in a.cure else 0.004,
        find_unused_parameters="find_unused_parameters" not in a.cure,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    train(model, optimizer, loader(Slow(4096, 0), 8), a.steps)
