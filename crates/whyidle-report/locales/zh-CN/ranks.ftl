# flight recorder 和 NCCL 日志反映出的多 rank 情况。

## rank。$list 形如 "0–3, 7"。

ranks-one = rank { $list }
ranks-several = rank { $list }
ranks-one-first = rank { $list }
ranks-several-first = rank { $list }
ranks-number = { $count } 个 rank

## 操作。$name 形如 all_reduce 或 send 0->1，$seq 是组内编号。

ranks-operation = { $name } #{ $seq } ({ $bytes })
ranks-operation-bare = { $name } #{ $seq }
ranks-kind = { $name } { $what }
ranks-kind-bare = { $name }

## 页首

ranks-head-dumps = { $count } 份 dump（{ $ranks }），共 { $entries } 个操作
ranks-head-nccl = NCCL { $version }
ranks-head-log = NCCL 日志 { $count } 行

## 结论

ranks-never-entered = { $guilty } 一直没有进入通信组 { $group } 的 { $operation }。
ranks-waits-for = { $waiting } 在里面等，写 dump 时已等了 { $time }。
ranks-waits-given-up = { $waiting } 在里面一直等到 watchdog 超时。
ranks-waits = { $waiting } 在里面等；已等多久，dump 里看不出来。
ranks-last = { $rank } 最后发起的是 { $operation }。
ranks-last-at = { $rank } 最后发起的是 { $operation }，位置：{ $place }。
ranks-no-dump = 缺少 { $ranks } 的 dump：进程可能已退出，或者没有写出来。
ranks-mismatch = 通信组 { $group } 的集合通信 #{ $seq } 各 rank 不一致：{ $usual } 发起的是 { $a }，{ $others } 发起的是 { $b }。
ranks-no-message = { $waiting } 在通信组 { $group } 的 { $operation } 里等 { $guilty }，而对方没有发起与之配对的操作。
ranks-circle = 各 rank 在互相等待。
ranks-circle-part = { $rank } 在 { $operation } 里等 { $for }。
ranks-circle-end = 究竟哪一方有误，只能看程序。
ranks-together = { $waiting } 都进入了通信组 { $group } 的 { $operation }，但它没有结束。各方发起的操作一致，请检查链路、GPU，以及是否有 rank 已经退出。
ranks-stuck = { $waiting } 进入了通信组 { $group } 的 { $operation }，但它没有结束。
ranks-damaged = { $ranks } 的 dump 已损坏，无法知道它是否也已进入。
ranks-no-hang = 没有卡住，也没有不一致：{ $ranks } 共有的 { $count } 次集合通信全部一致，并且都已完成。
ranks-alone = 这里只有 { $rank } 的 dump，其中的操作都已完成。其他 rank 做了什么，从中看不出来。
ranks-step = 未开 profiler 时，单步耗时 { $step }（{ $count } 步的中位数）。
ranks-under-way = 没有迹象表明真的卡住了：这些 dump 可能来自一个正常运行的程序。
ranks-next-stack = flight recorder 记录的是发起过什么，不是此刻停在哪里。趁它还卡着，用 `whyidle attach PID` 可以看到 { $rank } 停在何处。
ranks-links-none = 日志里没有 rank 之间的通信路径：请设置 NCCL_DEBUG=INFO。
ranks-links-fine = 日志里的 { $count } 对 rank 都没有走慢路径。
ranks-links-slow = { $all } 对 rank 中有 { $count } 对走了慢路径：{ $what }

## 调用栈

ranks-stack-last = { $rank } 最后发起的操作：{ $operation }
ranks-stack-waits = { $rank } 等在这里：{ $operation }
ranks-stack-asks = { $rank } 发起 { $operation }
ranks-no-stack = 线程 { $thread } 发起的操作没有调用栈（autograd 线程发起的都没有）。

## 表格

ranks-more = 另有 { $count } 项；--format json 列出全部
ranks-title-mismatches = 不一致之处
ranks-title-groups = 通信组
ranks-title-steps = 单步耗时（按发起时间计）
ranks-title-lateness = 每步第一次集合通信时，各 rank 的 CPU 侧晚了多少
ranks-title-transfers = 集合通信耗时（GPU 计时）
ranks-title-links = rank 之间走什么路径
ranks-title-warnings = 警告
ranks-title-evidence = 证据
ranks-group-dumps = { $all } 个 rank 中有 { $count } 份 dump
ranks-group-matched = 比对了 { $count } 次
ranks-group-behind = { $rank } 到了 #{ $seq }，{ $other } 到了 #{ $other_seq }。
ranks-group-mismatched = { $count } 次不一致。
ranks-group-missing = 缺少 { $ranks } 的 dump。
ranks-group-seen-only = 组内有哪些 rank，dump 里没有写。
ranks-step-range = { $low }–{ $high }
ranks-step-of = { $count } 步，每步 { $operations } 个操作；区间为第 10 到第 90 百分位
ranks-step-note = 反映的是 CPU 侧发起的节奏。缓冲区里若有开着 profiler 的步，也会算在内。
ranks-pace-short = 缓冲区里的步数太少，量不出单步耗时：请调大 TORCH_FR_BUFFER_SIZE。
ranks-pace-alike = 缓冲区里的操作全都一样：看不出一步从哪里开始。
ranks-pace-profiled = 缓冲区里只有开着 profiler 的步。
ranks-pace-irregular = 各步发起的操作不重复：量不出单步耗时。
ranks-late-last = { $all } 步中有 { $count } 步最晚
ranks-late-note = 按各主机自己的时钟。只有当 CPU 侧没有领先于 GPU 时，它才等于到达的先后。
ranks-transfer-waits = 等待 { $time }
ranks-transfer-last = { $all } 次中有 { $count } 次是 { $rank } 最晚到
ranks-link-channels = { $count } 个 channel
ranks-slow-host-memory = 经过内存，没有 GPU 直连。
ranks-slow-network-inside = 同一台主机内却走了网络。
ranks-slow-tcp = 主机之间走 TCP，没有 RDMA。
ranks-slow-no-direct = 网卡经内存中转，没有 GPUDirect RDMA。
ranks-why-setting = { $name } 被设为 { $value }。
ranks-why-said = NCCL 的说法：{ $text }
ranks-why-no-card = NCCL 没有找到支持 RDMA 的网卡。
ranks-why-unknown = 原因日志里没有写。
ranks-links-found = NCCL 找到的路径：主机内 { $inside }，到网络 { $between }。
ranks-links-cards = 网卡：{ $cards }。
ranks-links-network = 如有多台主机，主机之间用：{ $network }。
ranks-links-settings = 已设置：{ $settings }

## 拒绝下结论

cli-ranks-empty = dump 里没有任何操作。
cli-ranks-apart = 这些 dump 没有可以比对的共同集合通信：它们来自不同的运行，或者写出的时刻相差太远。
cli-ranks-runs = 这些 dump 来自不同的运行：其中一份的最后一条记录与另一份的第一条记录相隔一分钟以上。
cli-ranks-empty-hint = flight recorder 必须在第一次集合通信之前打开：设置 TORCH_FR_BUFFER_SIZE=2000
cli-ranks-apart-hint = 请给出同一次运行中各 rank 在相近时刻写出的 dump
