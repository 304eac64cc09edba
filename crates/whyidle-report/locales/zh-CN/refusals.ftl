# 为什么不下结论：`refusal-<code>` 是理由，`refusal-<code>-hint` 是怎么办。

refusal-empty = 输入里没有任何事件。
refusal-empty-hint = 确认程序结束前已停止 profiler（或已退出它的 `with` 块）：trace 是那时写出的。
refusal-no-gpu-activity = trace 里没有 GPU 活动：只看得到 CPU 侧，无从判断 GPU 何时在工作。
refusal-no-gpu-activity-hint = 采集时使用 `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`，窗口内至少跑完一步。如果仍然没有 kernel，可能是另一个 profiler 占用了 GPU 的 CUPTI 接口。
refusal-no-host-activity = trace 里只有 GPU 活动，没有 CPU 侧的记录：看得出 GPU 何时在等，看不出在等谁。
refusal-no-host-activity-hint = 采集时使用 `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`。
refusal-foreign-device = trace 采自 whyidle 不认识的加速器（{ $device }），其中没有 CUDA 或 ROCm GPU 的活动。
refusal-foreign-device-hint = whyidle 支持 NVIDIA 和 AMD GPU 的 trace；昇腾支持 torch_npu 自己的 profiler 写出的 trace_view.json。
refusal-no-steps = trace 里没有一个完整的 step。
refusal-no-steps-hint = 预热之后至少采集三个完整的 step：`schedule(wait=5, warmup=2, active=3)`，并在每步末尾调用 `prof.step()`。
refusal-zero-times = { $share } 的 GPU 活动时间为 0：记录已丢失，剩下的拼不出一个 step。
refusal-zero-times-hint = 少采几步，关掉 `with_stack` 和 `profile_memory`，或升级驱动；然后比较每步的 kernel 数。
refusal-half-window = GPU 活动只覆盖了这些 step 的 { $share }：记录丢失，或窗口提前结束。
refusal-half-window-hint = 少采几步，或在 profiler 停止前调用 `torch.cuda.synchronize()`。
refusal-too-little = GPU 只在窗口的 { $share } 内工作：这是启动阶段或空闲的程序，不是训练的 step。
refusal-too-little-hint = 在预热之后采集，或用 `--step A..B` 选取。

refusal-no-such-device = trace 里没有这个编号的 GPU 的活动。
refusal-no-such-device-hint = trace 里有活动的 GPU：{ $devices }。
refusal-no-such-rank = 这个 rank 没有可供判断的 trace。
refusal-no-such-rank-hint = 去掉 `--rank`，或核对这些 trace 各属于哪个 rank。

refusal-no-such-step = 指定的 step 在 trace 中没有一个是完整的。
refusal-no-such-step-hint = 完整的 step：{ $first } 到 { $last }。

refusal-not-one-job = 这 { $count } 个 trace 不是同一个作业的各个 rank：没有写明 rank，或来自规模不同的作业。
refusal-not-one-run = 这些 rank 的采集时间相隔 { $time }：来自不同的运行、同一次运行的不同阶段，或时钟相差这么多的机器。
refusal-nothing-in-common = 这些 rank 之间没有一次相同的集合通信：它们来自不同的运行，或采集的不是相同的步。
refusal-not-one-job-hint = 一次只给一个 trace，或者给同一个作业各 rank 的 trace。
refusal-lost-activities = 这些 step 里启动的 kernel 有 { $share } 不在 trace 中：剩下的已经看不出一个 step 的样子。
refusal-lost-activities-hint = 少采几步，让 profiler 正常停止，或更新驱动；文件被截断的话请重新导出。
refusal-step-contradicted = 单步耗时 { $step } 不可能属于这份 trace：光是 kernel 每步就要 { $kernels }。
refusal-step-contradicted-hint = 请给出同一程序、同一 batch、未开 profiler 时每个优化器 step 的毫秒数。

refusal-truncated = 文件被截断或损坏，任何一个 step 的调用和 kernel 都可能缺失。
refusal-truncated-hint = 重新导出 trace，等程序写完，再完整拷贝。
