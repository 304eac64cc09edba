"""The few lines that a watch prints at its end, in English and Chinese. The verdict's own words are the program's."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from whyidle import figures
from whyidle.commands import words_of
from whyidle.figures import language
from whyidle.verdict import Verdict

__all__ = ["Ending", "language", "text"]

_WORDS = {
    "en": {
        "change": "change",
        "then": "step {time}, saves {saved}",
        "steps": "steps",
        "timed": "{time} each: mean of {count} unprofiled steps, by the {clock}'s clock",
        "untimed": "too few to time",
        "traced": "{count} traced",
        "untraced": "no trace: {why}",
        "phases": "phases",
        "training": "training",
        "evaluation": "evaluation",
        "checkpoint": "checkpoint",
        "data": "waiting for the loader {share} of training",
        "padding": "padding",
        "share": "{share} of tokens, by {basis}, in {count} batches",
        "unseen": "not seen: batches lay on the GPU, and looking would wait for it",
        "logged": "logged to",
        "recorded": "recording",
        "again": "more: whyidle diagnose {place}",
        "faults": "the watch itself failed {count} times, the program did not notice; first: {first}",
        "nothing": "no step was seen: call whyidle.step() at the end of each, or use an optimizer of PyTorch",
        "unjudged": "no verdict: {reason}",
        "GPU": "GPU",
        "host": "host",
        "too-short": "the run ended before one was due",
        "off": "switched off",
        "no-gpu": "the program uses no GPU",
        "ended-early": "the run ended during it",
        "program-profiles": "the program uses a profiler of its own",
        "outside": "an evaluation or a save fell into it",
        "noticed-late": "this rank learnt too late of the steps that others traced",
        "no-space": "too little space on the disk",
        "not-main-thread": "steps end in a thread of PyTorch's",
        "other": "the profiler failed",
    },
    "zh": {
        "change": "建议",
        "then": "单步预计 {time}，节省 {saved}",
        "steps": "单步",
        "timed": "{time}：{count} 个未开 profiler 的 step 的均值，按 {clock}时钟",
        "untimed": "step 太少，无法计时",
        "traced": "另采了 {count} 个 step 的 trace",
        "untraced": "没有 trace：{why}",
        "phases": "阶段",
        "training": "训练",
        "evaluation": "评估",
        "checkpoint": "保存 checkpoint",
        "data": "训练时间中 {share} 在等 DataLoader",
        "padding": "填充",
        "share": "token 中 {share} 是填充 (padding)，依据 {basis}，共看了 {count} 个 batch",
        "unseen": "没有看：batch 已在 GPU 上，读取会引起同步",
        "logged": "已写入",
        "recorded": "采样记录",
        "again": "详情：whyidle diagnose {place}",
        "faults": "观察自身出错 {count} 次，未影响程序；第一个：{first}",
        "nothing": "没有看到任何 step：请在每个 step 末尾调用 whyidle.step()，或使用 PyTorch 的优化器",
        "unjudged": "不下结论：{reason}",
        "GPU": "GPU ",
        "host": "CPU 侧",
        "too-short": "运行太短，还没到采集的时候",
        "off": "已关闭",
        "no-gpu": "程序没有使用 GPU",
        "ended-early": "采集途中运行结束",
        "program-profiles": "程序自己在用 profiler",
        "outside": "采集途中遇到评估或保存",
        "noticed-late": "本 rank 得知要采集哪些 step 时已经太晚",
        "no-space": "磁盘空间不足",
        "not-main-thread": "step 在 PyTorch 自己的线程里结束",
        "other": "profiler 出错",
    },
}


@dataclass
class Ending:
    """What there is to say."""

    place: str | None = None
    verdict: Verdict | None = None
    #: Why there is none, in the program's words.
    refusal: str | None = None
    steps: int = 0
    step_ms: float | None = None
    timed: int = 0
    #: ``gpu`` or ``host``.
    clock: str = "host"
    traced: int = 0
    #: Code of why there is no trace.
    untraced: str | None = None
    elapsed_ns: int = 0
    #: Time in each phase, ns, that of training included.
    phases_ns: dict[str, int] = field(default_factory=dict)
    padding: float | None = None
    padding_basis: str | None = None
    batches: int = 0
    batches_elsewhere: int = 0
    logs: list[str] = field(default_factory=list)
    faults: int = 0
    first_fault: str | None = None


def text(ending: Ending, lang: str | None) -> str:
    """The lines, each ended."""
    lang = language(lang)
    words = _WORDS[lang]
    if ending.steps == 0:
        lines = [("", words["nothing"])]
    else:
        lines = [*_judged(ending, words, lang), *_measured(ending, words, lang)]
    if ending.place is not None:
        lines.append((words["recorded"], f"{ending.place}    {words['again'].format(place=ending.place)}"))
    if ending.faults:
        lines.append(("", words["faults"].format(count=ending.faults, first=ending.first_fault)))
    width = max(_width(label) for label, _ in lines)
    out = []
    for at, (label, line) in enumerate(lines):
        head = "whyidle: " if at == 0 else f"  {label}{' ' * (width - _width(label))}  " if label else "  "
        out.append(f"{head}{line}")
    return "\n".join(out) + "\n"


def say(words: str) -> None:
    """To standard error, beside the program's own output; nothing where that is closed."""
    try:
        try:
            sys.stderr.write(words)
        except UnicodeEncodeError:
            # A stream that the program put there, of letters that Chinese is not among.
            sys.stderr.write(words.encode("ascii", "backslashreplace").decode())
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass


