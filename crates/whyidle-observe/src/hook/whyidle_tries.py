"""Changes that a user tries before editing anything: settings of PyTorch and of its loaders, optimizers and models,
made while the program runs. No file is written but the account of what was changed:

    {"try": "workers", "did": "set", "from": "0", "to": "8", "file": "train.py", "line": 12, "edit": [...]}
    {"try": "workers", "did": "not", "why": "iterable-dataset"}

`edit` is the place in the source where the same could be written for good: first line, column, last line, column
(lines from 1, columns from 0, in characters), and the text to put there. `given` is the expression that the value comes from there.

WHYIDLE_TRY is a JSON list of [name, value]. With ["look", ...] in it nothing is changed: the account says what would be.
Whatever goes wrong in here is said in the account; the program then runs
as it would have without the change.
"""

import functools
import os
import sys

_HERE = os.path.abspath(__file__)


class Account:
    """Says what was changed, each thing once, into a file of this process."""

    MOST = 200

    def __init__(self, folder):
        self.folder, self.said, self.pid = folder, set(), os.getpid()

    def say(self, name, did, **more):
        try:
            import json

            key = (name, did, more.get("why"), more.get("file"), more.get("line"))
            if os.getpid() != self.pid:
                self.said, self.pid = set(), os.getpid()
            if key in self.said or len(self.said) >= self.MOST:
                return
            self.said.add(key)
            told = {"try": name, "did": did}
            told.update((what, value) for what, value in more.items() if value is not None)
            path = os.path.join(self.folder, "tries-%d.jsonl" % self.pid)
            with open(path, "a") as file:
                file.write(json.dumps(told) + "\n")
        except Exception:
            pass

    def set(self, name, before, after, call=None, keyword=None):
        more = {}
        if call is not None:
            more["file"], more["line"] = call
            more.update(_edit(call, keyword, after) if keyword else {})
        self.say(name, "set", **{"from": _text(before), "to": _text(after)}, **more)

    def not_(self, name, why, detail=None):
        self.say(name, "not", why=why, detail=detail and str(detail)[:300])


def _text(value):
    return None if value is None else str(value)


def _caller():
    """File and line of the program's own code that led here, outside of libraries."""
    frame = sys._getframe(1)
    found = None
    while frame is not None:
        name = frame.f_code.co_filename
        is_own = not name.startswith("<") and os.path.abspath(name) != _HERE
        if is_own and "site-packages" not in name and "dist-packages" not in name and not _is_library(name):
            found = (os.path.abspath(name), frame.f_lineno)
            break
        frame = frame.f_back
    return found


def _is_library(name):
    return os.path.dirname(os.path.abspath(name)).startswith(os.path.dirname(os.path.abspath(os.__file__)))


def _edit(call, keyword, value):
    """Where `keyword=value` would be written in the call at `call`, or from what expression the value comes there."""
    try:
        import ast

        path, line = call
        with open(path, encoding="utf-8") as file:
            source = file.read()
        calls = [
            node
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and node.lineno <= line <= node.end_lineno
        ]
        # The innermost call on that line that names what is made here.
        calls.sort(key=lambda node: (node.end_lineno - node.lineno, node.end_col_offset - node.col_offset))
        made = [node for node in calls if _called(node) in MADE.get(keyword, ())]
        if not made:
            return {}
        node = made[0]
        lines = source.splitlines()
        column = lambda at, offset: len(lines[at - 1].encode()[:offset].decode())
        for given in node.keywords:
            if given.arg == keyword:
                if not isinstance(given.value, ast.Constant):
                    return {"given": ast.unparse(given.value)[:200]}
                part = given.value
                begin, end = (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)
                return {"edit": [begin[0], column(*begin), end[0], column(*end), repr(value)]}
        if any(given.arg is None for given in node.keywords) or not (node.args or node.keywords):
            return {}
        last = max([*node.args, *node.keywords], key=lambda part: (part.end_lineno, part.end_col_offset))
        end = (last.end_lineno, last.end_col_offset)
        return {"edit": [end[0], column(*end), end[0], column(*end), ", %s=%r" % (keyword, value)]}
    except Exception:
        return {}


