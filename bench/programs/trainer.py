"""transformers' Trainer as it comes: nothing is set but where it writes and how long."""

import os
import tempfile

from made_text import Tokenised
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Labelled(Tokenised):
    def __getitem__(self, at):
        ids = super().__getitem__(at)
        return {"input_ids": ids, "labels": ids.clone()}


model = GPT2LMHeadModel(GPT2Config(vocab_size=8192, n_positions=512, n_layer=int(os.environ.get("LAYERS", "12"))))
settings = TrainingArguments(output_dir=tempfile.mkdtemp(), max_steps=100_000, report_to="none")
Trainer(model=model, args=settings, train_dataset=Labelled(1500, 512)).train()
