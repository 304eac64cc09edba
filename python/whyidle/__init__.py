"""Who is the GPU waiting for, what does it cost, and which change proves to fix it?

This package holds the parts of whyidle that need Python. The program itself is the ``whyidle`` command. Importing it
loads nothing: each part, and PyTorch with it, is loaded when it is first named (``whyidle.BucketSampler``).
"""

from __future__ import annotations

# Known to type checkers by its name; `typing` itself takes as long to import as all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from whyidle.feed.buckets import BucketSampler as BucketSampler
    from whyidle.feed.buckets import PaddingReport as PaddingReport
    from whyidle.feed.checkpoint import AsyncCheckpointer as AsyncCheckpointer
    from whyidle.feed.checkpoint import CheckpointError as CheckpointError
    from whyidle.feed.checkpoint import latest_checkpoint as latest_checkpoint
    from whyidle.feed.packed import PackedDataset as PackedDataset
    from whyidle.feed.packing import Packing as Packing
    from whyidle.feed.packing import pack as pack
    from whyidle.feed.prefetch import Prefetcher as Prefetcher
    from whyidle.feed.token_files import TokenFileError as TokenFileError
    from whyidle.feed.token_files import TokenWriter as TokenWriter
    from whyidle.feed.tokens import TokenDataset as TokenDataset
    from whyidle.feed.tokens import TokenSampler as TokenSampler
    from whyidle.feed.tuning import TuneError as TuneError
    from whyidle.feed.tuning import TuneResult as TuneResult
    from whyidle.feed.tuning import tune_loader as tune_loader

__version__ = "0.1.0"

#: Where each part lies.
_PARTS = {
    "BucketSampler": "buckets",
    "PaddingReport": "buckets",
    "AsyncCheckpointer": "checkpoint",
    "CheckpointError": "checkpoint",
    "latest_checkpoint": "checkpoint",
    "PackedDataset": "packed",
    "Packing": "packing",
    "pack": "packing",
    "Prefetcher": "prefetch",
    "TokenFileError": "token_files",
    "TokenWriter": "token_files",
    "TokenDataset": "tokens",
    "TokenSampler": "tokens",
    "TuneError": "tuning",
    "TuneResult": "tuning",
    "tune_loader": "tuning",
}

__all__ = ["__version__", *_PARTS]


def __getattr__(name: str) -> Any:
    module = _PARTS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    part = getattr(importlib.import_module(f"whyidle.feed.{module}"), name)
    globals()[name] = part
    return part


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