def _called(node):
    return getattr(node.func, "attr", None) or getattr(node.func, "id", None)


_OPTIMIZERS = ("Adam", "AdamW", "SGD", "Adagrad")
_LOADER = ("DataLoader",)
_DDP = ("DistributedDataParallel", "DDP")
# Calls that take a keyword.
MADE = {
    "num_workers": _LOADER,
    "pin_memory": _LOADER,
    "prefetch_factor": _LOADER,
    "persistent_workers": _LOADER,
    "fused": _OPTIMIZERS,
    "bucket_cap_mb": _DDP,
    "static_graph": _DDP,
    "find_unused_parameters": _DDP,
    "broadcast_buffers": _DDP,
}


class WithFewThreads:
    """A worker's start, with so many threads for the libraries that make their own."""

    def __init__(self, threads, then):
        self.threads, self.then = threads, then

    def __call__(self, worker):
        try:
            for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
                os.environ[name] = str(self.threads)
            os.environ["TOKENIZERS_PARALLELISM"] = "false" if self.threads == 1 else "true"
            sys.modules["torch"].set_num_threads(self.threads)
            cv2 = sys.modules.get("cv2")
            if cv2 is not None:
                cv2.setNumThreads(0 if self.threads == 1 else self.threads)
            # Libraries that are loaded already have read their variables.
            from threadpoolctl import threadpool_limits

            self.limits = threadpool_limits(self.threads)
        except Exception:
            pass
        if self.then is not None:
            self.then(worker)


def _loaders(wanted, account, after, look):
    """Settings of loaders."""
    flags = {"pin_memory": "pin_memory", "persistent_workers": "persistent_workers"}
    numbers = {"workers": "num_workers", "prefetch_factor": "prefetch_factor"}

    def change(module, given):
        dataset = given.get("dataset")
        workers = given.get("num_workers", 0) or 0
        call = _caller()
        if "workers" in wanted:
            count = int(wanted["workers"])
            if isinstance(dataset, module.IterableDataset):
                account.not_("workers", "iterable-dataset")
            elif workers == count:
                account.not_("workers", "already", workers)
            else:
                account.set("workers", workers, count, call, "num_workers")
                given["num_workers"] = workers = count
                if not count:
                    for name in ("prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"):
                        given.pop(name, None)
        for name in ("prefetch_factor", "persistent_workers"):
            if name not in wanted:
                continue
            value = int(wanted[name]) if name in numbers else _flag(wanted[name])
            before = given.get(name, 2 if name in numbers else False)
            before = 2 if before is None else before
            if not workers:
                account.not_(name, "no-workers")
            elif before == value:
                account.not_(name, "already", value)
            else:
                account.set(name, before, value, call, name)
                given[name] = value
        if "pin_memory" in wanted:
            value, before = _flag(wanted["pin_memory"]), bool(given.get("pin_memory", False))
            if not sys.modules["torch"].cuda.is_available():
                account.not_("pin_memory", "no-gpu")
            elif before == value:
                account.not_("pin_memory", "already", value)
            else:
                account.set("pin_memory", before, value, call, "pin_memory")
                given["pin_memory"] = value
        if "threads" in wanted:
            if not workers:
                account.not_("threads", "no-workers")
            else:
                threads = int(wanted["threads"])
                given["worker_init_fn"] = WithFewThreads(threads, given.get("worker_init_fn"))
                account.set("threads", None, threads, call)

    if wanted.keys() & {*flags, *numbers, "threads"}:
        after(
            "torch.utils.data.dataloader",
            lambda module: _wrap(module.DataLoader, lambda given: change(module, given), account, wanted, look),
        )


