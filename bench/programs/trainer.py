"""transformers' Trainer as it comes: nothing is set but where it writes and how long."""

import os
import tempfile

import torch
from made_text import text, tokenizer
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokenised(torch.utils.data.Dataset):
    tokenizer = None

    def __len__(self):
        return 1 << 20

    def __getitem__(self, at):
        if self.tokenizer is None:
            self.tokenizer = tokenizer()
        ids = torch.tensor((self.tokenizer.encode(text(at, 1500)).ids + [0] * 512)[:512])
        return {"input_ids": ids, "labels": ids.clone()}


model = GPT2LMHeadModel(GPT2Config(vocab_size=8192, n_positions=512, n_layer=int(os.environ.get("LAYERS", "12"))))
settings = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=100_000, report_to="none")
Trainer(model=model, args=settings, train_dataset=Tokenised()).train()
