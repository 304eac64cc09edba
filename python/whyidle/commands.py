"""whyidle's commands within this process: what they read, and why they do not.

The commands are those of the ``whyidle`` program, the same code: figures are its JSON, to the last digit. Other Python
threads go on while one runs.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["Comparison", "Plan", "Refused", "Unreadable", "WhyidleError", "compare", "plan"]

Path = str | os.PathLike[str]
#: Exit status, data, what is wrong, what can be done about it.
_Said = tuple[int, str, "str | None", "str | None"]


class WhyidleError(Exception):
    """There is no answer: ``message`` says why, ``hint`` what can be done about it (or is ``None``)."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message if not hint else f"{message}\n\nhint: {hint}")
        self.message = message
        self.hint = hint


class Unreadable(WhyidleError):
    """Arguments are wrong, or an input cannot be read."""


class Refused(WhyidleError):
    """The evidence cannot carry an answer. ``code`` is stable; ``report`` is the refusal as the program prints it."""

    def __init__(self, message: str, hint: str | None, code: str, report: Mapping[str, Any]) -> None:
        super().__init__(message, hint)
        self.code = code
        self.report = report


def run(arguments: Iterable[Path | float], lang: str | None = None) -> Any:
    """The JSON of a command.

    Args:
        arguments: The command and its arguments, which make it print JSON.
        lang: ``en`` or ``zh``; by default the language of the environment.

    Raises:
        Unreadable: Where arguments are wrong or an input cannot be read.
        Refused: Where the evidence carries no answer.
    """
    try:
        from whyidle import _native
    except ImportError as error:
        raise WhyidleError(
            "this whyidle was installed without its extension", "install the package: pip install whyidle"
        ) from error
    words = [os.fsdecode(word) if isinstance(word, (str, os.PathLike)) else str(word) for word in arguments]
    status, out, message, hint = _apart(_native.run, [*words, *([f"--lang={lang}"] if lang else [])])
    report = json.loads(out) if out else None
    if isinstance(report, dict) and "refused" in report:
        refused = report["refused"]
        raise Refused(words_of(refused["reason"]), words_of(refused.get("hint")) or None, refused["code"], report)
    if report is None:
        said = message or "the command said nothing"
        if status == 1:
            raise Refused(said, hint, "refused", {})
        raise Unreadable(said, hint)
    return report


def named(path: Any) -> str:
    """A path as an argument of a command: one that begins like an option is none.

    Raises:
        TypeError: For what is no path.
        Unreadable: For an empty one.
    """
    text = os.fsdecode(path)
    if not text:
        raise Unreadable("a path is empty", "name a file or a directory")
    return os.path.join(os.curdir, text) if text.startswith("-") else text


def _apart(act: Callable[[list[str]], _Said], words: list[str]) -> _Said:
    """Run a command in a thread of its own, for the main thread alone can be told of Ctrl-C, and only in Python.

    What is interrupted goes on unseen until it is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return act(words)
    said: list[_Said] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            said.append(act(words))
        except BaseException as error:  # Raised again where it was asked for.
            failed.append(error)

    thread = threading.Thread(target=work, name="whyidle-command", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return said[0]


def words_of(text: Any) -> str:
    """The words of a text in a report, which may bear its id and arguments."""
    return str(text["text"]) if isinstance(text, Mapping) else "" if text is None else str(text)


class Report(Mapping[str, Any]):
    """A report of the program, as its JSON: a mapping."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self._report = dict(report)

    def __getitem__(self, key: str) -> Any:
        return self._report[key]

    def __iter__(self) -> Any:
        return iter(self._report)

    def __len__(self) -> int:
        return len(self._report)

    def to_dict(self) -> dict[str, Any]:
        """The whole report, as the program prints it with ``--format json``."""
        return self._report


class Comparison(Report):
    """What changed from A to B: schema ``whyidle.diff/1``."""

    @property
    def sentence(self) -> str:
        """Whether a step became faster, and by what, in a sentence."""
        return words_of(self["sentence"])

    def __repr__(self) -> str:
        return f"<Comparison: {self.sentence}>"


class Plan(Report):
    """What a training run will need: schema ``whyidle.plan/1``."""

    def __repr__(self) -> str:
        return f"<Plan: {', '.join(self)}>"


def compare(a: Path, b: Path, *, rank: int | None = None, lang: str | None = None) -> Comparison:
    """Say what changed from one trace or recording to another, as ``whyidle diff``.

    Args:
        a: What was: a trace, an export of Nsight Systems, a recording, a directory with traces.
        b: What is, likewise.
        rank: Compare this rank; by default, of A the one the others wait for, and the same of B.
        lang: ``en`` or ``zh``.

    Raises:
        Unreadable: Where one cannot be read.
        Refused: Where one carries no verdict.
    """
    more = [] if rank is None else [f"--rank={rank}"]
    return Comparison(run(["diff", named(a), named(b), "--format", "json", *more], lang))


def plan(*, lang: str | None = None, **options: Any) -> Plan:
    """Say before anything runs whether a model fits and what a step takes, as ``whyidle plan``.

    .. code-block:: python

        whyidle.plan(model="llama-3-8b", gpu="h100x8", seq=8192, global_batch=256)

    Args:
        lang: ``en`` or ``zh``.
        options: The options of ``whyidle plan --help``, with ``_`` for ``-``. ``True`` sets one without a value;
            ``None`` and ``False`` leave one out.

    Raises:
        Unreadable: Where an option is wrong, or sizes contradict each other.
        Refused: Where a recording does not show what is needed.
    """
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = f"--{name.replace('_', '-')}"
        # In one word: a value that begins like an option is none.
        text = os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)
        words.append(option if value is True else f"{option}={text}")
    return Plan(run(["plan", *words, "--format", "json"], lang))
