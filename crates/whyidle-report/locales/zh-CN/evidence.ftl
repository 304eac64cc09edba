# `whyidle diagnose` 中各个文件提供了什么。

evidence-title = 各文件提供的内容
evidence-trace = 含 { $count } 个事件的 trace：结论以它为依据
evidence-samples = 从外部对运行的 { $count } 次采样
evidence-snapshot = 显存快照：见显存一页
evidence-summary = torch.cuda.memory_summary() 的表：见显存一页
evidence-kernels = Nsight Compute 测量的 { $count } 次启动：见 kernel 一页
evidence-dump = 某个 rank 的 flight recorder：见 rank 一页
evidence-nccl = NCCL 日志：各 rank 之间走哪条通路
evidence-nothing = 无：{ $reason }
