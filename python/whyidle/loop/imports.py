"""Doing something once a module has been imported, whoever imports it and whenever."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

__all__ = ["after"]

Then = Callable[[Any], None]


class _Finder(MetaPathFinder):
    """Finds what the ordinary finder finds, and adds to its loading."""

    def __init__(self) -> None:
        self.wanted: dict[str, list[Then]] = {}
        #: Modules that have run, though their import is not over.
        self.ran: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        waiting = self.wanted.pop(name, None)
        if waiting is None:
            return None
        if not self.wanted and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        load = loader.exec_module

        def exec_module(module: Any) -> None:
            load(module)
            self.ran.add(name)
            for then in waiting:
                try:
                    then(module)
                except Exception:  # noqa: BLE001, S110 – the import is the program's, and goes on
                    pass

        loader.exec_module = exec_module
        return spec


_finder = _Finder()


def after(name: str, then: Then) -> None:
    """Call ``then`` with the module ``name``: at once if it is there, else right after its import."""
    module = sys.modules.get(name)
    is_running = getattr(getattr(module, "__spec__", None), "_initializing", False)
    if module is not None and (name in _finder.ran or not is_running):
        then(module)
        return
    _finder.wanted.setdefault(name, []).append(then)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
