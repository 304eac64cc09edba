# 机器自带工具打印的信息，以及各日志文件提供了什么。

machine-head = { $count } 块 GPU
machine-driver = 驱动 { $version }
machine-fine = 这台机器的设置和链路都没有拖慢 GPU。
machine-nothing = 这些文件没有说明可能拖慢这台机器 GPU 的因素：频率、功耗上限以及降频原因。
machine-no-verdict = 对程序不下结论：{ $reason }

## 信息。$gpu 是物理编号。

machine-throttled = GPU { $gpu } 正在降频：{ $reasons }。
machine-bit-slowdown = 硬件降速
machine-bit-thermal = 温度
machine-bit-thermal-hardware = 温度（硬件）
machine-bit-brake = 电源制动 (power brake)
machine-limit-lowered = GPU { $gpu } 的功耗上限是 { $limit } W，出厂为 { $default } W。
machine-was-throttled = 驱动加载以来，GPU { $gpu } 因温度或电源制动降频共 { $time }；发生在何时没有记录。
machine-shared = GPU { $gpu } 上有 { $count } 个进程在计算：{ $processes }。
machine-slow-links = { $all } 对 GPU 中有 { $pairs } 对没有 NVLink；{ $a } 与 { $b } 之间要经过{ $joined }。
machine-joined-nvlink = NVLink
machine-joined-pix = 一个 PCIe 桥
machine-joined-pxb = 多个 PCIe 桥
machine-joined-phb = CPU 的 PCIe 主桥
machine-joined-node = 同一 NUMA 节点内的多个 PCIe 主桥
machine-joined-sys = NUMA 节点之间的互连
machine-all-nvlink = { $pairs } 对 GPU 都由 NVLink 相连，至少 { $links } 条。
machine-narrow-slot = GPU { $gpu } 只用了 { $most } 条 PCIe 通道中的 { $width } 条。
machine-not-persistent = GPU { $gpu } 没有开启持久模式：每个程序都要重新加载驱动。
machine-mig = GPU { $gpu } 已切分为 MIG 实例：整卡利用率说明不了其中任何一个。
machine-memory-errors = GPU { $gpu } 出现过 { $count } 次无法纠正的显存错误。
machine-remap-pending = GPU { $gpu } 有损坏的显存行等待重置后替换。

## 文件提供了什么

log-gave-gpu = { $gpus } 块 GPU 的 { $rows } 个采样，历时 { $time }。
log-gave-gpu-untimed = { $gpus } 块 GPU 的 { $rows } 个采样，没有时间：按每秒一个合并，不与其他文件按时间对齐。
log-gave-moment = { $gpus } 块 GPU 的 { $rows } 个采样：只是某一时刻，得不出占比。
log-gave-system = 机器的 CPU 核和磁盘，{ $rows } 行。
log-gave-system-untimed = 机器的 CPU 核和磁盘，{ $rows } 行，没有时间：按每秒一行合并，不与其他文件按时间对齐。
log-gave-processes = { $count } 个进程的 CPU 时间和内存。
log-gave-stacks = { $count } 次调用栈采样，只计数：没有时间，因此分不出阶段。
log-gave-few-stacks = 某一时刻的 { $count } 个调用栈：能看出当时在运行什么，看不出时间花在哪里。
log-gave-cards = { $count } 块 GPU 的设置。
log-gave-links = { $count } 对设备之间的链路。
log-gave-card-processes = GPU 上的 { $count } 个进程。
log-day-of-others = 时间没有日期：按其他文件的日期处理。
log-day-unknown = 时间没有日期：不与其他文件按时间对齐。
log-zone = 时间是机器本地时间；与其他文件相差 { $hours } 小时时吻合。
log-local = 时间所在的时区没有说明，也与其他文件对不上：不与其他文件按时间对齐。
log-left-out-untimed = 未使用：各行没有时间，而另有带时间的文件。
log-left-out-second = 未使用：另有一个没有时间的文件，两者的各行无法对应。
log-left-out-weighted = 调用栈按算子自身耗时加权，不是采样：看不出等待，不参与判断。
log-nothing = 没有用得上的内容。
log-dropped = 有 { $count } 行无法解析。

## 前后相接的句子；文件及其内容

log-then = { $a }{ $b }

note-idle-cards = { $all } 块 GPU 中有 { $count } 块空闲：结论只针对最忙的那一块。
