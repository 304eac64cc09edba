"""The hooks in real frameworks on tiny models: transformers' Trainer, Lightning, Accelerate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import whyidle  # noqa: E402
from whyidle.loop import current  # noqa: E402

torch.set_num_threads(1)


class Rows(torch.utils.data.Dataset):
    """Token ids, a third of them padding."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = torch.full((12,), index % 32)
        return {"input_ids": ids, "labels": ids.clone(), "attention_mask": (torch.arange(12) < 8).long()}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT", "WHYIDLE", "WHYIDLE_OUT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def described(watch: whyidle.Watch) -> dict:
    assert watch.faults.count == 0, watch.faults.first
    return json.loads((watch.recording / "recording.json").read_text())


def rows_sampled(folder: str) -> int:
    table = Path(folder, "nvml.csv")
    return table.read_text().count("\n") if table.exists() else 0


def trainer(callback, steps: int, **more):
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=32, n_positions=12, n_embd=8, n_layer=1, n_head=2)
    options = {
        "output_dir": "hf", "max_steps": steps, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2,
        "report_to": [], "logging_steps": 1_000, "save_strategy": "no", "use_cpu": True, "disable_tqdm": True,
    }  # fmt: skip
    arguments = transformers.TrainingArguments(**{**options, **more})
    return transformers.Trainer(
        model=transformers.GPT2LMHeadModel(config),
        args=arguments,
        train_dataset=Rows(4 * steps + 4),
        eval_dataset=Rows(8),
        callbacks=[callback],
    )


def test_a_training_that_failed_leaves_no_watch_to_the_next(monkeypatch):
    """The Trainer tells its callbacks nothing of an exception."""
    transformers = pytest.importorskip("transformers")

    class Fails(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **kwargs):
            if state.global_step == 5:
                raise RuntimeError("a batch too many")

    monkeypatch.setattr("whyidle.loop.program.find", lambda: None)
    for again in (None, whyidle.hooks.TransformersCallback(out="second", sample=False, report=False)):
        callback = whyidle.hooks.TransformersCallback(out=f"first{again is None}", sample=False, report=False)
        failing = trainer(callback, 12)
        failing.add_callback(Fails())
        with pytest.raises(RuntimeError, match="too many"):
            failing.train()
        failed = callback.watch
        callback = again or callback
        callback._watching._options["out"] = f"next{again is None}"
        trainer(callback, 8).train()
        assert current.current() is None and callback.watch is not failed
        assert described(failed)["in_loop"]["steps"]["all"] == 4
        assert described(callback.watch)["in_loop"]["steps"]["all"] == 7


def test_the_trainer_of_transformers(capsys):
    pytest.importorskip("transformers")
    pytest.importorskip("tensorboard")
    callback = whyidle.hooks.TransformersCallback(out="out", sample=False, lang="en")
    more = {"eval_strategy": "steps", "eval_steps": 20, "save_strategy": "steps", "save_steps": 20}
    os.environ["TENSORBOARD_LOGGING_DIR"] = "logs"
    try:
        trainer(callback, 40, report_to=["tensorboard"], **more).train()
    finally:
        del os.environ["TENSORBOARD_LOGGING_DIR"]
    about = described(callback.watch)
    steps = about["in_loop"]["steps"]
    # Two micro-batches a step; an evaluation and a save after the twentieth and the last.
    assert steps["all"] == 39 and steps["disturbed"] in (1, 2) and about["in_loop"]["boundaries"] == "step"
    phases = about["in_loop"]["phases_ns"]
    assert phases["evaluation"] > 0 and phases["checkpoint"] > 0 and phases["training"] > phases["data"] > 0
    assert about["batch"] == 2 and about["seq"] == 12 and about["padding"]["share"] == pytest.approx(1 / 3)
    said = capsys.readouterr().err
    assert "no verdict" in said and "evaluation" in said and "logged to  tensorboard" in said
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = next(path.parent for path in Path().rglob("events.out.tfevents*"))
    assert "whyidle/step_ms" in EventAccumulator(str(folder)).Reload().Tags()["scalars"]
    assert current.current() is None


def test_the_trainer_gets_a_verdict(program, cards):
    """With samples of a GPU that is replayed, for as long as that takes."""
    transformers = pytest.importorskip("transformers")

    class Enough(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            control.should_training_stop = state.global_step % 100 == 0 and rows_sampled("out") > 60

    callback = whyidle.hooks.TransformersCallback(out="out", lang="en", report=False)
    running = trainer(callback, 200_000)
    running.add_callback(Enough())
    running.train()
    watch = callback.watch
    assert watch.verdict is not None, watch.refusal
    assert watch.verdict["step"]["basis"] == "measured" and watch.verdict.sentence
    assert watch.verdict.step_ms == pytest.approx(described(watch)["step_ms_mean"], rel=1e-3)


def lightning_model():
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Embedding(32, 4), torch.nn.Flatten(), torch.nn.Linear(48, 1))

        def training_step(self, batch, index):
            return self.net(batch["input_ids"]).square().mean()

        def validation_step(self, batch, index):
            self.net(batch["input_ids"])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    return lightning, Model()


