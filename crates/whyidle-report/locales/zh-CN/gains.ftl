# 每种处方的收益如何预测：`whyidle explain CAUSE`。用什么模型、依据是什么、没有考虑什么。

gain-data-in_process = 去掉训练进程里的数据准备后回放。单步不会短于“每个 batch 的准备时间 × 1.25 ÷ worker 数（或可用核数）”：worker 与训练进程共享缓存和内存带宽，旁边有 4 个 worker 时，同样的工作慢 10–27%。区间上限也按这个倍数放慢 CPU 侧。
gain-data-workers = 去掉等待后回放。如果现在由 worker 决定节奏，n 个 worker 的产出是现在的 n ÷ 现有个数倍，但不超过核数，单步不会短于这个节奏；现有个数取自采样记录。prefetch 只能抹平 batch 之间的波动，不提高产出。如果等待只出现在采集窗口之外，那只是怀疑，收益是上限。
gain-data-transfer = 回放时 CPU 既不做中转，也不等 H2D 拷贝。拷贝仍在 GPU 上进行，速度取 trace 中锁页内存拷贝的实测值，没有则取 25 GB/s（PCIe 4.0 ×16）。之后 DataLoader 要写锁页内存，它写得多快 trace 里看不出来。
gain-host-launch = 回放时前向和反向以 CUDA graph 启动：两次启动之间 CPU 的工作消失，每个 kernel 只占 graph 启动的 0.9 µs（H200、CUDA 13：1 000 个节点 0.6–1.2 ms）；超过 0.5 ms 的长段、优化器、数据加载和梯度累加保留。`fused`：改为融合逐元素算子，被融合掉的 kernel 连同启动一起消失。启动开销因机器而异，大约相差单步的一成。
gain-host-sync = 回放时 CPU 不再等待，也不再拷回数值。如果本来就受 kernel 启动限制，只能拿回同步毁掉的提前量；如果瓶颈是 GPU，则没有收益。
gain-host-python = 去掉没有任何算子在运行的长段（0.5 ms 以上）后回放。给出名字时：去掉名字包含它的栈帧、算子或标注里的一切。
gain-host-gc = 去掉垃圾回收后回放。
gain-host-optimizer = 回放时改成一次融合的更新：每个参数张量 CPU 侧 10 µs（torch 2.11），每个参数搬运的字节从 80 降到 28（AdamW 读 4 个值、写 3 个，各一次）。CPU 侧的部分因机器而异，大约相差单步的一成。
gain-memory-allocator = 去掉向驱动申请和归还显存的调用，以及它们强制的等待后回放。
gain-memory-recompute = 去掉第二遍前向后回放：它的 kernel、启动和 CPU 侧的工作。显存够不够另外判断。
gain-memory-headroom = 回放时 kernel、拷贝和每个 batch 的数据准备都变成 k 倍，CPU 启动的次数不变，再除以 k。没有占满 SM 的 kernel 增长得更少，所以这是增大 batch 至少能带来的收益。优化器和集合通信不随 batch 增长。
gain-compile-recompile = 去掉 step 内的编译后回放。
gain-io-checkpoint = 去掉把状态拷到内存和写盘后回放：这些由另一个线程完成。
gain-io-logging = 去掉写日志后回放。
gain-comm-exposed = k 个 micro-batch 共用一次归约和一次优化器更新：集合通信、优化器以及 DDP reducer 为每个参数做的工作都除以 k，按今天的样本数回放。单个 rank 的集合通信里也包含等待其他 rank 的时间。如果没有未被掩盖的 all-reduce：假设集合通信全部被掩盖后回放，是上限。
gain-comm-unbucketed = 回放时把归约合并成 25 MB 的梯度桶，除最后一个外都被反向掩盖；传输按见过的最高速率计算，单步不会短于传输总和。是上限。
gain-comm-accumulation = 回放时只在最后一个 micro-batch 里做集合通信。是上限：其中包含等待其他 rank 的时间。
gain-comm-sharding = 去掉第二次参数 all-gather 后回放：它的 kernel、启动，以及 FSDP2 标注出来的前后拷贝。是上限：其他 rank 的等待会随之变化。
gain-pipeline-bubble = p 级、各级均衡、m 个 micro-batch 时，填充和排空占单步的 (p − 1) ÷ (m + p − 1)（GPipe，Huang 等 2019；1F1B 相同，Narayanan 等 2021）。每个样本的工作量不变。各级不均衡造成的那部分气泡不随 m 减少。
gain-compute-precision = 矩阵乘和 attention 的 FLOPs 按 16 位类型的速率计算：trace 里有这类算子就用它的实测值，否则用该型号的标称值。autocast 增加的类型转换按字节数和 65% 的显存带宽计算，逐元素算子按 autocast 会给出的类型计算。经过回放；区间上限允许 CPU 侧工作翻倍。`tf32`：只有矩阵乘，按 TF32 的速率。
gain-compute-attention = 写出、加掩码、读取分数矩阵的 kernel 消失，FLOPs 按融合 attention 的速率计算（trace 里有就用实测值）。经过回放。
gain-compute-elementwise = 编译器融合矩阵乘之间的一切：边界上的每个张量只搬运一次，按生成的 kernel 能达到的带宽计算。连同消失的启动一起回放。
gain-compute-alignment = 补齐后的矩阵乘（含补齐部分的 FLOPs）按 trace 中同类型其他矩阵乘的速率计算。经过回放。
