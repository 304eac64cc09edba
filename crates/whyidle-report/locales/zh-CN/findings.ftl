# 结论、疑点、证据、处方和账本说明：crates/whyidle-diagnosis 产生的消息。
# 那边的 id 用 “.”，这里的键用 “-”。
#
# 拼接：say-waits 把 because-* 接在等待时长之后（“131 ms 在等数据”），say-inefficient 把它接在冒号之后；
# say-change 由处方（不带句号）加收益组成，limit-* 接在 “之后” 后面。

## 结论

say-healthy = 每步 { $step }，GPU 有效工作占 { $working }，基本没有在等谁。
say-waits = 每步 { $step }：GPU 有效工作 { $working }，另有 { $waiting } { $because }。
say-waits-somewhere = 每步 { $step }：GPU 有效工作 { $working }，{ $waiting } 的时间在等。
say-inefficient = 计算本身可以更省：{ $because }。
say-change = { $change }，单步预计约 { $after }（{ $low }–{ $high }）；之后{ $limit }。
say-change-bound = { $change }，单步最多降到约 { $after }（{ $low }–{ $high }）；之后{ $limit }。
say-no-gain = { $change }：单做这一项还看不到明显收益，因为{ $limit }。

## GPU 在等谁，或者计算哪里不划算

because-data-in_process = 在等数据 —— 样本由训练进程自己准备
because-data-workers = 在等数据 —— DataLoader worker 供不上
because-data-transfer = 在等 H2D 拷贝
because-host-launch = 在等 kernel 启动 —— kernel 太短，CPU 来不及启动下一个
because-host-sync = 在等 CPU —— CPU 停下来从 GPU 取值，回头就落后了
because-host-python = 在等 kernel 启动间隙的 Python 代码
because-host-gc = 在等 Python 的垃圾回收
because-host-optimizer = 在等优化器 —— 它逐个更新参数
because-memory-allocator = 在等显存分配 —— 每步都在向驱动申请或归还显存
because-memory-recompute = 激活值算了两遍，而显存可能本来就够
because-memory-headroom = batch 偏小，显存大半空着
because-compile-recompile = 在等编译器 —— step 内还在编译
because-io-checkpoint = 在等保存 checkpoint
because-io-logging = 在等写日志
because-comm-exposed = 在等没有被掩盖的通信
because-comm-unbucketed = 在等梯度归约 —— 次数多、数据小，又没有被掩盖
because-comm-accumulation = 在等梯度归约 —— 每个 micro-batch 都做一次
because-comm-sharding = 在等分片的参数和梯度在 rank 之间传输
because-comm-unsplit = 花在集合通信里 —— 在传输，或在等其他 rank
because-pipeline-bubble = 在等流水线的相邻级
because-compute-precision = 数值精度用得不划算（fp32 矩阵乘，或 bf16 不需要的梯度缩放）
because-compute-attention = attention 是手写展开的，整个分数矩阵都要读写显存
because-compute-elementwise = 大量访存受限的逐元素运算可以融合
because-compute-alignment = 矩阵乘的尺寸没有对齐 tensor core
because-compute-padding = 一部分计算花在填充 (padding) 上
because-compute-bound = 找不到单一的原因
because-unknown = 在等，但从 trace 看不出在等谁

## 之后的瓶颈

