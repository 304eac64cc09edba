"""The package is light until a part of it is named."""

from __future__ import annotations

import subprocess
import sys

import pytest

import whyidle


def test_importing_loads_neither_torch_nor_numpy():
    code = "import sys, whyidle; dir(whyidle); print(sorted({'torch', 'numpy', 'ray'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_every_part_is_reached_by_its_name():
    for name in whyidle.__all__:
        assert getattr(whyidle, name) is not None
        assert name in dir(whyidle)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = whyidle.nonsense
