"""Hugging Face's Trainer: ``Trainer(…, callbacks=[whyidle.hooks.TransformersCallback()])``."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from whyidle.hooks.watching import EVALUATION, SAVE, Watching
from whyidle.loop.watch import Watch

__all__ = ["TransformersCallback"]


class TransformersCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Watches a Trainer: its optimizer steps, evaluations and saves.

    Args:
        options: Those of :func:`whyidle.watch`, by name.
    """

    def __init__(self, **options: Any) -> None:
        self._watching = Watching(options, "transformers")

    @property
    def watch(self) -> Watch | None:
        """The watch, once training has begun; its ``verdict`` once it has ended."""
        return self._watching.watch

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Start, and notice TensorBoard's writer, which the Trainer drops before it calls us at the end."""
        self._watching.begin().notice_logs()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """An optimizer step is over: gradient accumulation has ended in between."""
        if self.watch is not None:
            self.watch.step()
        self._announced(control)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Evaluation and saves may follow here too."""
        self._announced(control)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """An evaluation that nobody announced, as ``trainer.evaluate()``."""
        self._watching.enter(EVALUATION)

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Evaluation is over; where a save was announced it follows."""
        self._watching.leave(EVALUATION)
        if control.should_save:
            self._watching.enter(SAVE)

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """The save is over."""
        self._watching.leave(SAVE)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Give the verdict."""
        self._watching.leave(EVALUATION)
        self._watching.leave(SAVE)
        self._watching.end()

    def _announced(self, control: TrainerControl) -> None:
        """The Trainer's own callbacks, which come before this one, have said what follows."""
        if control.should_evaluate:
            self._watching.enter(EVALUATION)
        elif control.should_save:
            self._watching.enter(SAVE)