limit-data-in_process = 瓶颈是主进程内准备数据
limit-data-workers = 瓶颈是 DataLoader worker
limit-data-transfer = 瓶颈是 H2D 拷贝
limit-host-launch = 瓶颈是 kernel 启动
limit-host-sync = 瓶颈是同步点
limit-host-python = 瓶颈是 Python 代码
limit-host-gc = 瓶颈是垃圾回收
limit-host-optimizer = 瓶颈是优化器的 CPU 侧开销
limit-memory-allocator = 瓶颈是显存分配
limit-memory-recompute = 瓶颈就是 GPU 本身
limit-memory-headroom = 瓶颈就是 GPU 本身
limit-compile-recompile = 瓶颈是编译
limit-io-checkpoint = 瓶颈是保存 checkpoint
limit-io-logging = 瓶颈是写日志
limit-comm-exposed = 瓶颈是通信
limit-comm-unbucketed = 瓶颈是通信
limit-comm-accumulation = 瓶颈是通信
limit-comm-sharding = 瓶颈是通信
limit-comm-unsplit = 瓶颈是通信
limit-pipeline-bubble = 瓶颈是流水线
limit-compute-precision = 瓶颈就是 GPU 本身
limit-compute-attention = 瓶颈就是 GPU 本身
limit-compute-elementwise = 瓶颈就是 GPU 本身
limit-compute-alignment = 瓶颈就是 GPU 本身
limit-compute-padding = 瓶颈就是 GPU 本身
limit-compute-bound = 瓶颈就是 GPU 本身

## 疑点

doubt-near-threshold = 各项等待合计占单步的 { $share }，离健康与否的分界 { $threshold } 很近。
doubt-starved = profiler 启动期间 DataLoader 队列已经攒满，从这个窗口看不出长期的单步耗时；占比以 trace 中的单步为准。
doubt-ranks = 节奏由集合通信决定，单个 rank 的 trace 分不清其中有多少是在等被 profiler 拖慢的其他 rank：不知道未开 profiler 的单步，占比以 trace 里的单步为准。
doubt-items = 单步的大部分时间用于在训练进程里准备样本，而样本的代价在不同窗口里差别很大：不知道未开 profiler 的单步，占比以 trace 里的单步为准。
doubt-queues = 单步由 trace 里的 { $steps } 步估算；profiler 启动期间 DataLoader 的队列会攒满，长期供不上数据的情况可能看不出来。
doubt-no-steps = 没有识别出单步：整个窗口算作一步，其中开头或结尾的内容也计算在内。
doubt-traced = 未开 profiler 的单步耗时未知；占比以 trace 中的单步为准，而 profiler 把它拉长了。
doubt-estimated = 未开 profiler 的单步耗时由 trace 估算；实测后可用 --step-ms 给出。
doubt-uncalibrated = profiler 把这些 step 拉长了，而它的开销不是在这种 profiler 或机器上标定的：未开 profiler 的单步耗时未知，占比以 trace 中的单步为准。
doubt-replay = 回放与 trace 中的单步耗时相差 { $error }（上限 { $limit }），不据此预测收益。
doubt-slack = trace 的单步中有 { $error } 是依赖关系解释不了的时间（上限 { $limit }），不根据回放预测收益。
doubt-unrecorded = trace 的单步中有 { $error } 处于 CUDA graph 内部而 profiler 没有任何记录（上限 { $limit }），不根据回放预测收益。
doubt-not-replayed = 按要求没有回放：不预测收益，也不估算单步耗时。
doubt-no-replay = 这份 trace 无法回放，没有回放预测的收益。
doubt-unrepresentative = trace 中的单步（{ $traced }）比真实的单步（{ $step }）短，一部分等待落在这个窗口之外。
doubt-one-rank = 集合通信的时间要么是传输，要么是在等其他 rank；只凭一个 rank 的 trace 分不清。

## 证据

