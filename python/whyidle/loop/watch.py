"""The watch of a training loop: what is called at each step, when the trace is taken, and what happens at the end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from time import monotonic, perf_counter_ns, sleep
from types import TracebackType
from typing import Any

from whyidle.commands import WhyidleError
from whyidle.loop import current, imports, place, program, recording, words
from whyidle.loop.boundaries import Boundaries
from whyidle.loop.exits import at_exit
from whyidle.loop.faults import Faults
from whyidle.loop.ledgers import Logs, figures
from whyidle.loop.loaders import Loaders
from whyidle.loop.optimizers import OptimizerSteps
from whyidle.loop.padding import Batches
from whyidle.loop.phases import DATA, Phases
from whyidle.loop.profilers import is_profiling
from whyidle.loop.ranks import Ranks
from whyidle.loop.sampler import Sampler
from whyidle.loop.tracer import Tracer
from whyidle.verdict import Verdict

__all__ = ["Watch", "watch"]

_NEW, _RUNNING, _CLOSED = range(3)
#: Where recordings are made that nobody named a place for.
_BASE = "whyidle-runs"
#: How long rank 0 waits at the end for the other ranks' recordings, s.
_PEERS_S = 10.0
#: Watches of several threads begin one after the other.
_starting = threading.Lock()


class Watch:
    """Watches this process train; see :func:`whyidle.watch`. One at a time in a process, and each once."""

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        sample: bool = True,
        sample_s: float = 600.0,
        trace_steps: int | None = None,
        trace_after_s: float = 5.0,
        pad_id: int | None = None,
        report: bool = True,
        log: bool = True,
        lang: str | None = None,
        _from_outside: bool = False,
    ) -> None:
        if (trace_steps or 0) < 0 or trace_after_s < 0 or sample_s <= 0:
            raise ValueError("trace_steps and trace_after_s must not be negative, sample_s must be positive")
        if not (isfinite(trace_after_s) and isfinite(sample_s)):
            raise ValueError("trace_after_s and sample_s must be finite; sample=False and trace_steps=0 leave each out")
        self._out = None if out is None else Path(out)
        self._sample_s = sample_s if sample else 0.0
        self._report, self._log, self._lang = report, log, lang
        #: Enabled by ``WHYIDLE=1``, not by the program.
        self.is_from_outside = _from_outside

        self.faults = Faults()
        #: The recording's directory, once the first step ended.
        self.recording: Path | None = None
        #: The verdict, once the watch has ended; of several ranks only rank 0 has one.
        self.verdict: Verdict | None = None
        #: Why there is none.
        self.refusal: WhyidleError | None = None

        self._state, self._pid = _NEW, os.getpid()
        self._lock = threading.RLock()
        self._ranks = Ranks()
        self._boundaries = Boundaries()
        self._phases = Phases()
        self._batches = Batches(pad_id)
        self._optimizers = OptimizerSteps(self._optimizer_step)
        self._loaders = Loaders(self._phases, self._batches, self.faults)
        self._sampler = Sampler()
        self._logs = Logs(self.faults)
        self._tracer = Tracer(trace_steps, round(trace_after_s * 1e9), self.faults)
        self._has_begun = self._is_explicit = self._is_dirty = False
        self._saw_profiler = False
        self._since_ns = 0
        self._phases_before: dict[str, int] = {}
        self._leave_exit: Callable[[], None] | None = None

    # --- beginning and end

    def start(self) -> Watch:
        """Begin to watch. The recording is made when the first step ends: a process that never steps leaves nothing.

        Raises:
            RuntimeError: Where a watch runs in this process, or this one did before.
            PlaceError: Where ``out`` holds something already.
        """
        with _starting:
            self._start()
        return self

    def _start(self) -> None:
        if self._state != _NEW:
            raise RuntimeError("this watch was started before; make another with whyidle.watch()")
        other = current.current()
        if other is not None and not other.is_from_outside:
            raise RuntimeError("a watch runs in this process already; close it first: there can be one at a time")
        if self._out is not None and not self.is_from_outside:
            place.check(self._out, Ranks.here())
        if other is not None:
            other._dismiss()
        try:
            self._state, self._since_ns = _RUNNING, perf_counter_ns()
            current.put(self)
            imports.after("torch.optim.optimizer", self._while_running(self._optimizers.arm))
            imports.after("torch.profiler.profiler", self._while_running(self._tracer.profilers.arm))
            imports.after("torch.utils.data.dataloader", self._while_running(self._loaders.arm))
        except BaseException:
            # Ctrl-C: nobody has this watch to close it, and no other could begin.
            self._state = _CLOSED
            self._leave()
            raise

    def close(self) -> None:
        """End the watch: the recording is completed, judged, and the verdict printed. A second call does nothing."""
        try:
            with self._lock:
                if self._state != _RUNNING or self._pid != os.getpid():
                    return
                self._state = _CLOSED
            ended_ns = perf_counter_ns()
            self._leave()
        except BaseException:
            # Ctrl-C before the program had its own back.
            self._state = _CLOSED
            self._leave()
            self._guarded(self._sampler.stop)
            raise
        try:
            self._guarded(lambda: self._finish(ended_ns))
        finally:
            # Also where somebody presses Ctrl-C again.
            self._guarded(self._sampler.stop)

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- what the program says

    def step(self) -> None:
        """A step ends here; as :func:`whyidle.step`."""
        if self._state != _RUNNING:
            return
        try:
            if not self._is_explicit:
                self._is_explicit = True
                self._start_over()
            self._boundary()
        except Exception as error:  # noqa: BLE001 – ours, not the program's
            self.faults.note(error)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """What happens within is no step but ``name``: ``"evaluation"``, ``"checkpoint"``, or a word of your own.

        ``"training"`` is what lies in no phase, so to name it changes nothing. Beyond 64 names the rest is ``"other"``.
        """
        self.enter_phase(name)
        try:
            yield
        finally:
            self.leave_phase(name)

    def enter_phase(self, name: str) -> None:
        """A phase begins; for callers that see its two ends in two places."""
        self._phases.enter(name)
        if name != DATA:
            self._is_dirty = True
            self._guarded(self._tracer.spoil)

    def leave_phase(self, name: str) -> None:
        """That phase ends; where it is not open nothing happens."""
        self._phases.leave(name)

    def is_in_phase(self, name: str) -> bool:
        """That phase is open."""
        return self._phases.is_open(name)

    def batch(self, batch: Any, pad_id: int | None = None) -> None:
        """The batch of this step, before it goes to the GPU: for its size and its share of padding.

        Without it the batches of PyTorch's loaders are looked at.

        Args:
            batch: A dictionary with ``attention_mask``, ``input_ids`` or ``labels``, each of shape
                ``(samples, length)``; or a tensor, or a tuple of them, of which the size is taken.
            pad_id: The padding token, where there is no mask.
        """
        try:
            self._batches.tell(batch, pad_id)
        except Exception as error:  # noqa: BLE001
            self.faults.note(error)

    def notice_logs(self) -> None:
        """Notice TensorBoard's writers that there are now; for frameworks that drop theirs before the end."""
        if self._log:
            self._guarded(self._logs.look)

    # --- boundaries

    def _optimizer_step(self, is_another: bool) -> None:
        if self._is_explicit or self._state != _RUNNING or self._pid != os.getpid():
            return
        try:
            if is_another:
                self._start_over()
            self._boundary()
        except Exception as error:  # noqa: BLE001
            self.faults.note(error)

    def _start_over(self) -> None:
        """Boundaries lie elsewhere from now on: what lay between the old ones is no step."""
        if not self._boundaries.is_first:
            self._boundaries = Boundaries()
            self._is_dirty = False

    def _boundary(self) -> None:
        # The end of the watch waits for a boundary in another thread: what that begins would outlive it.
        with self._lock:
            if self._state == _RUNNING:
                self._mark()

    def _mark(self) -> None:
        now = perf_counter_ns()
        boundaries = self._boundaries
        if not self._has_begun:
            boundaries.mark(now, False)
            self._begin(now)
            self._is_dirty = True
            return
        tracer = self._tracer
        if tracer.trace is not None:
            boundaries.skip(now)
            self._is_dirty = self._phases.is_outside
            tracer.boundary(boundaries)
            return
        is_profiled = is_profiling()
        self._saw_profiler |= is_profiled
        is_clean = not (self._is_dirty or is_profiled)
        self._is_dirty = self._phases.is_outside or is_profiled
        boundaries.mark(now, is_clean)
        if not self._is_dirty and tracer.is_time(boundaries, now):
            self._is_dirty = True
            if self._ranks.rank == 0:
                self.notice_logs()
            tracer.take(boundaries)

    def _begin(self, now: int) -> None:
        """The first boundary: this process trains."""
        self._has_begun = True
        if self.is_from_outside:
            self._since_ns, self._phases_before = now, self._phases.totals(now)[0]
        self._leave_exit = at_exit(self.close)
        self._ranks = ranks = Ranks.here()
        self.recording = place.claim(self._out, Path(_BASE), ranks, self.is_from_outside)
        self._tracer.begin(self.recording, ranks, now)
        if self._sample_s and ranks.local == 0:
            samples = self.recording
            if ranks.rank > 0:
                samples = self.recording / f"node{ranks.node}"
                samples.mkdir(exist_ok=True)
            self._sampler.start(samples, self._sample_s, ranks)

    # --- the end

    def _finish(self, ended_ns: int) -> None:
        """Each part by itself: where one fails, as on a disk that is full, the rest still has its say."""
        self._guarded(lambda: self._tracer.finish(self._saw_profiler))
        if not self._has_begun:
            if not self.is_from_outside and self._report:
                self._say(words.Ending(faults=self.faults.count, first_fault=self.faults.first))
            return
        phases = self._phase_totals(ended_ns)
        at = self.recording
        if at is None:
            # Which rank of a host says so is all one.
            if self._report and self._ranks.local == 0:
                self.refusal = WhyidleError(f"no recording could be made: {self.faults.first}")
                self._say(self._ending(phases))
            return
        self._guarded(self._sampler.stop)
        self._guarded(lambda: self._describe(at, phases))
        self._guarded(lambda: place.complete(at, self._ranks))
        if self._ranks.rank != 0:
            return
        self._guarded(self._tracer.tidy)
        if self._ranks.world > 1:
            self._guarded(lambda: self._await_peers(at))
        self._judge(at)
        ending = self._ending(phases)
        if self._log:
            sentence = None if self.verdict is None else self.verdict.sentence
            found = figures(self.verdict, ending.step_ms, ending.padding, phases)
            ending.logs = self._logs.write(found, sentence, self._boundaries.steps)
            ending.faults, ending.first_fault = self.faults.count, self.faults.first
        if self._report:
            self._say(ending)

    def _phase_totals(self, ended_ns: int) -> dict[str, int]:
        totals, outside = self._phases.totals(ended_ns)
        totals = {name: ns - self._phases_before.get(name, 0) for name, ns in totals.items()}
        return {"training": max(0, ended_ns - self._since_ns - outside), **totals}

    def _describe(self, at: Path, phases: dict[str, int]) -> None:
        from whyidle import __version__

        boundaries = self._boundaries.members()
        missing = []
        if not self._tracer.traced:
            missing.append({"what": "trace", "code": self._tracer.untraced or "too-short", "detail": ""})
        if self._sampler.failed is not None:
            code, detail = self._sampler.failed
            missing.append({"what": "samples", "code": code, "detail": detail})
        members = {
            **self._loaders.members(),
            **self._batches.members(),
            **{name: value for name, value in boundaries.items() if name != "steps"},
            **({"active_steps": self._tracer.traced} if self._tracer.traced else {}),
            "in_loop": {
                "whyidle": __version__,
                "boundaries": "step" if self._is_explicit else "optimizer",
                "steps": boundaries["steps"],
                "phases_ns": phases,
                "faults": self.faults.count,
                "first_fault": self.faults.first,
            },
        }
        has_samples = self._sample_s > 0 and self._sampler.failed is None
        recording.describe(at, self._ranks, members, missing, has_samples)

    def _await_peers(self, at: Path) -> None:
        until = monotonic() + _PEERS_S
        while not place.claimed_by_all(at, self._ranks) and monotonic() < until:
            sleep(0.02)

    def _judge(self, at: Path) -> None:
        if self._sampler.is_stuck:
            self.refusal = WhyidleError(
                "the whyidle program hangs on this machine", f"try it by hand: whyidle diagnose {at}"
            )
            return
        try:
            self.verdict = program.judge(at, self._lang)
        except WhyidleError as error:
            self.refusal = error
        except Exception as error:  # noqa: BLE001 – the steps are still to be told
            self.faults.note(error)
            self.refusal = WhyidleError(f"it could not be judged: {self.faults.first}")

    def _ending(self, phases: dict[str, int]) -> words.Ending:
        clock, summary = self._boundaries.summary()
        refusal = self.refusal
        return words.Ending(
            place=None if self.recording is None else str(self.recording),
            verdict=self.verdict,
            refusal=None if refusal is None else refusal.message,
            steps=self._boundaries.steps,
            step_ms=summary.mean_ns / 1e6 if summary.count else None,
            timed=summary.count,
            clock=clock,
            traced=self._tracer.traced,
            untraced=self._tracer.untraced,
            phases_ns=phases,
            padding=self._batches.share,
            padding_basis=self._batches.basis,
            batches=self._batches.seen,
            batches_elsewhere=self._batches.elsewhere,
            faults=self.faults.count,
            first_fault=self.faults.first,
        )

    def _say(self, ending: words.Ending) -> None:
        words.say(words.text(ending, self._lang))

    # --- within the process

    def _leave(self) -> None:
        """Nothing of ours stays in the program."""
        if current.current() is self:
            current.put(None)
        self._guarded(self._optimizers.disarm)
        self._guarded(self._loaders.disarm)
        self._guarded(self._tracer.profilers.disarm)
        if self._leave_exit is not None:
            self._guarded(self._leave_exit)

    def _dismiss(self) -> None:
        """The program watches itself: what ``WHYIDLE=1`` began makes room."""
        if not self._has_begun:
            self._state = _CLOSED
            self._leave()
            return
        self._report = False
        self.close()

    def _forked(self) -> bool:
        """In the child after a fork. True: it goes on here, for it had not begun and this process may be the one."""
        if self.is_from_outside and self._state == _RUNNING and not self._has_begun:
            self._pid = os.getpid()
            self._lock = threading.RLock()
            self._phases.forked()
            return True
        self._state = _CLOSED
        # Another thread may have held them, and does not exist here.
        self._lock = threading.RLock()
        self._phases.forked()
        return False

    def _while_running(self, arm: Callable[[Any], None]) -> Callable[[Any], None]:
        def armed(module: Any) -> None:
            if self._state == _RUNNING:
                arm(module)

        return armed

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 – ours, not the program's
            self.faults.note(error)

    def __repr__(self) -> str:
        state = ("not started", "running", "ended")[self._state]
        return f"<Watch {state}: {self._boundaries.steps} steps, {self.recording or 'no recording yet'}>"


