# 快速检查、按症状初筛、程序列表。

## 快速检查

mark-ok = 正常
mark-suspect = 可疑
mark-bad = 有问题
look-title = 快速检查：已知会拖慢训练的设置
look-no-driver = 这里用不了 NVIDIA 驱动（{ $reason }）。在容器中请带上 GPU 启动（--gpus all，或使用 device plugin）。
look-driver = 驱动 { $driver } 支持 CUDA { $cuda }。
look-cuda = 驱动 { $driver } 支持 CUDA { $cuda }；PyTorch 按 { $built } 构建。
look-cuda-older = 驱动 { $driver } 只支持到 CUDA { $cuda }，而 PyTorch 按 { $built } 构建：请升级驱动，或安装面向较低 CUDA 版本的 PyTorch。
look-cpu-build = PyTorch { $torch } 不含 CUDA 部分：在 CPU 上计算。请安装 CUDA 版。
look-power = GPU { $gpu }：功耗上限 { $limit } W，出厂 { $default } W。
look-power-limited = GPU { $gpu }：功耗上限只有 { $limit } W，低于出厂的 { $default } W：满载时频率更低。
look-pcie = GPU { $gpu }：PCIe { $now }，最高 { $most }。
look-pcie-narrow = GPU { $gpu }：PCIe { $now }，而卡和插槽支持 { $most }：拷贝会变慢。请检查插槽与转接卡。
look-shared-card = GPU { $gpu } 上有 { $count } 个进程（{ $pids }）：共享算力与显存。
look-shm = /dev/shm 剩余 { $free } GiB，共 { $all } GiB。
look-shm-small = /dev/shm 只有 { $all } GiB：DataLoader worker 靠它传递张量。Docker 中请加 --shm-size=16g 或 --ipc=host。
look-shm-full = /dev/shm 只剩 { $free } GiB，共 { $all } GiB：写满后 worker 会失败。
look-memory = 内存剩余 { $free } GiB，共 { $all } GiB。
look-memory-low = 内存只剩 { $free } GiB，共 { $all } GiB：页缓存变小，数据会被反复读取。
look-cores = { $ranks } 个 rank，每个 { $workers } 个 DataLoader worker，可用 { $cores } 个核。
look-cores-few = { $ranks } 个 rank，每个 { $workers } 个 DataLoader worker，只有 { $cores } 个核：会互相争抢。减少 worker 可能更快。
look-files = 最多可打开 { $limit } 个文件。
look-files-few = 最多只能打开 { $limit } 个文件：worker 多、在途张量多时会不够用。ulimit -n 65536。
look-storage = 程序在 { $place } 下运行（{ $kind }）。
look-storage-far = 程序在 { $place } 下运行，文件系统是 { $kind }：如果数据也在那里，小文件随机读会很慢。请拷到本地盘，或打包。
look-ranks-share = { $ranks } 个 rank 用了 { $cards } 张卡：请按 LOCAL_RANK 设置设备。
look-env-blocking = { $name }={ $value }：每次 kernel 启动都要等上一次结束，只应用于调试。
look-env-no-caching = { $name }={ $value }：每个张量都直接向驱动申请显存。
look-env-no-gpu = { $name }={ $value }：程序看不到 GPU。
look-env-connections = { $name }={ $value }：对部分受限于启动开销的程序有益，但会妨碍通信与计算重叠。
look-env-nccl = { $name }={ $value }：关闭了 GPU 间的一条快速通路。
look-env-nccl-debug = { $name }={ $value }：NCCL 会写大量日志。
look-stacks = 可以读取它的 Python 调用栈。
look-stacks-not = 无法读取它的 Python 调用栈（{ $reason } { $detail }）：请以同一用户或 root 运行 whyidle；容器中加 --cap-add SYS_PTRACE；或执行 sysctl kernel.yama.ptrace_scope=0。
look-gpu-not-given = 内核里有 NVIDIA 驱动，但这里看不到 GPU 设备（{ $reason }）：给容器开放 GPU（--gpus all，或使用 device plugin）。
look-no-library = 有 GPU 设备，但 NVIDIA 的库无法使用（{ $reason }）：重装驱动，或用 NVIDIA runtime 启动容器。
look-no-driver-container = 本容器中没有可用的 NVIDIA 驱动（{ $reason }）。请在装有驱动的机器上以开放 GPU 的方式启动容器（--gpus all，或使用 device plugin）。
look-clock = GPU { $gpu }：频率最高 { $most } MHz。
look-clock-set = GPU { $gpu }：频率被设为 { $set } MHz，卡本身允许 { $most } MHz：可用 nvidia-smi -rac 恢复。
look-clock-held = GPU { $gpu }：此刻因过热或硬件原因降频：请检查散热与供电。
look-pcie-slow = GPU { $gpu } 正在使用，却运行在 PCIe { $now }，本可达到 { $most }：拷贝变慢。请检查 BIOS 与电源管理。
look-p2p = { $gpus } 张 GPU 可直接互访显存；{ $pairs } 对中有 { $nvlink } 对走 NVLink。
look-p2p-not = 这些 GPU 不能直接互访显存（{ $pairs }）：rank 之间的传输要经过内存。请检查 IOMMU 与 ACS，或确认卡型是否支持。
look-p2p-far = 这些 GPU 位于不同的 CPU 插槽（{ $pairs }）：传输要跨处理器之间的链路。
look-nvlink-down = GPU { $gpu } 只有 { $active } 条 NVLink 处于活动状态，其他卡有 { $most } 条：用 nvidia-smi nvlink -s 查看；重置该卡或送检。
look-visible = CUDA_VISIBLE_DEVICES={ $value }：程序里的 GPU 0 是本机的 GPU { $first }。
look-visible-missing = CUDA_VISIBLE_DEVICES={ $value }：本机没有 GPU { $first }（共 { $count } 张）；CUDA 会忽略它以及后面的全部编号。
look-threads-many = { $ranks } 个 rank 各开 { $threads } 个线程，只有 { $cores } 个核：会互相争抢。请把 OMP_NUM_THREADS 设为每个 rank 能分到的核数，或更小。
look-threads-unset = 没有设置 OMP_NUM_THREADS：{ $ranks } 个 rank 会各开 { $cores } 个线程。torchrun 默认设为 1；开少量几个往往更好。
look-processes-few = 进程与线程总数上限只有 { $limit }：worker 多时可能启动失败。ulimit -u 65536。
look-locked-few = 可锁定内存只有 { $limit } KiB：RDMA 需要更多。ulimit -l unlimited；Docker 用 --ulimit memlock=-1。
look-storage-turns = 运行目录 { $place }（{ $kind }）在机械硬盘上：零碎的随机读取很慢。请把数据拷到 SSD，或打包成大文件。
look-storage-full = { $place } 只剩 { $free } GiB：保存 checkpoint 可能失败。
look-env-nccl-blocking = { $name }={ $value }：CPU 侧会等待每一次集合通信完成。
look-env-nccl-pinned = { $name }={ $value }：替代了 NCCL 自己的选择；请去掉后对比测一次。
look-env-dist-debug = { $name }={ $value }：每次集合通信都要在所有 rank 上核对，仅供调试。
look-env-tf32 = { $name }={ $value }：TF32 已关闭，fp32 矩阵乘只有几分之一的速度。
look-env-no-compile = { $name }={ $value }：torch.compile 不起作用。
look-env-debug = { $name }={ $value }：调试手段，会拖慢 CPU 侧。
look-env-deterministic = { $name }={ $value }：为了可复现而设；确定性算法更慢。
look-source-anomaly = { $place } 打开了异常检测（anomaly mode）：每个算子都要检查，仅供调试。
look-source-deterministic = { $place } 要求确定性算法：其中一些会慢很多。