ev-line = trace 中每步 { $time }（占 { $share }）
ev-place = { $count ->
    [0] { $name }：trace 中每步 { $time }
   *[other] { $name }：trace 中每步 { $time }，{ $count } 处空隙
}
ev-place-frame = { $count ->
    [0] { $frame }：trace 中每步 { $time }
   *[other] { $frame }：trace 中每步 { $time }，{ $count } 处空隙
}
ev-place-both = { $count ->
    [0] { $name }，调用自 { $frame }：trace 中每步 { $time }
   *[other] { $name }，调用自 { $frame }：trace 中每步 { $time }，{ $count } 处空隙
}
ev-place-unnamed = { $count ->
    [0] 没有算子在运行：trace 中每步 { $time }
   *[other] 没有算子在运行：trace 中每步 { $time }，{ $count } 处空隙
}
ev-data-outside = 另有每步 { $time } 落在采集窗口之外：真实的单步比 trace 中的长
ev-copies = 每步 { $count } 次拷贝到 GPU，共 { $bytes }、{ $time }；{ $pageable ->
    [0] 没有一次来自可分页内存
   *[other] 其中 { $pageable } 次来自可分页内存
}
ev-copies-unnamed = 每步 { $count } 次拷贝到设备，共 { $bytes }、{ $time }；trace 没有记录来自哪种内存
ev-copy-rate = 这些拷贝的速率是 { $rate } GB/s
ev-launches = 每步 { $launches } 个 kernel，一半短于 { $kernel }
ev-launch-pace = trace 中 CPU 每隔 { $time } 启动一次（中位数，含 profiler 开销）
ev-short-kernels = { $share } 的 kernel 比两次启动的间隔还短
ev-sync = { $name } 每步让 CPU 等 GPU { $count } 次
ev-sync-at = { $name }，调用自 { $frame }：每步让 CPU 等 GPU { $count } 次
ev-python-long = trace 中每步有 { $count } 段较长的时间没有算子在运行，共 { $time }
ev-optimizer-kernels = 优化器每步启动 { $kernels } 个 kernel，而参数张量约 { $tensors } 个
ev-allocator-calls = 每步向驱动申请显存 { $takes } 次，归还 { $returns } 次
ev-recompute-without = 不重算的话，峰值约 { $bytes }（{ $low }–{ $high }），显存共 { $capacity }：由实测单步推算
ev-headroom-fits = 显存 { $capacity } 只用了 { $used }：batch { $from } → { $to } 放得下（预计 { $bytes }，{ $low }–{ $high }）
ev-recompute-kernels = trace 中有 { $count } 个 kernel 在反向里重做前向
ev-memory-used = 峰值时用掉这块 GPU { $share } 的显存
ev-compilations = 采集窗口内编译了 { $count } 次
ev-collectives = 每步 { $count } 次集合通信，共 { $time }
ev-collectives-hidden = 其他工作掩盖了这段时间的 { $share }
ev-collective-bytes = 每步通信 { $bytes }（以 trace 的记录为准）
ev-comm-one-rank = 只有一个 rank 的 trace，分不清传输和等待：这段时间是上限
ev-micro-batches = 每步 { $count } 个 micro-batch
ev-bubble-ideal = { $stages } 级、{ $micro } 个 micro-batch，光是填充和排空就占单步的 { $share }
ev-sharding = 每步 { $gathers } 次 all-gather（其中 { $again } 次是为反向再做一遍），{ $scatters } 次 reduce-scatter
ev-device-wait = 每步有 { $time } 工作已经排队而 GPU 没有开始：在等其他 stream 的事件、其他 rank，或 trace 里没有的工作
ev-kernels-time = 涉及每步 { $count } 个 kernel，共 { $time }
ev-shape = { $operator }，输入 { $inputs }：每步 { $time }
ev-frame = 启动自 { $frame }：每步 { $time }
ev-rates = 达到 { $achieved } TFLOP/s，这里本可达到 { $possible }
ev-tf32-alone = 只开 TF32，每步可省 { $time }
ev-casts = 每步 { $count } 次类型转换，共 { $time }
ev-casts-time = 类型转换每步占 { $time }
ev-grad-scaler = 梯度缩放每步占 { $time }，而 bf16 不需要它
ev-scores = { $queries } × { $keys } 的分数矩阵要读写显存，每次 { $bytes }
ev-bytes-moved = 每步读写 { $now }；融合后只需 { $after }
ev-layout-copies = { $caller } 每步做 { $count } 次布局拷贝，共 { $time }
ev-side = 矩阵乘有一维是 { $side }，对齐后是 { $padded }
ev-shapes-vary = 各步处理 { $fewest } 到 { $most } 个 token 或元素，共 { $distinct } 种形状
ev-padded-share = 如果每步都填充到最长，填充会占计算量的 { $share }

## 处方：一行。不带句号，后面可以接 “，单步预计约……”