def _flag(value):
    return str(value).lower() not in ("false", "0", "no", "off")


def _wrap(cls, change, account, wanted, look):
    """Lets `change` see and change the arguments that instances of `cls` are made with, by their names."""
    import inspect

    make = cls.__init__
    signature = inspect.signature(make)

    @functools.wraps(make)
    def __init__(self, *args, **kwargs):
        try:
            bound = signature.bind(self, *args, **kwargs)
            given = dict(bound.arguments)
            own = given.pop(next(iter(signature.parameters)))
            given.update(given.pop("kwargs", {}))
            change(given)
        except Exception as error:
            for name in wanted:
                account.not_(name, "raised", repr(error))
            return make(self, *args, **kwargs)
        return make(self, *args, **kwargs) if look else make(own, **given)

    cls.__init__ = __init__


def _optimizers(wanted, account, after, look):
    """The optimizer's own fused kernels."""
    if "fused_optimizer" not in wanted:
        return
    making = []

    def wrap(cls):
        import inspect

        make = cls.__init__
        if "fused" not in inspect.signature(make).parameters:
            return

        @functools.wraps(make)
        def __init__(self, params, *args, **kwargs):
            # AdamW is made by way of Adam.
            if making:
                return make(self, params, *args, **kwargs)
            if kwargs.get("fused"):
                account.not_("fused_optimizer", "already")
                return make(self, params, *args, **kwargs)
            params = list(params)
            fused = dict(kwargs, fused=True, foreach=None)
            before = {True: "foreach", False: "single parameters"}.get(kwargs.get("foreach"), "the default")
            # `fused=None` written out by a framework is the default too.
            call = _caller()
            if look:
                account.set("fused_optimizer", before, True, call, "fused")
                return make(self, params, *args, **kwargs)
            making.append(True)
            try:
                make(self, params, *args, **fused)
                account.set("fused_optimizer", before, True, call, "fused")
                return None
            except Exception as error:
                account.not_("fused_optimizer", "raised", repr(error))
            finally:
                making.pop()
            self.__dict__.clear()
            return make(self, params, *args, **kwargs)

        cls.__init__ = __init__

    after("torch.optim", lambda module: [wrap(getattr(module, name)) for name in _OPTIMIZERS if hasattr(module, name)])


def _ddp(wanted, account, after, look):
    """Settings of DistributedDataParallel."""
    names = [name for name in ("bucket_cap_mb", "static_graph", "find_unused_parameters", "broadcast_buffers") if name in wanted]
    defaults = {"bucket_cap_mb": 25, "static_graph": False, "find_unused_parameters": False, "broadcast_buffers": True}

    def change(given):
        call = _caller()
        for name in names:
            value = float(wanted[name]) if name == "bucket_cap_mb" else _flag(wanted[name])
            value = int(value) if isinstance(value, float) and value.is_integer() else value
            before = given.get(name)
            before = defaults[name] if before is None else before
            if before == value:
                account.not_(name, "already", value)
            else:
                account.set(name, before, value, call, name)
                given[name] = value

    if names:
        after(
            "torch.nn.parallel.distributed",
            lambda module: _wrap(module.DistributedDataParallel, change, account, names, look),
        )


