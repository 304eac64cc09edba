# 多个 rank 放在一起看。

## 各 rank 的表
report-rank-rank = rank
report-rank-step = 单步
report-rank-working = 有效工作
report-rank-last = 最后到达
report-rank-waits = 等别人
report-rank-caused = 让别人等
report-rank-pace = 自身步调
report-rank-last-of = { $last }/{ $of }
report-together-matched = { $share } 的集合通信已配对，依据：{ $how ->
    [sequence] 序列号
    [order] 先后顺序
   *[step] step 与先后顺序
}
report-clocks-unknown = 时钟未比较
report-clocks-agree = 时钟相差不超过 { $error }
report-clocks-apart = 时钟最多相差 { $apart }（± { $error }）
report-clocks = 时钟
report-clock = rank { $first }–{ $last }：比第一个快 { $ahead }（± { $error }），漂移 { $drift } ppm
report-group = { $name }：{ $count } 个 rank，{ $from }–{ $to }
report-pair = rank { $from } 到 rank { $to }
report-transfer = { $kind } { $bytes } × { $count } · { $time } · 总线带宽 { $speed } GB/s · 被掩盖 { $hidden }
report-strategy = 并行方式

strategy-data-parallel = DistributedDataParallel：每次优化器更新有 { $forwards } 次前向、{ $count } 次梯度归约
strategy-no-sync = 只在最后一个 micro-batch 归约梯度（no_sync）
strategy-find-unused = find_unused_parameters=True：每步多归约一张位图；所有参数都用到时应关掉
strategy-copied-gradients = 每步从桶里拷出 { $count } 个梯度：gradient_as_bucket_view=True 可以省掉
strategy-broadcast-buffers = 每步广播 { $count } 次 buffer：若无须一致，用 broadcast_buffers=False
strategy-sharded = FSDP{ $generation }：每步为前向聚合参数 { $forward } 次，为反向 { $backward } 次
strategy-zero = DeepSpeed ZeRO
strategy-replicated = torch.nn.DataParallel 每步都把模型复制到每张 GPU：改用 DistributedDataParallel
strategy-tensor-parallel = 每步前向中有 { $count } 次 all-reduce：张量并行
strategy-pipeline = 各级之间相互收发
strategy-synced = 每步有 { $count } 次集合通信之前，CPU 侧先等 GPU

## 账本、等待、瓶颈
line-comm-exposed = 未被掩盖的传输
line-comm-wait = 等其他 rank
because-comm-link = 花在慢链路上的传输
limit-comm-link = 瓶颈是通信
limit-rank-straggler = 瓶颈是拖后腿的那个 rank
det-ranks = { $count ->
    [one] rank { $ranks }
   *[other] rank { $ranks }
}

## 结论
say-late = rank { $rank } 落后：每步 { $step } 里，其他 rank 要等它 { $waiting }，因为{ $why }。
late-waits = 它自己{ $because }
late-works = 它的计算量是平均值的 { $factor } 倍
late-slower = 同样的 kernel 在它那里跑得更久
late-host = 它的 CPU 侧启动 kernel 更慢

doubt-unmatched = 只有 { $share } 的集合通信在其所有 rank 上找到：其余部分可能是在等某个没有采集的 rank。
doubt-ranks-missing = 还缺作业的 { $count } 个 rank：等它们与传输无法区分。
doubt-ranks-apart = 各 rank 在 trace 里的单步从 { $least } 到 { $most }：同一作业里互相等待的 rank 应当一样长。这些 trace 来自不同的运行，或者不同的 step。