fix-data-in-process = 让 worker 进程加载数据：num_workers 从 0 改为 { $workers }
fix-data-workers = num_workers 从 { $from } 加到 { $to }
fix-data-workers-unknown = 增加 DataLoader worker，或降低单个样本的处理开销
fix-data-transfer-pageable = 把 batch 放进锁页内存，拷贝用 non_blocking=True
fix-data-transfer-unnamed = 从锁页内存拷贝，并用 non_blocking=True：trace 没有记录这些拷贝来自哪种内存
fix-data-transfer-pinned = 用单独的 stream 拷贝下一个 batch，与当前计算并行
fix-host-launch = 一次启动更多工作：用 torch.compile(mode="reduce-overhead") 启用 CUDA graphs，或增大 batch
fix-host-launch-graphs = 已经用了 CUDA graphs：把仍在逐个启动的部分也放进图里，或增大 batch
fix-host-launch-hip = 一次启动更多工作：用 torch.compile(mode="reduce-overhead") 启用 HIP graphs，或增大 batch
fix-host-launch-graphs-hip = 已经用了 HIP graphs：把仍在逐个启动的部分也放进图里，或增大 batch
fix-host-launch-batch = 一次启动更多工作：增大 batch，或用更少、更大的算子
fix-host-sync = 少从 GPU 取值，或者不取
fix-host-python = 把启动间隙的 Python 工作移出 step，或放到 GPU 上
fix-host-python-at = 看看 { $function }：把其中的 Python 工作移出 step，或放到 GPU 上
fix-host-gc = 用 gc.freeze() 冻结存活对象，关掉自动回收，每一千步回收一次
fix-host-optimizer = 改用 fused 优化器：fused=True
fix-host-optimizer-8bit = 显存够的话，用 fused 优化器代替 8-bit 优化器（它每步都要量化每个参数）
fix-memory-allocator = 从 step 里去掉 empty_cache()，并保持形状稳定
fix-memory-allocator-grow = 保持形状稳定，或设置 expandable_segments:True，让每步都能从缓存里拿到显存
fix-memory-allocator-shapes = 保持形状稳定，让每步都能从缓存里拿到显存
fix-memory-recompute = 关掉梯度检查点（显存够用）
fix-memory-recompute-full = 别处能省出显存的话，少用几层梯度检查点
fix-memory-recompute-unknown = 峰值放得下的话，关掉梯度检查点
fix-memory-headroom-planned = 试试把 batch 从 { $from } 加到 { $to }：放得下，峰值约 { $bytes }
fix-memory-headroom = 试试 { $factor } 倍的 batch
fix-compile-recompile = 避免在 step 里编译：用 dynamic=True，或只用几种固定形状
fix-io-checkpoint = 异步保存，或降低保存频率
fix-io-logging = 少写日志，先攒起来再写
fix-comm-exposed = 减少梯度归约的次数：用 micro-batch 做梯度累积
fix-comm-overlap = 让这些集合通信更早开始，或在此期间给 GPU 安排别的计算
fix-comm-unbucketed = 把每步 { $count } 次归约合成梯度桶，与反向重叠
fix-comm-accumulation = { $micro } 个 micro-batch 只在最后一个归约：其余放进 no_sync()
fix-comm-sharding = 前向之后保留参数（reshard_after_forward=False），或少分片
fix-comm-sharding-less = 在更少的 rank 上分片，或更早预取
fix-comm-unsplit = 提供其他 rank 的 trace：放在一起才分得清传输和等待
fix-pipeline-bubble = 每步用 { $micro } 个 micro-batch
fix-compute-precision = 前向和 loss 放进 { $type } autocast
fix-compute-precision-scaler = 去掉 GradScaler（bf16 不需要它）
fix-compute-attention = 把手写展开的 attention 换成 F.scaled_dot_product_attention
fix-compute-elementwise = 用 torch.compile 融合这些小算子
fix-compute-alignment = 把矩阵乘的尺寸补到 64 的倍数
fix-compute-alignment-side = 把 { $side } 这一维补到 { $padded }
fix-compute-padding = 把长度相近的样本放进同一个 batch，或做序列打包

