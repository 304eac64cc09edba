"""A small training program that waits for its data: each item sleeps in `slow_item`."""
import argparse, time
import torch
from torch.utils.data import DataLoader, Dataset

def slow_item(seconds):
    end = time.perf_counter() + seconds
    total = 0
    while time.perf_counter() < end:
        total += sum(range(200))
    return total

class Slow(Dataset):
    def __init__(self, length, seconds):
        self.length, self.seconds = length, seconds
    def __len__(self):
        return self.length
    def __getitem__(self, index):
        slow_item(self.seconds)
        return torch.full((64,), float(index % 7)), index % 10

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=0)
    ap.add_argument("--item", type=float, default=0.004)
    ap.add_argument("--seconds", type=float, default=600)
    ap.add_argument("--nameless", action="store_true", help="workers without a name, as before PyTorch 2.6")
    a = ap.parse_args()
    if a.nameless:
        torch.multiprocessing._set_thread_name = lambda name: None
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Slow(10_000_000, a.item), batch_size=8, num_workers=a.workers)
    end = time.time() + a.seconds
    print("training", flush=True)
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if time.time() > end:
            break
    print("done", step, flush=True)

if __name__ == "__main__":
    main()
