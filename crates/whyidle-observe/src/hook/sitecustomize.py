"""Put before a Python program that is measured: writes a line at the end of each optimizer step of PyTorch into the
folder WHYIDLE_STEPS, and changes nothing, unless WHYIDLE_TRY asks for it (whyidle_tries.py). Without PyTorch nothing
happens. Whatever goes wrong in here is counted in the file and never reaches the program. The program's own
sitecustomize runs as ever.
"""

import sys


class _Steps:
    """The file of this process; opened at its first step, so that processes that do not train write none."""

    # Optimizers whose steps are written: programs that give each parameter its own make hundreds a step.
    MOST = 4

    def __init__(self, folder):
        import os
        import time

        self.folder, self.os, self.time = folder, os, time
        self.holds = None
        self.forget()

    def forget(self):
        """Also in the child after a fork: the file is the parent's."""
        self.fd, self.number, self.errors = -1, 0, 0
        self.samples = self.tokens = 0
        self.look_at_memory = 0
        self.known = {}

    def open(self):
        import json

        get = self.os.environ.get
        torch = sys.modules.get("torch")
        version = getattr(torch, "version", None)
        about = {
            "schema": "whyidle.steps/1",
            "pid": self.os.getpid(),
            "rank": get("RANK"),
            "world": get("WORLD_SIZE"),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "torch": str(getattr(torch, "__version__", "")),
            "cuda": getattr(version, "cuda", None) or getattr(version, "hip", None),
        }
        path = self.os.path.join(self.folder, "steps-%d.jsonl" % self.os.getpid())
        self.fd = self.os.open(path, self.os.O_WRONLY | self.os.O_CREAT | self.os.O_APPEND | self.os.O_CLOEXEC, 0o600)
        self.os.write(self.fd, (json.dumps(about) + "\n").encode())

    def step(self, optimizer, args, kwargs):
        try:
            now = self.time.monotonic_ns()
            which = self.known.setdefault(id(optimizer), len(self.known))
            if which >= self.MOST or (self.holds and self.holds()):
                return
            if self.fd < 0:
                self.open()
            seen = ""
            if self.samples:
                seen = ',"b":%d,"t":%d' % (self.samples, self.tokens)
                self.samples = self.tokens = 0
            if now >= self.look_at_memory:
                self.look_at_memory = now + 1000000000
                seen += self.memory()
            self.number += 1
            line = '{"i":%d,"m":%d,"u":%d,"o":%d%s}\n' % (self.number, now, self.time.time_ns(), which, seen)
            self.os.write(self.fd, line.encode())
        except Exception as error:
            self.fail(error)

    def memory(self):
        cuda = sys.modules["torch"].cuda
        if not cuda.is_initialized():
            return ""
        return ',"mem":%d,"held":%d' % (cuda.max_memory_allocated(), cuda.max_memory_reserved())

    def fetched(self, batch):
        try:
            size = _size(batch, 0)
            if size:
                self.samples += size[0]
                self.tokens += size[1]
        except Exception as error:
            self.fail(error)

    def fail(self, error):
        self.errors += 1
        try:
            if self.fd >= 0 and self.errors <= 3:
                self.os.write(self.fd, ('{"error":"%s","count":%d}\n' % (type(error).__name__, self.errors)).encode())
        except Exception:
            pass


def _size(batch, depth):
    """Samples and tokens of a batch: the first dimension of its first tensor; whole numbers in two are tokens."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        if len(shape) == 0:
            return None
        tokens = shape[0] * shape[1] if len(shape) == 2 and str(getattr(batch, "dtype", "")) == "torch.int64" else 0
        return int(shape[0]), int(tokens)
    if depth > 3:
        return None
    if hasattr(batch, "values") and hasattr(batch, "get"):
        ids = batch.get("input_ids")
        parts = [ids] if ids is not None else list(batch.values())
    elif isinstance(batch, (list, tuple)):
        parts = batch
    else:
        return None
    for part in parts[:8]:
        size = _size(part, depth + 1)
        if size:
            return size
    return None


class _Finder:
    """Runs things right after a module was imported, once."""

    def __init__(self):
        self.wanted = {}

    def after(self, name, then):
        self.wanted.setdefault(name, []).append(then)

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted:
            return None
        try:
            from importlib.machinery import PathFinder

            waiting = self.wanted.pop(name)
            spec = PathFinder.find_spec(name, path)
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                for then in waiting:
                    try:
                        then(module)
                    except Exception:
                        pass

            spec.loader.exec_module = exec_module
            return spec
        except Exception:
            return None


def _begin():
    import os

    folder = os.environ.get("WHYIDLE_STEPS")
    if not folder:
        return
    finder = _Finder()
    steps = _Steps(folder)
    os.register_at_fork(after_in_child=steps.forget)
    # Before the steps, so that a batch that is put in place of another one is counted like any.
    tries = os.environ.get("WHYIDLE_TRY")
    if tries:
        import whyidle_tries

        steps.holds = whyidle_tries.begin(tries, folder, finder.after)

    def optimizers(module):
        module.register_optimizer_step_post_hook(steps.step)

    def loaders(module):
        iterator = module._BaseDataLoaderIter
        fetch = iterator.__next__

        def __next__(self):
            batch = fetch(self)
            steps.fetched(batch)
            return batch

        iterator.__next__ = __next__

    finder.after("torch.optim.optimizer", optimizers)
    finder.after("torch.utils.data.dataloader", loaders)
    sys.meta_path.insert(0, finder)


def _go_on():
    """The sitecustomize that would have been found without this one."""
    import os
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _begin()
except Exception:
    pass
_go_on()