class Models:
    """Finds the models that a program trains, as they are first called, and changes them."""

    def __init__(self, wanted, account, look):
        self.wanted, self.account, self.look = wanted, account, look
        self.known, self.hook = set(), None

    def watch(self, module):
        self.hook = module.register_module_forward_pre_hook(self.called)

    def called(self, model, _):
        # A model is called before its parts are.
        if id(model) in self.known or not model.training:
            return
        if not any(part.requires_grad for part in model.parameters()):
            return
        self.known.update(id(part) for part in model.modules())
        for name, change in (
            ("truncate", self.truncate),
            ("channels_last", self.channels_last),
            ("bf16", self.bf16),
            ("compile", self.compile),
        ):
            if name in self.wanted:
                try:
                    change(model)
                except Exception as error:
                    self.account.not_(name, "raised", repr(error))

    def rest(self):
        """From the first step on, no model is new."""
        if self.hook is not None:
            self.hook.remove()
            self.hook = None

    def bf16(self, model):
        torch = sys.modules["torch"]
        first = next(model.parameters())
        kind = first.device.type
        if kind == "cuda" and not torch.cuda.is_bf16_supported():
            return self.account.not_("bf16", "not-supported")
        if first.dtype == torch.bfloat16 or first.dtype == torch.float16 or torch.is_autocast_enabled():
            return self.account.not_("bf16", "already", "autocast" if torch.is_autocast_enabled() else first.dtype)
        self.account.set("bf16", str(first.dtype).replace("torch.", ""), "bfloat16 autocast")
        if self.look:
            return None
        run = model.forward

        @functools.wraps(run)
        def forward(*args, **kwargs):
            with torch.autocast(kind, dtype=torch.bfloat16):
                out = run(*args, **kwargs)
            # The loss may be computed outside, where it needs its digits.
            return _whole(out, torch)

        model.forward = forward
        return None

    def compile(self, model):
        if not hasattr(model, "compile"):
            return self.account.not_("compile", "not-supported")
        torch = sys.modules["torch"]
        if isinstance(model, torch._dynamo.OptimizedModule):
            return self.account.not_("compile", "already")
        self.account.set("compile", None, "torch.compile")
        return None if self.look else model.compile()

    def channels_last(self, model):
        torch = sys.modules["torch"]
        if not any(isinstance(part, torch.nn.Conv2d) for part in model.modules()):
            return self.account.not_("channels_last", "no-convolutions")
        self.account.set("channels_last", "contiguous", "channels_last")
        if self.look:
            return None
        model.to(memory_format=torch.channels_last)

        def images(_, args):
            is_image = lambda part: isinstance(part, torch.Tensor) and part.dim() == 4 and part.is_floating_point()
            return tuple(
                part.contiguous(memory_format=torch.channels_last) if is_image(part) else part for part in args
            )

        model.register_forward_pre_hook(images)
        return None

    def truncate(self, model):
        torch = sys.modules["torch"]
        count = int(self.wanted["truncate"])
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            return self.account.not_("truncate", "distributed")
        alike = [
            part
            for part in model.modules()
            if isinstance(part, (torch.nn.ModuleList, torch.nn.Sequential))
            and len(part) > count
            and len({type(layer) for layer in part}) == 1
        ]
        if not alike:
            return self.account.not_("truncate", "no-layers")
        layers = max(alike, key=lambda part: sum(p.numel() for p in part.parameters()))
        self.account.set("truncate", len(layers), count)
        del layers[count:]
        return None


def _whole(out, torch):
    if isinstance(out, torch.Tensor):
        return out.float() if out.dtype == torch.bfloat16 else out
    if isinstance(out, tuple) and not hasattr(out, "_fields"):
        return tuple(_whole(part, torch) for part in out)
    if isinstance(out, list):
        return [_whole(part, torch) for part in out]
    if hasattr(out, "items"):
        for name, part in list(out.items()):
            out[name] = _whole(part, torch)
    return out


