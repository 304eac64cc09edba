"""The verdict of a trace or a recording, as an object: the JSON that ``whyidle diagnose`` and ``whyidle trace`` print."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from html import escape
from typing import Any

from whyidle import figures
from whyidle.commands import Path, Refused, Report, Unreadable, named, run, words_of
from whyidle.table import Table

__all__ = ["Verdict", "load"]

_LEDGER = {
    "id": "O", "label": "O", "kind": "O", "traced_ns": "i8", "ms": "f8", "low_ms": "f8", "high_ms": "f8", "share": "f8",
}  # fmt: skip
_FINDINGS = {
    "cause": "O", "label": "O", "rank": "i8", "cost_ms": "f8", "share": "f8", "step_ms_after": "f8", "low_ms": "f8",
    "high_ms": "f8", "saved": "f8", "method": "O", "remedy": "O",
}  # fmt: skip
_KERNELS = {
    "trace": "i8", "id": "i8", "device": "i8", "stream": "i8", "kind": "O", "name": "O", "start_ns": "i8",
    "end_ns": "i8", "duration_ns": "i8", "own_ns": "i8", "line": "O", "step": "i8", "bytes": "i8",
}  # fmt: skip


class Verdict(Report):
    """Who the GPU waits for, what it costs, which change helps: schema ``whyidle.verdict/1``, as a mapping.

    Times are milliseconds of one step without the profiler (``ms``), nanoseconds of the traced steps together
    (``traced_ns``); shares are of the step, 0 to 1.
    """

    def __init__(self, report: Mapping[str, Any], paths: list[str], lang: str | None) -> None:
        super().__init__(report)
        self._paths, self._lang = paths, lang

    @property
    def sentence(self) -> str:
        """What is to be said first."""
        return words_of(self["verdict"]["sentence"])

    @property
    def primary(self) -> str:
        """The cause whose cure gains most; ``compute.bound`` where nothing does."""
        return str(self["verdict"]["primary"])

    @property
    def healthy(self) -> bool:
        """All waits together are less than 10 % of the step."""
        return bool(self["verdict"]["healthy"])

    @property
    def step_ms(self) -> float:
        """Length of a step without the profiler; where that comes from is ``verdict["step"]["basis"]``."""
        return float(self["step"]["unprofiled_ms"])

    @property
    def working_share(self) -> float:
        """Share of the step in which the GPU works; collectives are no work."""
        return float(self["working_share"])

    @cached_property
    def ledger(self) -> Table:
        """Where a step goes: lines that exclude each other. ``traced_ns`` sums to the traced steps exactly, ``ms`` to
        the step; ``low_ms`` and ``high_ms`` are its interval."""
        return Table(self["ledger"], _LEDGER)

    @cached_property
    def findings(self) -> Table:
        """What waits or wastes, and what a cure gains, the largest gain first. ``step_ms_after`` is the step after the
        cure, ``low_ms`` to ``high_ms`` its interval, ``saved`` the share of today's step that is saved; NaN where nothing is predicted. Evidence and remedies in full are
        in ``verdict["findings"]``."""
        rows = []
        for finding in self["findings"]:
            gain = finding["gain"] or {}
            rows.append(
                {
                    **{name: finding.get(name) for name in ("cause", "label", "rank", "cost_ms", "share")},
                    **{name: gain.get(name) for name in ("step_ms_after", "low_ms", "high_ms", "saved", "method")},
                    "remedy": words_of((finding["remedy"] or {}).get("summary")),
                }
            )
        return Table(rows, _FINDINGS)

    @cached_property
    def kernels(self) -> Table:
        """Every activity of the GPUs in the traces, one row each: kernels, copies, memsets. ``duration_ns`` is its
        length, ``own_ns`` what the ledger's ``line`` charges to it. Read from the traces when first asked for; empty
        where there is none."""
        traces = [item["path"] for item in self["inputs"] if item["kind"] != "samples"]
        if not traces:
            return Table([], _KERNELS)
        query = f"select {', '.join(_KERNELS)} from kernels order by trace, start_ns, id"
        return Table(run(["sql", *traces, query, "--format", "json"], self._lang), _KERNELS)

    @property
    def quality(self) -> list[dict[str, Any]]:
        """What is wrong with the evidence: ``code``, ``severity``, ``count``, ``text``."""
        return [{**note, "text": words_of(note["text"])} for note in self["quality"]]

    def to_pandas(self) -> Any:
        """The ledger as a data frame. Needs pandas."""
        return self.ledger.to_pandas()

    def __repr__(self) -> str:
        return f"<Verdict {self.primary}: {self.sentence}>"

    def _repr_html_(self) -> str:
        """The sentence, the ledger as bars, and what to change."""
        step = 1e6 * self.step_ms
        bars = "".join(
            f"<tr><td>{escape(row['label'])}</td>"
            f"<td style='text-align:right'>{escape(figures.time_like(1e6 * row['ms'], step))}</td>"
            f"<td style='text-align:right'>{escape(figures.share_in_column(row['share'], self._lang))}</td>"
            f"<td style='width:20em'><div style='"
            f"width:{max(0.0, min(1.0, row['share'])):.1%};height:0.8em;"
            f"background:{'#3a7d44' if row['kind'] == 'working' else '#c2502e'}'></div></td></tr>"
            for row in self.ledger
            if row["share"] >= 0.0005
        )
        remedies = "".join(f"<li>{escape(row['remedy'])}</li>" for row in self.findings if row["remedy"])
        return f"<p>{escape(self.sentence)}</p><table>{bars}</table><ol>{remedies}</ol>"


def load(
    path: Path | Iterable[Path],
    *,
    step_ms: float | None = None,
    rank: int | None = None,
    device: int | None = None,
    what_if: Iterable[str] = (),
    lang: str | None = None,
) -> Verdict:
    """The verdict of what was recorded of a run, as ``whyidle diagnose``.

    .. code-block:: python

        verdict = whyidle.load("runs/42/")
        verdict.sentence, verdict.ledger["ms"], verdict.findings.to_pandas()

    Args:
        path: A trace, a recording, a directory with evidence, or several files of one run.
        step_ms: The true step time, measured without a profiler, in milliseconds.
        rank: Of traces only, as ``whyidle trace``: show this rank.
        device: Of traces only: this GPU.
        what_if: Of traces only: causes to cure in the replay, ``data.workers=12``; answers in ``verdict["what_if"]``.
        lang: ``en`` or ``zh``, the language of its sentences; by default that of the environment.

    Raises:
        Unreadable: Where something cannot be read or an argument is wrong.
        Refused: Where the evidence carries no verdict.
    """
    given = [path] if isinstance(path, (str, bytes, os.PathLike)) else list(path)
    if not given:
        raise Unreadable("there is no path to load", "name a trace, a recording, or a directory with either")
    paths = [named(one) for one in given]
    of_traces = [
        *([] if rank is None else [f"--rank={rank}"]),
        *([] if device is None else [f"--device={device}"]),
        *[f"--what-if={one}" for one in ([what_if] if isinstance(what_if, str) else what_if)],
    ]
    more = [] if step_ms is None else [f"--step-ms={float(step_ms)!r}"]
    report = run(["trace" if of_traces else "diagnose", *paths, "--format", "json", *more, *of_traces], lang)
    if "verdict" not in report:
        raise Refused("there is nothing to judge in it", None, "no-verdict", report)
    return Verdict(report, paths, lang)
