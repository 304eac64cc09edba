# Nsight Compute 对单个 kernel 的测量。

## 页首

ncu-head = { $kernels } 个 kernel 的 { $launches } 次启动，逐个测量

## 结论。$share 是占这些 kernel 耗时的比例。

ncu-held-compute = 这些 kernel 的耗时中，{ $share } 受限于 SM 的计算能力。
ncu-held-dram = 这些 kernel 的耗时中，{ $share } 受限于显存 (DRAM) 带宽。
ncu-held-cache = 这些 kernel 的耗时中，{ $share } 受限于 GPU 的缓存，而不是显存。
ncu-held-balanced = 这些 kernel 的耗时中，{ $share } 同时受限于计算和访存。
ncu-held-small = 这些 kernel 的耗时中，{ $share } 花在规模太小的 kernel 上：大多数 SM 无事可做。
ncu-held-latency = 这些 kernel 的耗时中，{ $share } 的时间 warp 在等：SM 和存储都没有达到峰值的 60%。主要在等{ $stall }。
ncu-held-latency-bare = 这些 kernel 的耗时中，{ $share } 的时间 warp 在等：SM 和存储都没有达到峰值的 60%。
ncu-no-throughput = 文件里没有能判断 kernel 受限于什么的指标。请用 `ncu --set full --csv --page raw` 重新采集。
ncu-none-in-trace = 测量过的 kernel 都不在这份 trace 里：属于另一个程序，或者形状不同。
ncu-change-fuse = 把逐元素、归一化和归约 kernel 与相邻算子融合 (`torch.compile`)：它们占 { $share }。
ncu-change-larger = 让每次启动多做些事（更大的 batch，更少更大的 kernel）：规模太小的 kernel 占 { $share }。
ncu-change-precision = 让矩阵乘法用上 tensor core (bf16 或 TF32)：没有用上的占 { $share }。
ncu-change-occupancy = 在因 warp 太少而等待的 kernel 里，让一个 SM 容得下更多 warp（每个 block 少用寄存器或共享内存）：它们占 { $share }。
ncu-change-none = 没有哪个 kernel 特别值得改：其余多是自己挑选分块的库 kernel，或者已接近峰值。

## 补充

ncu-weighted-by-length = 按每次启动的时长加权，共 { $time }，每个 kernel 单独在卡上运行。程序里各启动多少次要看 trace：请一并给出。
ncu-covers = 在 { $path } 里，每步 GPU 有效工作 { $working }，这些 kernel 占其中的 { $covered }（{ $share }），并按在那里的耗时加权。
ncu-covers-whole = 在 { $path } 里没有完整的一步，GPU 有效工作共 { $working }，这些 kernel 占其中的 { $covered }（{ $share }），并按在那里的耗时加权。

## 三层

ncu-title-layers = 有没有 kernel，有没有填满，有没有在算
ncu-layer-resident = GPU 上有 kernel
ncu-layer-filled = SM 上有 warp
ncu-layer-computing = 并且在计算
ncu-layer-resident-none = 要看一步的 trace。这里每个 kernel 都是单独运行的。
ncu-layer-resident-remark = 占单步的比例，按 trace。
ncu-layer-filled-remark = 占 kernel 运行期间 SM 周期的比例。
ncu-layer-computing-remark = 占上述周期的比例：正在发射指令，或 tensor core 在工作。
ncu-unknown = ?
ncu-warps-time = warp 的时间：{ $waits }。
ncu-waits = { $share } 在等{ $stall }

## 受限于什么

ncu-title-bounds = 受限于什么（按时间）
ncu-bounds-note = 受限：达到某一峰值的 60% 以上，与 Nsight Compute 自己的规则一致。等待：两者都没有达到。
ncu-bound-compute = 计算
ncu-bound-dram = 显存
ncu-bound-cache = 缓存
ncu-bound-balanced = 两者
ncu-bound-latency = 等待
ncu-bound-small = 规模太小
ncu-bound-unknown = 看不出来

## kernel

ncu-title-kernels = kernel，block 数 × 线程数
ncu-more = 另有 { $count } 个；--format json 列出全部
ncu-kernel-throughput = 占峰值：SM { $sm }，存储 { $memory }{ $dram }。
ncu-kernel-dram = {" "}(DRAM { $dram })
ncu-kernel-waves = block 分 { $waves } 波，{ $empty } 的位置空着。
ncu-kernel-warps = 驻留 warp：{ $held }，上限 { $most }。
ncu-kernel-warps-limited = 驻留 warp：{ $held }，受{ $limiters }限制，上限 { $most }。
ncu-kernel-tensor = tensor core { $tensor }。
ncu-limit-registers = 寄存器
ncu-limit-shared = 共享内存
ncu-limit-warps = 线程块大小
ncu-limit-blocks = 线程块数量
ncu-limit-barriers = 屏障数量

## warp 在等什么

ncu-stall-selected = 指令本身
ncu-stall-not-selected = 轮到自己（其他 warp 先发射）
ncu-stall-long-scoreboard = 显存数据 (long scoreboard)
ncu-stall-short-scoreboard = 共享内存或特殊函数 (short scoreboard)
ncu-stall-barrier = 屏障处的其他 warp
ncu-stall-math-pipe = 被占用的运算管线
ncu-stall-mio = 通往共享内存和特殊函数的队列 (MIO)
ncu-stall-lg = 通往显存的队列 (LG)
ncu-stall-tex = 通往纹理单元的队列
ncu-stall-wait = 指令之后的固定延迟
ncu-stall-no-instruction = 下一条指令（指令缓存）
ncu-stall-constant = 常量（常量缓存）
ncu-stall-branch = 分支目标
ncu-stall-membar = 内存屏障
ncu-stall-drain = 最后的写入
ncu-stall-dispatch = 分派单元
ncu-stall-gmma = 本 warp 组的矩阵乘法 (GMMA)
ncu-stall-sleeping = 休眠结束
ncu-stall-misc = 其他原因

## 没有覆盖到的，以及证据

ncu-title-missing = trace 里有、但没有测量的 kernel
ncu-title-evidence = 证据
ncu-warned = Nsight Compute：{ $text }