class Settings:
    """Settings of PyTorch and Python as a whole, and whether they were there to the end of the first step."""

    def __init__(self, wanted, account, look):
        self.wanted, self.account, self.look = wanted, account, look
        self.before = {}

    def torch(self, torch):
        if "tf32" in self.wanted:
            self.before["tf32"] = torch.get_float32_matmul_precision()
            if not self.look:
                torch.set_float32_matmul_precision("high")
        if "cudnn_benchmark" in self.wanted:
            self.before["cudnn_benchmark"] = torch.backends.cudnn.benchmark
            if not self.look:
                torch.backends.cudnn.benchmark = True

    def first_step(self, optimizer):
        torch = sys.modules["torch"]
        on_gpu = any(part.is_cuda for group in optimizer.param_groups for part in group["params"])
        now = {
            "tf32": lambda: torch.get_float32_matmul_precision() == "high",
            "cudnn_benchmark": lambda: torch.backends.cudnn.benchmark,
        }
        for name, holds in now.items():
            if name not in self.wanted:
                continue
            if not on_gpu:
                self.account.not_(name, "no-gpu")
            elif holds() == self.look:
                self.account.not_(name, "already" if self.look else "overridden")
            else:
                self.account.set(name, self.before.get(name), {"tf32": "high"}.get(name, True))

    def memory(self, module):
        """Of the allocator: its memory is not given back."""
        torch = sys.modules["torch"]

        empty = getattr(module.empty_cache, "whyidle_empty", module.empty_cache)

        def empty_cache(*_):
            self.account.set("no_empty_cache", "empty_cache()", "nothing", _caller())
            return empty() if self.look else None

        empty_cache.whyidle_empty = empty

        module.empty_cache = empty_cache
        for name in ("cuda", "accelerator"):
            part = getattr(torch, name, None)
            if part is not None and hasattr(part, "empty_cache"):
                part.empty_cache = empty_cache


class Garbage:
    """The garbage collector: what is there after the first step is left alone, or it runs every so many steps."""

    def __init__(self, how, account):
        import gc

        self.gc, self.account, self.how = gc, account, how
        self.every = int(how.split(":", 1)[1]) if how.startswith("every:") else 0
        self.steps, self.collect = 0, gc.collect

    def step(self):
        self.steps += 1
        if self.steps == 1:
            self.account.set("gc", ", ".join(map(str, self.gc.get_threshold())), self.how)
            self.collect()
            if self.every:
                self.gc.disable()
                self.gc.collect = lambda *_: 0
            else:
                self.gc.freeze()
        elif self.every and self.steps % self.every == 0:
            self.collect()


def begin(text, folder, after):
    """Prepares the changes that `text` asks for; `after(module, then)` runs something once a module is imported.
    What it returns says, if anything, whether steps are not yet those that are asked for."""
    import json

    wanted = {name: value for name, value in json.loads(text)}
    look = wanted.pop("look", None) is not None
    account = Account(folder)
    _loaders(wanted, account, after, look)
    _optimizers(wanted, account, after, look)
    _ddp(wanted, account, after, look)
    models = Models(wanted, account, look)
    if wanted.keys() & {"bf16", "compile", "channels_last", "truncate"}:
        after("torch.nn.modules.module", models.watch)
    settings = Settings(wanted, account, look)
    if wanted.keys() & {"tf32", "cudnn_benchmark"}:
        after("torch", settings.torch)
    if "no_empty_cache" in wanted:
        after("torch.cuda.memory", settings.memory)
        # The package takes the function by name afterwards.
        after("torch", lambda torch: settings.memory(torch.cuda.memory))
    garbage = Garbage(wanted["gc"], account) if "gc" in wanted and not look else None
    feeding = None
    if wanted.keys() & {"synthetic", "cached", "cold"}:
        import whyidle_feeding

        feeding = whyidle_feeding.Feeding(wanted, account)
        after("torch.utils.data.dataloader", feeding.loaders)
    seen = []

    def stepped(optimizer, args, kwargs):
        try:
            if not seen:
                seen.append(True)
                models.rest()
                settings.first_step(optimizer)
                if feeding is not None:
                    feeding.first_step(optimizer)
            if garbage is not None:
                garbage.step()
        except Exception as error:
            for name in wanted:
                account.not_(name, "raised", repr(error))

    after("torch.optim.optimizer", lambda module: module.register_optimizer_step_post_hook(stepped))
    return feeding.holds if feeding is not None else None