def watch(
    out: str | os.PathLike[str] | None = None,
    *,
    sample: bool = True,
    sample_s: float = 600.0,
    trace_steps: int | None = None,
    trace_after_s: float = 5.0,
    pad_id: int | None = None,
    report: bool = True,
    log: bool = True,
    lang: str | None = None,
) -> Watch:
    """Watch this process train, and say at the end who the GPU waited for.

    .. code-block:: python

        with whyidle.watch() as watch:
            for batch in loader:
                train(batch)
                whyidle.step()
        watch.verdict.sentence

    Steps are timed without a profiler, on the GPU's clock where there is one; nothing is synchronised. Once their time
    is steady a few are traced. Without :func:`whyidle.step` each optimizer step ends a step. On several ranks each
    records itself, and rank 0 reports.

    Args:
        out: Directory of the recording, new or empty; by default ``whyidle-runs/<time>-<pid>``.
        sample: Sample stacks, the GPU and the machine from outside, by ``whyidle attach``.
        sample_s: For how long at most, s: rows are written all the while.
        trace_steps: Steps that are traced; 0 for no trace. By default six where the program uses a GPU, else none: a
            trace without a GPU tells the host's side alone.
        trace_after_s: No trace before so many seconds after the first step.
        pad_id: The padding token, for batches without an attention mask.
        report: Print the verdict at the end, to standard error.
        log: Write the ledger to TensorBoard, W&B or MLflow, where the program uses one.
        lang: ``en`` or ``zh``; by default the language of the environment.
    """
    return Watch(
        out,
        sample=sample,
        sample_s=sample_s,
        trace_steps=trace_steps,
        trace_after_s=trace_after_s,
        pad_id=pad_id,
        report=report,
        log=log,
        lang=lang,
    )
