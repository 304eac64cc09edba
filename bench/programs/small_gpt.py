"""A GPT of 64 million parameters, whose samples a DataLoader prepares on the CPU: by hashing, or by a tokenizer.

It knows nothing of whyidle. ``--small`` is for a machine without a GPU.
"""

import argparse
import hashlib

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--items", choices=("hashed", "tokenised"), default="hashed")
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--bf16", action="store_true", help="autocast, pinned memory")
parser.add_argument("--small", action="store_true")
asked = parser.parse_args()
torch.manual_seed(0)
LENGTH, BATCH, WIDTH, HEADS, LAYERS, VOCABULARY = (64, 4, 64, 4, 2, 8192) if asked.small else (512, 16, 768, 12, 8, 8192)


class Hashed(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, at):
        state, ids = hashlib.sha256(str(at).encode()).digest(), []
        while len(ids) < LENGTH + 1:
            state = hashlib.sha256(state).digest()
            ids += [(state[k] * 31 + state[k + 1]) % VOCABULARY for k in range(0, 32, 2)]
            for _ in range(10):
                hashlib.sha256(state * 16).digest()
        return torch.tensor(ids[: LENGTH + 1])


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).view(x.shape[0], LENGTH, 3, HEADS, WIDTH // HEADS)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


device = "cuda" if torch.cuda.is_available() else "cpu"
layers = [Block() for _ in range(LAYERS)]
model = nn.Sequential(nn.Embedding(VOCABULARY, WIDTH), *layers, nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY))
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
if asked.items == "hashed":
    data = Hashed()
else:
    from made_text import Tokenised

    data = Tokenised(3 * LENGTH, LENGTH + 1)
loader = torch.utils.data.DataLoader(
    data,
    batch_size=BATCH,
    num_workers=asked.workers,
    pin_memory=asked.bf16 and device == "cuda",
    persistent_workers=asked.workers > 0,
)
for step, ids in enumerate(loader):
    ids = ids.to(device, non_blocking=asked.bf16)
    with torch.autocast(device, dtype=torch.bfloat16, enabled=asked.bf16):
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
