# 手工构造的结论所用的消息。

sample-starved = 每步 { $step }：GPU 有效工作 { $working }，等数据 { $wait }：{ $workers } 个 DataLoader worker 供不上。
sample-more-workers = 加到 { $to } 个 worker，单步预计约 { $after }（{ $range }）；之后瓶颈就是 GPU 本身。
sample-healthy = 每步 { $step }，其中 GPU 有效工作 { $working }：没有在等谁。
sample-launch = 每步 { $step }：GPU 有效工作 { $working }，等下一次 kernel 启动 { $wait }。
sample-launch-remedy = 把整步捕获成 CUDA graph，单步预计约 { $after }。
sample-detail-workers = { $count } 个 worker
sample-detail-place = { $what }（{ $place }）
sample-detail-named = { $name } { $time }
sample-tokenising = 在分词
sample-queue-filled = profiler 启动期间 DataLoader 队列已经攒满：只看 trace 会高估这次运行。
sample-estimated = 单步耗时由 trace 估算。
sample-near-threshold = 启动开销占 { $share }，距阈值 { $distance }。
sample-evidence-next = 启动线程每步有 { $time } 停在 { $where }。
sample-evidence-batch = 一个 worker 准备一个 batch 要 { $time }。
sample-summary-workers = num_workers 是 { $from }，改为 { $to }：一个 worker 准备一个 batch 要 { $time }。
sample-summary-graph = 每步 { $count } 个 kernel，一半短于 { $time }：合成一个 CUDA graph 启动。
sample-summary-pretokenise = worker 有 { $share } 的时间在分词，而且每个 epoch 都重复一遍。
sample-step-cores = worker 多于核数，只有在它们睡眠时才有用。
sample-launches = 每步 { $count } 次启动；kernel 长度中位数 { $time }。
