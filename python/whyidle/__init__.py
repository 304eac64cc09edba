"""Who is the GPU waiting for, what does it cost, and which change fixes it?

``whyidle.load("runs/42/")`` gives the verdict of a trace or recording, ``whyidle.compare`` what changed between two,
``whyidle.plan`` what a run will need: the commands of the ``whyidle`` program, which comes with the package.
``whyidle.watch`` watches the program itself train; ``whyidle.hooks`` does so for frameworks. Beside them are parts that
feed a GPU. Importing this loads nothing: each part, and PyTorch with it, is loaded when it is first named
(``whyidle.BucketSampler``).
"""

from __future__ import annotations

# Known to type checkers by its name; `typing` itself takes as long to import as all the rest.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from whyidle.commands import Comparison as Comparison
    from whyidle.commands import Plan as Plan
    from whyidle.commands import Refused as Refused
    from whyidle.commands import Unreadable as Unreadable
    from whyidle.commands import WhyidleError as WhyidleError
    from whyidle.commands import compare as compare
    from whyidle.commands import plan as plan
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
    from whyidle.loop.current import step as step
    from whyidle.loop.watch import Watch as Watch
    from whyidle.loop.watch import watch as watch
    from whyidle.table import Table as Table
    from whyidle.verdict import Verdict as Verdict
    from whyidle.verdict import load as load

__version__ = "0.1.0"

#: Where each part lies.
_PARTS = {
    "load": "verdict",
    "Verdict": "verdict",
    "Table": "table",
    "compare": "commands",
    "plan": "commands",
    "Comparison": "commands",
    "Plan": "commands",
    "WhyidleError": "commands",
    "Unreadable": "commands",
    "Refused": "commands",
    "watch": "loop.watch",
    "step": "loop.current",
    "Watch": "loop.watch",
    "BucketSampler": "feed.buckets",
    "PaddingReport": "feed.buckets",
    "AsyncCheckpointer": "feed.checkpoint",
    "CheckpointError": "feed.checkpoint",
    "latest_checkpoint": "feed.checkpoint",
    "PackedDataset": "feed.packed",
    "Packing": "feed.packing",
    "pack": "feed.packing",
    "Prefetcher": "feed.prefetch",
    "TokenFileError": "feed.token_files",
    "TokenWriter": "feed.token_files",
    "TokenDataset": "feed.tokens",
    "TokenSampler": "feed.tokens",
    "TuneError": "feed.tuning",
    "TuneResult": "feed.tuning",
    "tune_loader": "feed.tuning",
}

__all__ = ["__version__", *_PARTS]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "hooks":
        return importlib.import_module("whyidle.hooks")
    module = _PARTS.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    part = getattr(importlib.import_module(f"whyidle.{module}"), name)
    globals()[name] = part
    return part


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