## 处方：具体步骤和容易踩的坑

fix-data-ahead = 如果分词或解码是在 DataLoader 里做的，就在训练前一次性做完：之后加载只剩读取。
fix-data-main-guard = worker 是进程：脚本要用 if __name__ == "__main__" 保护，而且每个 worker 都会有一份 Dataset 的 Python 对象。
fix-data-threads = 每个 worker 只用一个线程：torch.set_num_threads(1)、TOKENIZERS_PARALLELISM=false。
fix-data-cores = 做计算的 worker 各要占一个核；等存储的 worker 可以远多于核数。
fix-data-shards = 打包数据集有多少分片，就最多用多少 worker，再多没有作用。
fix-transfer-stream = 拷贝只有在另一个 stream 上，或 CPU 有提前量时，才能与计算重叠。
fix-transfer-smaller = 传小的数据类型，到 GPU 上再转换：图像用 uint8，token 用 int32。
fix-transfer-trap = 锁页本身也花 CPU 时间；拷贝本来就被掩盖时，锁页没有收益。
fix-launch-batch = 增大 batch 让 kernel 变长，启动次数不变。
fix-launch-static = CUDA graphs 要求静态形状，图内不能取值。
fix-launch-static-hip = HIP graphs 要求静态形状，图内不能取值。
fix-launch-queue = torch_npu 的任务队列（TASK_QUEUE_ENABLE）用第二个线程启动：确认没有把它关掉。
fix-launch-accumulation = 梯度累积不会让 kernel 变长；不带 CUDA graphs 的编译不一定有用。
fix-launch-outside-graph = 逐参数的梯度累加和优化器都在图外：fused=True 能缩短优化器这部分。
fix-sync-where = 查找 .item()、.cpu()、.tolist()、print(tensor)、用 tensor 做 if 判断，以及读取 clip_grad_norm_ 的返回值。
fix-sync-masks = nonzero() 和布尔掩码索引要把大小读回 CPU；torch.where 不用离开 GPU。
fix-sync-limit = 同步的代价只是失去的提前量；启动开销受限的单步里，这点代价很小。
fix-python-stacks = 用 with_stack=True 采集：只有调用栈能指出函数。
fix-python-move = 改成向量化，移到 DataLoader worker 里，或每 N 步做一次。
fix-gc-freeze = 初始化完成后调用 gc.freeze()，长期存活的对象不再参与之后的回收。
fix-gc-trap = 关掉回收后循环引用会越积越多：注意内存，并让所有 rank 在同一步回收。
fix-optimizer-foreach = 不支持 fused 的优化器，退而用 foreach=True。
fix-optimizer-trap = 瓶颈是 GPU 时，fused 优化器只省下自身 kernel 的那点时间。
fix-allocator-shapes = 形状一变，缓存分配器就找不到合适的块：填充到固定长度，或做长度分桶。
fix-allocator-trap = empty_cache() 放不掉张量还占着的显存，只会让下一步再向驱动申请。
fix-recompute-selective = 显存介于两者之间时，每两个 block 只重算一个，或只重算 attention。
fix-recompute-rule = 激活值超过显存约 40% 时，梯度检查点才划算；显存留出 10–15%。
fix-headroom-rate = 更大的 batch 会改变优化过程：调整学习率，并在样本数相同时比较。
fix-headroom-knee = 过了拐点，kernel 已经占满 GPU，再加 batch 也不会更快。
fix-recompile-logs = TORCH_LOGS=recompiles 会指出是哪个 guard 失效。
fix-recompile-buckets = 长度分桶或填充到几种形状：每种形状只编译一次。
fix-recompile-warm-up = 最初几步编译是正常的：预热之后再采集。
fix-checkpoint-async = torch.distributed.checkpoint.async_save 先拷到锁页内存，再在后台写盘。
fix-checkpoint-less = 在保存间隔和出故障要重跑的工作量之间权衡。
fix-logging-buffer = 让另一个线程去写，隔一段时间再 flush。
fix-logging-values = 要记录的值先留在 GPU 上，攒够了一起取。
fix-comm-accumulate = 梯度累积会增大等效 batch；BatchNorm 统计的仍是单个 micro-batch。
fix-comm-compress = 梯度用 bf16 通信，字节数减半（bf16_compress_hook）。
fix-comm-ranks = 提供所有 rank 的 trace，才能区分传输和等待拖后腿的 rank。
fix-comm-overlap-how = 异步启动（async_op=True），到用结果的地方才 wait；让下一个 batch 的交换与当前 batch 的计算重叠。
fix-unbucketed-ddp = DistributedDataParallel 自带梯度桶和重叠；自己写的逐参数循环两样都没有。
fix-unbucketed-foreach = 如果必须保留循环，先把梯度拼平，再归约一次。
fix-no-sync-memory = FSDP 下，no_sync() 会把未分片的梯度留在显存里：先看显存够不够。
fix-sharding-memory = 保留参数，就要在前向到反向之间占着完整参数的显存。
fix-sharding-prefetch = 分片单元越大，all-gather 次数越少；预取让它更早开始。
fix-sharding-stage = 单机有高速互连（NVLink、XGMI）时，ZeRO-2（参数不分片）往往比 ZeRO-3 快。
fix-unsplit-all-ranks = 所有 rank 采集相同的 step，trace 放进同一个目录，再把这个目录交给 whyidle。
fix-bubble-interleave = 交错调度能缩小气泡，代价是传输更多。
fix-bubble-balance = 各级不均时都在等最慢的一级；增加 micro-batch 解决不了。
fix-bubble-memory = GPipe 要保存全部 micro-batch 的激活值；1F1B 最多只保存与级数相同的份数。
fix-precision-tf32 = 必须保留 fp32 的话：TF32 数值范围不变，只有矩阵乘的输入被舍入。
fix-precision-loss = 改完后对比 loss 曲线；autocast 下求和、归一化和 softmax 仍用 fp32。
fix-precision-scaler = bf16 不需要 GradScaler，fp16 需要。
fix-attention-mask = is_causal=True 能走快速路径；传入掩码张量可能就走不了。
fix-attention-module = transformers 中设 attn_implementation="sdpa" 或 "flash_attention_2"。
fix-attention-trap = head 宽度超过 256 以及某些掩码会退回慢 kernel：改完后看一下 kernel 名称。
fix-elementwise-warm-up = 最初几步要编译，最多几分钟：测量时不要算进去。
fix-elementwise-breaks = graph break 会打断融合：TORCH_LOGS=graph_breaks 会指出位置。
fix-elementwise-library = 不编译的话：用 F.layer_norm、F.gelu 或融合算子库代替手写公式。
fix-alignment-vocabulary = 词表补出来的项不对应任何 token：屏蔽它们的 logits，或不训练它们。
fix-alignment-trap = 只有相对规模偏慢的矩阵乘才值得补齐；零星几个不整齐的尺寸不花时间。
fix-padding-pack = 多个序列打包进一行就没有填充；attention 掩码必须把它们隔开。
fix-padding-shapes = 只分几档长度，形状也就稳定，torch.compile 和 CUDA graphs 都用得上。