def _judged(ending: Ending, words: dict[str, str], lang: str) -> list[tuple[str, str]]:
    verdict = ending.verdict
    if verdict is None:
        return [("", words["unjudged"].format(reason=ending.refusal or "?"))]
    lines = [("", verdict.sentence)]
    for finding in verdict["findings"][:1]:
        summary = words_of((finding["remedy"] or {}).get("summary"))
        gain = finding["gain"]
        # What gains nothing that could be named is no advice.
        if summary and gain:
            after, saved = figures.time(1e6 * gain["step_ms_after"]), figures.share_in_column(gain["saved"], lang)
            if gain["method"] == "bound":
                after, saved = f"≥ {after}", saved if saved.startswith("<") else f"≤ {saved}"
            then = words["then"].format(time=after, saved=saved)
            lines.append((words["change"], f"{summary}  ·  {then}"))
    return lines


def _measured(ending: Ending, words: dict[str, str], lang: str) -> list[tuple[str, str]]:
    if ending.step_ms is not None and ending.timed:
        clock = words["GPU" if ending.clock == "gpu" else "host"]
        steps = words["timed"].format(time=figures.time(1e6 * ending.step_ms), count=ending.timed, clock=clock)
    else:
        steps = words["untimed"]
    if ending.traced:
        steps += "  ·  " + words["traced"].format(count=ending.traced)
    elif ending.untraced:
        steps += "  ·  " + words["untraced"].format(why=words.get(ending.untraced, words["other"]))
    lines = [(words["steps"], steps)]
    parts = [
        f"{words.get(name, name)} {_seconds(ns)}" for name, ns in ending.phases_ns.items() if name != "data" and ns > 0
    ]
    training = ending.phases_ns.get("training", 0)
    if training and ending.phases_ns.get("data"):
        parts.append(words["data"].format(share=figures.share(ending.phases_ns["data"] / training, lang)))
    if parts:
        lines.append((words["phases"], "  ·  ".join(parts)))
    if ending.padding is not None:
        basis = ending.padding_basis or "?"
        said = words["share"].format(share=figures.share(ending.padding, lang), basis=basis, count=ending.batches)
        lines.append((words["padding"], said))
    elif ending.batches_elsewhere:
        lines.append((words["padding"], words["unseen"]))
    if ending.logs:
        lines.append((words["logged"], ", ".join(ending.logs)))
    return lines


def _seconds(ns: int) -> str:
    seconds = ns / 1e9
    if seconds < 1:
        return "< 1 ms" if ns < 1_000_000 else f"{ns / 1e6:.0f} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _width(label: str) -> int:
    """Columns of a terminal: a Chinese character takes two."""
    return sum(2 if ord(letter) >= 0x2E80 else 1 for letter in label)