## 按症状初筛

mark-unknown = –
symptom-title = 按症状初筛：各仪表显示什么，指向什么
symptom-not = { $name }：没有。{ $measured }
symptom-seen = { $name }：{ $measured }{ $points } → { $next }
symptom-not-measured = { $name }：{ $measured }
symptom-util-zero = GPU 为 0%
symptom-swinging = GPU 忽高忽低
symptom-flat-low = GPU 平稳但偏低
symptom-cpu-full = CPU 打满
symptom-memory-full = 显存占满
symptom-ranks-uneven = 各 rank 不均
symptom-no-gpu = 没有采到 GPU 的数据。
symptom-few-samples = 采样太少，请观察更久。
symptom-no-process = 没有采到该进程的数据。
symptom-no-memory = 没有采到显存的数据。
symptom-one-rank = 只有一个 rank，或只观察了一个。
symptom-busy-mean = 平均忙碌 { $mean }。
symptom-busy-ends = 多数在 { $low } 到 { $high } 之间（{ $count } 个采样，间隔 { $every }）。
symptom-busy-level = 平均忙碌 { $mean }，多数在 { $low } 到 { $high } 之间。
symptom-zero-starts = 程序还在导入模块。
symptom-zero-compiles = 程序在编译。
symptom-zero-data = 主线程一直在等 DataLoader：它卡住了，或者非常慢。
symptom-zero-stuck = 程序也不占用 CPU：卡在锁或集合通信里；请看它的调用栈。
symptom-zero-elsewhere = 程序在别处工作：在 CPU 上，或在另一张 GPU 上。
symptom-swing = 一阵一阵地供给：多半是数据，或是反复出现的停顿。
symptom-swing-data = 主线程有 { $share } 的时间在等数据：供给是一阵一阵的。
symptom-swing-pause = 主线程只有 { $share } 的时间在等数据：多半是反复出现的停顿，如保存、写日志、垃圾回收。
symptom-flat-data = 主线程有 { $share } 的时间在等数据，只是单步比采样间隔还短。
symptom-flat-launch = kernel 启动跟不上、kernel 太小，或在读回数值：是哪一种要看 trace。
symptom-flat-ranks = kernel 启动，或 rank 之间的通信：是哪一种要看 trace。
symptom-cpu-own = 训练进程占用 { $own } 个核。
symptom-cpu-machine = 训练进程占用 { $own } 个核；全机 CPU 忙碌 { $machine }。
symptom-cpu-workers = 训练进程占用 { $own } 个核，{ $count } 个 worker 平均各占一个核的 { $busy }；全机 CPU 忙碌 { $machine }。
symptom-cpu-workers-alone = 训练进程占用 { $own } 个核，{ $count } 个 worker 平均各占一个核的 { $busy }。
symptom-cpu-points-workers = worker 一刻不停：瓶颈是加载或预处理。
symptom-cpu-points-fed = 但 GPU 一直有活干：没有谁在等。
symptom-cpu-points-machine = 没有空闲的核：worker、线程和其他程序在互相争抢。
symptom-memory = 已用 { $used }，共 { $all }（{ $share }）。
symptom-memory-points = 请留出 10 到 15% 的余量：稍长的 batch 就会失败，分配器也可能已在反复归还与申请。
symptom-memory-points-idle = 显存占满不等于 GPU 打满：保留的显存可能只是缓存；余量不足时，稍长的 batch 就会失败。
symptom-rank = { $rank }：{ $share }
symptom-ranks = 各 rank 忙碌：{ $each }。
symptom-ranks-points = 其他 rank 在集合通信里等 rank { $rank }，看上去却在忙：请看这一个。

## 程序列表

list-title = 本机的训练程序
list-nothing = 本机没有训练程序在运行（在当前用户可见的进程中，没有加载 PyTorch 的）。
list-program = whyidle attach { $pid } # { $about }
list-job = whyidle attach { $pid } # 它启动的全部 { $ranks } 个 rank
list-gpus = GPU { $gpus }
list-rank = rank { $rank }

## 错误

cli-check-no-samples = { $dir } 中没有程序的采样
