"""Learns a line without any library, a step every few milliseconds, and prints its loss. LEARNS may hold more options."""
import argparse
import os
import random
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--lr", type=float, default=0.05)
ap.add_argument("--sleep", type=float, default=0.003)
ap.add_argument("--steps", type=int, default=1 << 40)
ap.add_argument("--nan-at", type=int, default=-1)
a = ap.parse_args(sys.argv[1:] + os.environ.get("LEARNS", "").split())
random.seed(0)
w = b = 0.0
for step in range(a.steps):
    x = random.uniform(-1, 1)
    error = w * x + b - (3 * x + 2)
    w, b = w - a.lr * error * x, b - a.lr * error
    time.sleep(a.sleep)
    loss = float("nan") if step == a.nan_at else 1 + error * error
    sys.stdout.write(f"step {step} loss {loss:.4f}\n")
    sys.stdout.flush()
