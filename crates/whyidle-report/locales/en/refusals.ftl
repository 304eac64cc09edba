# Why there is no verdict: `refusal-<code>` is the reason, `refusal-<code>-hint` what to do.

refusal-empty = The input holds no events.
refusal-empty-hint = Check that the profiler was stopped, or its `with` block left, before the program ended: the trace is written then.
refusal-no-gpu-activity = The trace holds no GPU activities: it shows the host alone, so nobody can tell when the GPU worked.
refusal-no-gpu-activity-hint = Record with `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]` and let at least one step run inside the window. If that gives no kernels either, another profiler may hold the GPU's tracing interface (CUPTI).
refusal-no-host-activity = The trace holds GPU activities, but nothing of the host: when the GPU waited is visible, for whom is not.
refusal-no-host-activity-hint = Record with `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`.
refusal-foreign-device = The trace was recorded on an accelerator that whyidle does not know ({ $device }); it holds no activities of a CUDA or ROCm GPU.
refusal-foreign-device-hint = whyidle reads traces of NVIDIA and AMD GPUs; of Ascend it reads the trace_view.json that torch_npu's own profiler writes.
refusal-no-steps = The trace holds no whole step.
refusal-no-steps-hint = Record at least three whole steps after the warm-up: `schedule(wait=5, warmup=2, active=3)`, and call `prof.step()` at the end of each.
refusal-zero-times = { $share } of the GPU activities stand at time 0: their records were lost, and what is left is no picture of a step.
refusal-zero-times-hint = Record fewer steps, without `with_stack` and `profile_memory`, or update the driver; then compare the number of kernels per step.
refusal-half-window = The GPU activities cover only { $share } of the steps: records were lost, or the window ended early.
refusal-half-window-hint = Record fewer steps, or call `torch.cuda.synchronize()` before the profiler stops.
refusal-too-little = The GPU works in { $share } of the window: this is a start-up or an idle program, not a training step.
refusal-too-little-hint = Record steps after the warm-up, or pick them with `--step A..B`.

refusal-no-such-device = No GPU with that number has activities in the trace.
refusal-no-such-device-hint = GPUs with activities: { $devices }.
refusal-no-such-rank = No trace of that rank could be judged.
refusal-no-such-rank-hint = Leave `--rank` out, or check which ranks the traces are of.

refusal-no-such-step = None of the steps asked for is whole in the trace.
refusal-no-such-step-hint = Whole steps: { $first } to { $last }.

refusal-not-one-job = These { $count } traces are not the ranks of one job: they do not say their rank, or come from jobs of different sizes.
refusal-not-one-run = These ranks were recorded { $time } apart: in different runs, in different parts of one, or on hosts whose clocks differ by that much.
refusal-nothing-in-common = No collective is the same on two of these ranks: they are of different runs, or recorded different steps.
refusal-not-one-job-hint = Give one trace at a time, or the traces of one job's ranks.
refusal-lost-activities = { $share } of the kernels launched in the steps are missing from the trace: what is left is no picture of a step.
refusal-lost-activities-hint = Record fewer steps, stop the profiler cleanly, or update the driver; a truncated file must be exported again.
refusal-step-contradicted = The step time of { $step } cannot belong to this trace: its kernels alone take { $kernels } per step.
refusal-step-contradicted-hint = Give milliseconds per optimizer step of the same program and batch, measured without the profiler.

refusal-truncated = The file is cut off or damaged, so calls and kernels of any step may be missing.
refusal-truncated-hint = Export the trace again, let the program finish writing it, and copy it whole.
