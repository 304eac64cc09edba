# 单位、账本各行，以及有固定 id 的词。

## 单位。$value 是数字。

unit-ns = { $value } ns
unit-us = { $value } µs
unit-ms = { $value } ms
unit-s = { $value } s
unit-percent = { $value }%
unit-byte = { $value } B
unit-kib = { $value } KiB
unit-mib = { $value } MiB
unit-tib = { $value } TiB
unit-gib = { $value } GiB

## 连接

list-comma = 、
clause-comma = ，
list-and = 和
sentence-gap = { "" }

## 账本：GPU 在工作

line-working-matmul = 矩阵乘
line-working-attention = attention
line-working-convolution = 卷积
line-working-normalisation = 归一化
line-working-elementwise = 逐元素运算
line-working-reduction = 归约
line-working-softmax = softmax
line-working-embedding = embedding
line-working-loss = 损失函数
line-working-optimizer = 优化器
line-working-recompute = 激活重计算
line-working-copy = 显存内拷贝
line-working-other = 其他

## 账本：GPU 在等

line-data-in_process = 主进程内准备数据
line-data-workers = 等数据
line-data-transfer = H2D 拷贝
line-host-launch = 等 kernel 启动
line-host-sync = 同步点
line-host-python = kernel 启动间隙的 Python
line-host-gc = 垃圾回收 (GC)
line-host-optimizer = 优化器的 CPU 侧工作
line-memory-allocator = 显存分配
line-compile-recompile = 编译
line-io-checkpoint = 保存 checkpoint
line-io-logging = 写日志
line-gpu-wait = 等 GPU 事件
line-comm-unsplit = 集合通信
line-host-gil = 等 GIL
line-host-contention = 等 CPU 核
line-run-epoch = 重启 DataLoader worker

## 账本：其余

line-rest-latency = kernel 间的停顿
line-rest-profiler = profiler 自身
line-rest-outside = 不在这段 trace 里
line-rest-unexplained = 未解释

## 单步耗时的来源

basis-given = 单步耗时由用户给出
basis-given-range = 单步耗时由用户给出，{ $range }
basis-measured = 未开 profiler 实测
basis-measured-range = 未开 profiler 实测，{ $range }
basis-estimated = 由 trace 估算
basis-estimated-range = 由 trace 估算，{ $range }
basis-traced = trace 中的耗时，含 profiler 开销

## 收益的算法

method-replay = 回放
method-model = 模型
method-bound = 上限

## 可信度

confidence-high = 高
confidence-medium = 中
confidence-low = 低

## 改动。$setting 形如 “2 → 12”，也可能为空；$cause 是原因的名称。

change-workers = num_workers { $setting }
change-pretokenise = 训练前预先分词
change-removed = 消除：{ $cause }
change-deferred = 推迟{ $cause }
change-pinned = 锁页内存 + non_blocking 拷贝
change-overlapped = 拷贝与计算重叠
change-cuda_graphs = CUDA graphs
change-hip_graphs = HIP graphs
change-compile = torch.compile
change-fused = fused 优化器
change-batch = batch { $setting }（按今天的样本数计）
change-autocast = autocast { $setting }
change-tf32 = { $setting }
change-sdpa = scaled_dot_product_attention
change-padded = 尺寸对齐 { $setting }
change-no_recompute = 关闭梯度检查点
change-accumulation = 梯度累积 { $setting }
change-no_sync = micro-batch 内用 no_sync()
change-overlap = 通信与计算重叠
change-sharding = 减少分片 { $setting }
change-micro_batches = micro-batch 数 { $setting }
change-straggler = 消除拖后腿的 rank
change-link = 路径恢复正常速度
change-gc = 冻结 GC 对象，或每 N 步回收一次
change-allocator = 稳定显存分配
change-dynamic_shapes = 固定形状或 dynamic 形状
change-async_checkpoint = 异步 checkpoint
change-log_interval = 降低日志频率 { $setting }

# 大数：10 的幂和写法。

scale-large = 8
scale-middle = 4
unit-large = { $value } 亿
unit-ones = { $value } 个
unit-middle = { $value } 万