## 账本说明

det-place = { $name }

## -v 的统计

stat-launches = 每步 { $launches } 个 kernel；kernel 长度中位数 { $kernel }；每隔 { $between } 启动一次（中位数，含 profiler 开销）
stat-occupancy = 整个 trace：{ $span }，其中驻留 { $resident }，计算 { $compute }，通信 { $communication }，两者同时 { $overlap }
stat-latency = stream 空闲时，kernel 在启动后 { $latency } 开始；排队的 kernel 前后相隔 { $gap }（中位数）
stat-backlog = { $count } 个 GPU 活动（{ $time }）在 trace 开始前启动，不属于任何 step
stat-pageable-copies = { $count } 次以异步方式调用、却涉及可分页内存的拷贝，调用因此会等待：GPU 上共 { $time }，最长 { $longest }
stat-sync-copies = { $count } 次由会等待的调用发起的拷贝：GPU 上共 { $time }，最长 { $longest }
stat-sync-memsets = { $count } 次由会等待的调用发起的 memset：GPU 上共 { $time }，最长 { $longest }
stat-blocking-calls = { $count } 次调用在等待设备、stream 或 event：CPU 侧共 { $time }，最长 { $longest }；其中多少真正造成损失，以时间账本为准
stat-long-gaps = { $count } 段不短于 { $least } 的空隙：共 { $time }，最长 { $longest }
stat-little-used = 把时间分成 { $all } 段（每段 { $length }），其中 { $count } 段 GPU 忙碌不到 { $share }
stat-os-calls = 每步 { $waits } 的等待中，发起 kernel 的线程有 { $time } 处于操作系统调用：{ $calls }
stat-os-call = { $name } { $time }
stat-os-unnamed = 未知名称的函数
stat-os-preempted = 这些等待中，每步有 { $time } 该线程不在系统调用里，却没有占到 CPU 核：核上在跑别的线程
stat-os-samples = 这些等待中对该线程的 { $count } 次采样：{ $functions }
stat-os-function = { $name } { $share }