## 证据
ev-straggler-last = rank { $rank } 在 { $of } 次集合通信中有 { $last } 次最后到达，分布在所记录 { $all } 步中的 { $steps } 步；是否一直如此，几步看不出来
ev-straggler-first = 其中 { $share } 发生在每步第一次集合通信：延误出现在它之前，其余出现在两次集合通信之间
ev-straggler-paces = 单独跑，rank { $rank } 每步要 { $own }，其余中最慢的要 { $others }
ev-straggler-because = rank { $rank } 自己{ $because }：trace 里每步 { $time }
ev-straggler-work = 每个 kernel 按同样时长计算，rank { $rank } 的计算量是所有 rank 平均值的 { $factor } 倍
ev-straggler-slower = 同样的 kernel 在 rank { $rank } 上跑得更久：频率、温度，或有别的进程共用这张卡
ev-straggler-host = rank { $rank } 干的活一样多，只是 CPU 侧启动 kernel 更慢
ev-stage-idle = rank { $rank } 在 trace 的每步里有 { $share } 的时间不工作
ev-stage-slowest = 最慢的一级是 rank { $rank }，比平均值高 { $share }；若各级均衡，现有的 micro-batch 数需要 { $balanced }
ev-schedule = 记录到的调度是{ $schedule ->
    [gpipe] GPipe：先做完所有前向，再做所有反向
   *[other] 1F1B：一次前向接一次反向
}
ev-link-speed = { $ranks } 个 rank 之间 { $bytes } 的 { $kind }：总线带宽 { $speed } GB/s，通常应有 { $usual } GB/s
ev-link-path = 按 NCCL 日志，{ $count } 对 rank 走的是慢路径；rank { $a } 与 { $b }：{ $what }
ev-link-hidden = 这些传输有 { $share } 被其他工作掩盖

## 处方
fix-straggler-own = 在 rank { $rank } 上：{ $remedy }
fix-straggler-work = 把计算量分匀：按 token 分，而不是按样本分
fix-straggler-slower = 检查 rank { $rank } 的 GPU：频率、温度、卡上有无其他进程
fix-straggler-host = 检查 rank { $rank } 所在的机器：CPU 核、其他进程、NUMA 绑定
fix-comm-link = 查清这条路径为什么慢：点对点直连、网卡，还是发生了回退
fix-link-p2p = 不要设置 NCCL_P2P_DISABLE 和 NCCL_SHM_DISABLE；`nvidia-smi topo -m` 里 NVLink 显示为 NV#
fix-link-p2p-amd = 不要设置 NCCL_P2P_DISABLE 和 NCCL_SHM_DISABLE；`rocm-smi --showtopo` 能看到哪些 GPU 之间有 XGMI
fix-link-nic = 跨机：选对网卡（NCCL_SOCKET_IFNAME、NCCL_IB_HCA），并启用 GPUDirect RDMA
fix-link-log = 日志会写明每个 channel 走的是 P2P、SHM 还是 NET

## 证据本身
note-rank-twice = 有 { $count } 个 rank 给了两份（rank { $ranks }）：各取第一份 trace。
note-rank-missing = 缺少作业中的 { $count } 个 rank（{ $ranks }）：等不在场的 rank 与传输无法区分。
note-matched-by-order = step 没有编号：集合通信按种类和大小的先后顺序配对。
note-collectives-differ = 有 { $count } 处，各 rank 执行的集合通信不同：输入不均，或者即将卡住。
note-collectives-unknown = { $count } 次集合通信没有写明在哪些 rank 之间，未作比较。
note-no-straggler = rank { $rank } 在 trace 的每步里有 { $share } 的时间在集合通信中等待，但没有谁落后：单独跑，rank { $shown } 每步要 { $own }，rank { $rank } 要 { $other }。开着 profiler 时，CPU 侧稍慢的 rank 会让另一个 rank 的队列一直是满的。
note-windows-apart = { $count ->
    [one] rank { $rank } 的时间似乎相差 { $time }
   *[other] { $count } 个 rank 的时间似乎有偏差，其中 rank { $rank } 相差 { $time }
}，而一步为 { $step }：要么时钟不准，要么它采集的不是同样的步；若是后者，谁迟到就无从判断。
