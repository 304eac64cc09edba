"""A small real training loop of PyTorch whose dataset sleeps for each sample, as one that waits for storage does."""
import argparse
import time
import torch
from torch.utils.data import DataLoader, Dataset

ap = argparse.ArgumentParser()
ap.add_argument("--num-workers", type=int, default=0)
ap.add_argument("--batch-size", type=int, default=16)
ap.add_argument("--sleep-ms", type=float, default=4.0)
a = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)


class Sleepy(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if a.sleep_ms > 0:
            time.sleep(a.sleep_ms / 1e3)
        x = torch.full((4,), float(index % 7))
        return x, x.sum()


if __name__ == "__main__":
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    data = DataLoader(Sleepy(), batch_size=a.batch_size, num_workers=a.num_workers)
    for step, (inputs, targets) in enumerate(data):
        loss = torch.nn.functional.mse_loss(model(inputs).squeeze(1), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.4f}")
