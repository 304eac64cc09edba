"""The ledger in the logs that the program keeps already: TensorBoard, W&B, MLflow. None of them is imported here."""

from __future__ import annotations

import gc
import sys
from typing import Any

from whyidle.loop.faults import Faults
from whyidle.verdict import Verdict

__all__ = ["Logs", "figures"]

_WRITERS = (("torch.utils.tensorboard.writer", "SummaryWriter"), ("tensorboardX", "SummaryWriter"))


def figures(
    verdict: Verdict | None, step_ms: float | None, padding: float | None, phases_ns: dict[str, int]
) -> dict[str, float]:
    """What is logged, by name: times in ms or s as their names say, shares 0 to 1."""
    found: dict[str, float] = {}
    if step_ms is not None:
        found["whyidle/step_ms"] = step_ms
    if padding is not None:
        found["whyidle/padding_share"] = padding
    for name, ns in phases_ns.items():
        found[f"whyidle/phase/{name}_s"] = ns / 1e9
    if verdict is not None:
        if verdict["working_share"] is not None:
            found["whyidle/working_share"] = float(verdict["working_share"])
        for line in verdict["ledger"]:
            if line["ms"] is not None:
                found[f"whyidle/ledger/{line['id']}_ms"] = float(line["ms"])
    return found


class Logs:
    """The logs in use."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._writers: list[Any] = []

    def look(self) -> None:
        """Notice TensorBoard's writers that there are now; a framework may drop its own before the end.

        Goes through all objects: some tens of milliseconds in a large program.
        """
        kinds = tuple(
            kind for module, name in _WRITERS if isinstance(kind := getattr(sys.modules.get(module), name, None), type)
        )
        if not kinds:
            return
        known = {id(writer) for writer in self._writers}
        for thing in gc.get_objects():
            if type(thing) in kinds and id(thing) not in known:
                self._writers.append(thing)

    def write(self, found: dict[str, float], sentence: str | None, step: int) -> list[str]:
        """Write figures; the names of the logs that took them."""
        took = []
        for name, write in (("tensorboard", self._tensorboard), ("wandb", _wandb), ("mlflow", _mlflow)):
            try:
                if write(found, sentence, step):
                    took.append(name)
            except Exception as error:  # noqa: BLE001 – a log that refuses is no reason to end
                self._faults.note(error)
        return took

    def _tensorboard(self, found: dict[str, float], sentence: str | None, step: int) -> bool:
        self.look()
        # Several writers of one folder hold one run.
        folders: dict[str, Any] = {}
        for writer in self._writers:
            folders.setdefault(str(getattr(writer, "log_dir", id(writer))), writer)
        for writer in folders.values():
            was_closed = getattr(writer, "all_writers", None) is None
            for name, value in found.items():
                writer.add_scalar(name, value, step)
            if sentence:
                writer.add_text("whyidle/verdict", sentence, step)
            writer.flush()
            if was_closed:
                writer.close()
        return bool(folders)


def _wandb(found: dict[str, float], sentence: str | None, step: int) -> bool:
    run = getattr(sys.modules.get("wandb"), "run", None)
    if run is None:
        return False
    # The summary has no steps: the program's own count is left alone.
    run.summary.update({**found, **({"whyidle/verdict": sentence} if sentence else {})})
    return True


def _mlflow(found: dict[str, float], sentence: str | None, step: int) -> bool:
    mlflow = sys.modules.get("mlflow")
    active = getattr(mlflow, "active_run", None)
    if mlflow is None or active is None or active() is None:
        return False
    mlflow.log_metrics(found, step=step)
    if sentence:
        mlflow.set_tag("whyidle.verdict", sentence)
    return True
