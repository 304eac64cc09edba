# CUDA 缓存分配器反映出的情况：显存快照与 memory_summary()。

## 页首

memory-head = 显存快照 { $path }
memory-head-device = 设备 { $device }
memory-head-events = { $time } 内 { $count } 个事件
memory-summary-head = 显存汇总 { $path }

## 结论。已分配指张量占用的显存，已保留指分配器从 GPU 拿到的显存。

memory-peak = 峰值时程序已分配 { $allocated }；分配器最多保留 { $reserved }。
memory-peak-about = 峰值时程序已分配约 { $allocated }；分配器最多保留 { $reserved }。
memory-end = 快照生成时已分配 { $allocated }，已保留 { $reserved }。快照里没有历史，峰值无从得知。
memory-empty = 快照里没有任何 GPU 的显存。
memory-made-of = 峰值的构成：{ $parts }。
memory-by-forward = 前向 { $share }
memory-by-backward = 反向 { $share }
memory-by-optimizer = 优化器 { $share }
memory-by-other = 其他代码 { $share }
memory-by-unknown = 没有调用栈的 { $share }
memory-by-before = 历史开始之前已有的 { $share }
memory-fine = 没有需要改动的地方。
memory-growth-steps = 显存在增长：每步之后多出 { $bytes } 没有释放，连续 { $count } 步都是如此。
memory-growth-slices = 显存似乎在增长：历史分成的 { $count } 段，每段约留下 { $bytes } 没有释放。历史里分辨不出步。
memory-growth-part = 显存在历史的最后一段里增长：每轮之后多出 { $bytes } 没有释放，连续 { $count } 轮都是如此。
memory-growth-most = 其中最大的一部分由 { $place } 申请。
memory-growth-graph = 留下的是前向为反向保存的内容，来自多个算子：结果连同计算图一起被保留。
memory-growth-evaluation = 留下的是前向为反向保存的内容，而反向从未运行：评估时记录了计算图。
memory-failed = 一次 { $bytes } 的申请失败：当时已分配 { $allocated }，分配器里空闲 { $cached }，GPU 上空闲 { $free }。
memory-failed-pieces = 一次 { $bytes } 的申请失败，而分配器里其实空闲 { $cached }，只是不连续：当时已分配 { $allocated }，GPU 上空闲 { $free }。

## 处方

memory-title-change = 处方
memory-do-no-grad = 在 `torch.no_grad()` 下评估，或者用 `.detach()` 保留输出。
memory-do-detach = 保留结果时去掉计算图：用 `.detach()`，只要数值时用 `.item()`。
memory-do-release = 找出是谁一步步留着这些张量：列表、缓存或属性。
memory-do-keep-cache = 不要在每步里调用 `torch.cuda.empty_cache()`。
memory-do-expandable = 让显存段可以增长：`expandable_segments:True`。
memory-do-same-sizes = 让每步的大小保持不变，并且先申请长期保留的部分（权重、优化器状态、缓存）。
memory-do-need-less = 程序需要的显存超过现有的：减小 batch、使用梯度检查点或分片。`whyidle plan` 可以算出放得下的方案。
memory-if-no-grad = 申请这些显存的那段历史里，调用栈中没有反向。
memory-if-detach = 只要留着一个结果，它的前向保存的全部内容都不会释放。
memory-if-expandable = 适用于空闲总量足够、但分散成 20 MiB 以上的块的情况，例如每步大小都在变。显存若被张量占着，或者空闲块更小、夹在张量之间，它腾不出空间；某些跨进程共享显存的方式也不能与它同用。
memory-if-same-sizes = 空闲块夹在张量之间，又小得无法挪作他用：`expandable_segments` 对此没有帮助。
memory-if-keep-cache = 它还回去的显存下一步又要申请，而归还要等 GPU 空下来。

## 表格

memory-title-parts = 峰值由哪些部分构成
memory-part-before = 历史开始之前已有
memory-site = { $operator } · { $place }
memory-site-bare = { $place }
memory-site-unknown = 没有调用栈
memory-more = 还有 { $count } 项：-v 显示更多，JSON 里有全部
memory-title-growth = 每步留下来的
memory-per-period = 每步 { $bytes }
memory-no-growth = 没有哪处代码每步都留下显存。{ $periods }
memory-periods-marks = 步由程序的 profiler 或优化器标出（{ $count } 步）。
memory-periods-repetition = 步由重复出现的申请分辨（{ $count } 步）；第一步可能在做初始化，最后一步尚未结束，两者都不计入。
memory-periods-slices = 没有重复规律，因此把历史按申请次数等分为 { $count } 段。
memory-periods-part = 轮由一处反复出现、直到历史末尾都没有释放的申请分辨（{ $count } 轮）；第一轮和最后一轮不计入。
memory-title-timeline = 已分配显存随时间的变化
memory-timeline = 从左到右共 { $time }；最高处为 { $top }
memory-title-totals = 显存
memory-at-peak = 峰值时
memory-at-end = 结束时
memory-row-allocated = 已分配
memory-row-requested = 实际请求（取整前）
memory-row-active = 活跃（含 stream 仍在用的）
memory-row-reserved = 已保留
memory-row-cached = 分配器里空闲
memory-row-releasable = 其中：整段空闲
memory-row-split = 其中：夹在使用中的块之间
memory-row-largest = 最大的空闲块
memory-title-driver = 对驱动的调用
memory-came = cudaMalloc：{ $count } 段，{ $bytes }
memory-went = cudaFree：{ $count } 段，{ $bytes }
memory-emptied = 其中 { $count } 段由程序自己的 `empty_cache()` 释放
memory-grew = 有 { $count } 段（{ $bytes }）在空闲总量足够但不连续时向驱动申请
memory-gaps = trace 的空隙里有 { $calls } 次这样的调用，落在 { $gaps } 个空隙中，占 GPU 空闲时间的 { $share }。两者同时发生，并不能说明谁导致了谁。
memory-gaps-apart = trace 与快照不在同一时间（相差 { $time }）：调用和空隙对不上。
memory-gaps-no-clock = trace 里没有时刻：调用和空隙对不上。
memory-gaps-no-history = 快照里没有历史，无法与 trace 的空隙对照。
memory-headroom = GPU 共有 { $capacity }：其中 { $free }（{ $share }）从未被保留。CUDA 上下文和其他程序会占去一部分。
memory-title-others = 其他设备：峰值已分配、已保留
memory-title-evidence = 关于证据

## memory_summary()

memory-summary-peak = 程序启动以来最多已分配 { $allocated }，已保留 { $reserved }。
memory-summary-none = 表里缺少已分配和已保留两行。
memory-summary-failed = 有 { $count } 次申请因显存不足而失败。
memory-summary-retries = 有 { $count } 次分配器先归还自己保留的显存再重新申请，归还要等 GPU 空下来：减少申请，或让显存段可以增长（`expandable_segments:True`）。
memory-summary-fine = 没有申请失败，也没有申请需要重试。
memory-summary-most = 最多
memory-summary-now = 打印时
memory-summary-rounded = PyTorch 把这些数字向下取整到所印的单位。显存由谁申请，只有快照能说明：`torch.cuda.memory._dump_snapshot`。

## 关于证据

note-memory-estimated = 峰值是估计值：按历史推算的结果与分配器结束时的数字不符，或者它的设置使用了别的取整方式。
note-memory-no-history = 快照里没有历史：在要观察的步之前调用 `torch.cuda.memory._record_memory_history()`。
note-memory-no-stacks = 有 { $count } 次申请没有调用栈：`_record_memory_history(stacks="all")` 会把反向的也记录下来。

## 命令行

