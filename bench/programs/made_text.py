"""Text made of invented words, a byte-level BPE trained on it once, and a data set that tokenises as it is asked."""

import os
import random
import tempfile

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

PATH = os.path.join(tempfile.gettempdir(), "whyidle-bench-tokenizer.json")
RANDOM = random.Random(1)
WORDS = ["".join(RANDOM.choice("etaoinshrdlucmfwypvbgk") for _ in range(RANDOM.randint(2, 9))) for _ in range(5000)]


def text(at: int, words: int) -> str:
    """Always the same for the same number."""
    return " ".join(random.Random(at).choices(WORDS, k=words))


def tokenizer() -> Tokenizer:
    """Some 8 000 tokens. Workers may ask at the same time."""
    if not os.path.exists(PATH):
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel()
        made.train_from_iterator((text(at, 2000) for at in range(50)), trainers.BpeTrainer(vocab_size=8000))
        part = f"{PATH}.{os.getpid()}"
        made.save(part)
        os.replace(part, PATH)
    return Tokenizer.from_file(PATH)


class Tokenised(torch.utils.data.Dataset):
    """Each item so many words of text, as `length` token ids, filled up with 0."""

    def __init__(self, words: int, length: int) -> None:
        self.words, self.length = words, length
        self.tokenizer: Tokenizer | None = None

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, at: int) -> torch.Tensor:
        # Each worker reads its own.
        if self.tokenizer is None:
            self.tokenizer = tokenizer()
        ids = self.tokenizer.encode(text(at, self.words)).ids[: self.length]
        return torch.tensor(ids + [0] * (self.length - len(ids)))
