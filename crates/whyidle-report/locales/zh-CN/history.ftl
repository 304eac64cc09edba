# 历史中的诊断结论，以及一个作业的总体情况。

history-verdict = [结论：GPU 有效工作 { $busy }；{ $cause }]
history-verdict-bare = [结论：{ $cause }]
bench-added = 为看到训练步而替程序设置的变量：{ $list }。
bench-losses-from = loss 取自 { $path }。
job-head = 作业 { $id } · { $from } 至 { $to } UTC · { $span }
job-working = 在观察到的时间里，GPU 有效工作占 { $share }。
job-resident = 在观察到的时间里，GPU 驻留占 { $share }；其中多少是有效工作，只有诊断结论才能说明。
job-resident-beside = 只做了测量的运行中，GPU 驻留占 { $share }。
job-nothing = 没有观察到这个作业使用 GPU。
job-waste = 在 { $seen }中约浪费了 { $waste }（估计值：未有效工作的占比 × GPU 数 × 观察时间）。
job-waste-least = 在 { $seen }中至少浪费了 { $waste }（估计值：未有效工作的占比 × GPU 数 × 观察时间；只做测量的运行按 GPU 空闲占比计）。
job-no-change = 没有哪个结论提出能省时间的改动。
job-seen = 以上来自 { $verdicts }和 { $runs }；其余时间发生了什么，一无所知。
job-verdicts = { $count ->
    [one] 1 次诊断结论
   *[other] { $count } 次诊断结论
}
job-runs = { $count ->
    [one] 1 次测量运行
   *[other] { $count } 次测量运行
}
job-damaged = 有 { $count ->
    [one] 1 条记录
   *[other] { $count } 条记录
}已损坏，未计入。
job-time = { $time }
job-hours = { $hours } 小时
job-gpu-time = 一张 GPU 的 { $time }
job-gpu-hours = { $hours } GPU 小时
job-title-waits = GPU 在等什么
job-title-change = 最值得做的一项改动
job-change = 单步预计从 { $before } 降到 { $after }：在观察到的时间里本可省下 { $saved }。
job-change-of = 完整内容：`whyidle history show { $id }`。
job-title-parts = 依据
job-verdict = 结论
job-run = 运行

cli-verdict-kept = 已存为 { $id }：whyidle history show { $id }
cli-verdict-not-kept = 诊断结论没有存入历史：{ $reason }
cli-history-no-job = 历史中没有作业 “{ $job }” 的任何记录
cli-history-no-job-hint = 运行属于启动时由 WHYIDLE_JOB 或调度器（如 SLURM_JOB_ID）指明的作业。
cli-losses-none = 在 { $paths } 中没有找到这次运行的 loss：以它打印的为准