def lightning_trainer(lightning, callbacks, **more):
    options = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_progress_bar": False}
    options.update(enable_model_summary=False, enable_checkpointing=False)
    return lightning.Trainer(callbacks=callbacks, **{**options, **more})


def test_lightning(capsys):
    lightning, model = lightning_model()
    callback = whyidle.hooks.LightningCallback(out="out", sample=False, lang="en")
    saves = lightning.callbacks.ModelCheckpoint(dirpath="saved", every_n_train_steps=25)
    running = lightning_trainer(
        lightning, [callback, saves], max_steps=50, accumulate_grad_batches=2, val_check_interval=50,
        enable_checkpointing=True, limit_val_batches=2,
    )  # fmt: skip
    loaders = [torch.utils.data.DataLoader(Rows(count), batch_size=2) for count in (400, 8)]
    running.fit(model, *loaders)
    about = described(callback.watch)
    # Boundaries are optimizer steps: two micro-batches each.
    assert about["in_loop"]["steps"]["all"] == 49 and about["in_loop"]["boundaries"] == "optimizer"
    phases = about["in_loop"]["phases_ns"]
    assert phases["evaluation"] > 0 and phases["checkpoint"] > 0 and phases["data"] > 0
    assert about["batch"] == 2 and about["padding"]["basis"] == "attention_mask"
    assert "checkpoint" in capsys.readouterr().err
    assert "save_checkpoint" not in running.__dict__ and current.current() is None


def test_lightning_gets_a_verdict(program, cards):
    lightning, model = lightning_model()

    class Enough(lightning.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            trainer.should_stop = index % 100 == 0 and rows_sampled("out") > 60

    callback = whyidle.hooks.LightningCallback(out="out", lang="en", report=False)
    running = lightning_trainer(lightning, [callback, Enough()], max_steps=500_000, max_epochs=-1)
    running.fit(model, torch.utils.data.DataLoader(Rows(1_000_000), batch_size=2))
    watch = callback.watch
    assert watch.verdict is not None, watch.refusal
    assert watch.verdict["step"]["basis"] == "measured"
    assert described(watch)["in_loop"]["boundaries"] == "optimizer"


def test_lightning_that_fails_gets_the_verdict_for_what_there_was(capsys):
    lightning, model = lightning_model()

    class Fails(lightning.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            if index == 30:
                raise ZeroDivisionError

    callback = whyidle.hooks.LightningCallback(out="out", sample=False, lang="en")
    with pytest.raises(ZeroDivisionError):
        lightning_trainer(lightning, [callback, Fails()], max_steps=100).fit(
            model, torch.utils.data.DataLoader(Rows(400), batch_size=2)
        )
    assert described(callback.watch)["in_loop"]["steps"]["all"] == 30
    assert "recording" in capsys.readouterr().err and current.current() is None


def test_accelerate(capsys):
    accelerate = pytest.importorskip("accelerate")
    tracker = whyidle.hooks.AccelerateTracker(out="out", sample=False, lang="en")
    accelerator = accelerate.Accelerator(log_with=tracker, cpu=True, gradient_accumulation_steps=2)
    accelerator.init_trackers("run", config={"anything": 1})
    net = torch.nn.Sequential(torch.nn.Embedding(32, 4), torch.nn.Flatten(), torch.nn.Linear(48, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = torch.utils.data.DataLoader(Rows(160), batch_size=2)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for batch in loader:
        with accelerator.accumulate(net):
            accelerator.backward(net(batch["input_ids"]).square().mean())
            optimizer.step()
            optimizer.zero_grad()
        accelerator.log({"loss": 1.0})
    assert accelerator.get_tracker("whyidle", unwrap=True) is tracker.watch
    accelerator.end_training()
    about = described(tracker.watch)
    assert about["in_loop"]["steps"]["all"] == 39 and about["in_loop"]["boundaries"] == "optimizer"
    assert about["batch"] == 2 and "recording  out" in capsys.readouterr().err


def test_a_hook_uses_the_watch_that_runs():
    pytest.importorskip("transformers")
    with whyidle.watch("out", sample=False, report=False) as watch:
        callback = whyidle.hooks.TransformersCallback(out="elsewhere")
        trainer(callback, 20).train()
        assert callback.watch is watch and current.current() is watch
    assert described(watch)["in_loop"]["steps"]["all"] == 19 and not Path("elsewhere").exists()
