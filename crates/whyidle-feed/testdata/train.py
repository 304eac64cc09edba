"""Makes `byte_level.json`: a byte-level BPE of 900 tokens of the READMEs, without any of the texts.

python train.py ../../../README.md ../../../README.zh-CN.md byte_level.json
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

*texts, out = map(Path, sys.argv[1:])
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
trainer = trainers.BpeTrainer(
    vocab_size=900,
    special_tokens=["<|endoftext|>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator([text.read_text("utf-8") for text in texts], trainer)
out.write_text(json.dumps(json.loads(tokenizer.to_str()), separators=(",", ":")) + "\n")
