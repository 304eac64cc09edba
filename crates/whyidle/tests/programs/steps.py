"""A small real training loop of PyTorch with a loader, on the CPU; `--compile` lets torch.compile take the model."""
import argparse
import torch
from torch.utils.data import DataLoader, TensorDataset

ap = argparse.ArgumentParser()
ap.add_argument("--compile", action="store_true")
a = ap.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.randn(64, 16)
data = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=4)
model = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 2))
if a.compile:
    model = torch.compile(model, backend="eager")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
while True:
    for inputs, targets in data:
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch over, loss {loss.item():.4f}")