## 关于 step 的说明

note-step-no-start = 第 { $step } 步未采用：它在 GPU 上的开头早于 trace。
note-step-profiler-start = 第 { $step } 步未采用：profiler 正在启动。
note-step-no-end = 第 { $step } 步未采用：trace 里没有它的结尾。
note-backlog = { $count } 个 GPU 活动（{ $time }）在 trace 开始前启动，不属于任何 step。
note-outliers = 有 { $count } 个 step 明显偏长（{ $steps }）：最长 { $longest }，中位数 { $median }。
note-outliers-periodic = 每隔 { $period } 个 step 就有一个明显偏长（{ $steps }）：最长 { $longest }，中位数 { $median }。
note-no-critical-path = 没有关键路径：回放不能足够准确地重现这份 trace。
note-not-judged = 在这种设备（{ $vendor }）上没有判断 { $count } 项原因，因为其依据是否成立未知：{ $causes }。
note-graph-unrecorded = 单步中有 { $share } 处于 CUDA graph 内部而 profiler 没有任何记录；账本把它记为等待，但 GPU 可能一直在工作。
note-one-step = 只有一个完整的 step 可供分析：不知道各步相差多少。
note-unexplained = trace 中的单步有 { $share } 找不到任何解释。
note-no-stacks = 单步有 { $share } 的时间没有算子在运行：只有用 with_stack=True 采集的 trace 才能指出 Python 函数。

fix-host-launch-prepares = 别让形状变来变去：{ $operator } 每遇到新形状都要先在 CPU 上做准备
fix-launch-first-use = 任何 kernel 或形状第一次用都慢：预热之后再采集，每种形状都先跑一遍。
ev-operator-prepares = { $operator } 在启动任何 kernel 之前，trace 中每步要在 CPU 上连续忙 { $time }
ev-read-back = 每步把 { $count } 个张量（共 { $bytes }）拷回 CPU：只有保存 checkpoint 才会回读这么多

doubt-lost-activities = 这些 step 里启动的 kernel 有 { $share } 不在 trace 中。
doubt-early-activities = { $share } 的 GPU 活动比自己的启动还早：CPU 与 GPU 的时钟对不上。
doubt-lengthless = trace 里 { $share } 的 kernel 没有时长。
doubt-unexplained = 每步有 { $share } 的时间在 trace 里找不到解释。
doubt-suspected-loader = 真实的 step 比 trace 里多等 { $time }，这段等待在 trace 里看不到：profiler 启动时 DataLoader 的队列会填满，所以怀疑 worker；但采集窗口之外的评估、保存或更长的 batch 也会造成同样的现象。
note-other-runs = 这个目录下还有 { $count } 次运行：读的是最新的一次，{ $path }。
note-input-left-out = { $path } 没有采用：{ $reason }
