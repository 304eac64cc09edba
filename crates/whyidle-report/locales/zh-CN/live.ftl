# 从外部观察程序时的措辞：基于采样的诊断，以及相关命令。

## 数字的来源

line-working-resident = kernel 与集合通信
line-rest-host = 程序在 CPU 侧自己的工作
report-steps-recorded = { $count ->
    [0] 单步耗时取自采样记录
   *[other] { $count } 步，未开 trace 计时
}
report-steps-batches = 从外部数得 { $count } 个 batch
report-steps-second = { $count ->
    [0] 采样没有时间，未识别出 step
   *[other] 观察 { $count } 秒，未识别出 step
}
report-where-a-second-goes = 每秒的时间账本
report-where-the-host-goes = 主线程在做什么
report-no-gpu = 没有看到 GPU
report-no-steps = 未识别出 step：数字按观察期间的每一秒计
report-where-a-run-goes = 观察的 { $time } 花在哪里
report-run-visits = { $count } 次，每隔 { $period }
report-run-visits-steps = { $count } 次，每隔 { $period }（约 { $steps } 步）

phase-training = 训练步
phase-run-startup = 启动
phase-run-compile = 编译
phase-run-epoch = epoch 交界
phase-run-eval = 评估
phase-run-checkpoint = 保存 checkpoint
phase-run-stuck = 完全不动
phase-unknown = 未知

## 结论

say-live-healthy = 每步 { $step }，GPU 有 { $resident } 的时间在忙，几乎没有在等谁。算得是否高效，需要 trace 才能判断。
say-live-healthy-share = GPU 有 { $resident } 的时间在忙，几乎没有在等谁。算得是否高效，需要 trace 才能判断。
say-live-waits = 每步 { $step }：GPU 忙 { $working }，另有 { $waiting } { $because }。
say-live-waits-share = GPU 有 { $working } 的时间在忙，{ $waiting } 的时间{ $because }。
say-live-unseen = GPU 有 { $working } 的时间在忙，{ $waiting } 的时间在等 CPU 侧；CPU 侧在做什么，要有调用栈或 trace 才知道。
say-live-ranks = GPU 看上去有 { $resident } 的时间在忙，但其中一部分是{ $because }。
say-live-shared = GPU 有 { $resident } 的时间在忙，但不只是为这个程序：还有别的进程在用同一张卡，分不清忙的是谁的活。
say-live-host-waits = 没有看到 GPU，以下只是 CPU 侧的情况：主线程有 { $waiting } 的时间{ $because }。
say-live-host-works = 没有看到 GPU，以下只是 CPU 侧的情况：主线程几乎没有在等什么。
say-live-do = { $change }。
say-live-where = 位置：{ $place }。
say-live-change = { $change }，单步最多降到 { $after }；之后{ $limit }。
say-run-eval = 但有 { $share } 的时间花在评估上，而不是训练步。

because-data-storage = 在等数据 —— DataLoader worker 卡在存储读取上
because-host-contention = 在等 CPU 核 —— 训练进程需要的核被别的任务占着
because-rank-straggler = 在等另一个 rank
because-host-gil = 在等 CPU 侧 —— 主线程在等别的线程握着的 GIL
because-run-epoch = 在等数据 —— 每个 epoch 都重启 DataLoader worker
because-run-eval = 在等训练继续 —— 程序在做评估

## 存疑之处

doubt-live-host-only = 没有 GPU 可作依据，只知道 CPU 侧自己的等待。
doubt-live-sampled = 这张卡没有活动计数器，忙闲程度来自 { $count } 次利用率采样。
doubt-live-gpu-part = 只有 { $share } 的观察时间采到了 GPU。
doubt-live-half = 最大的等待解释了空闲时间的 { $share }，接近判定所用的一半。
doubt-live-no-stacks = 没有调用栈，无法判断主线程在等什么。
doubt-live-few = 主线程只采样到 { $count } 次。
doubt-live-kinds = 采样分不清 kernel 启动与读回数值，也分不清 GPU 在算什么；trace 可以。
doubt-live-shared = 有别的进程在用同一张 GPU：单为这个程序它有多忙，无从得知。
doubt-live-ranks = 只观察了一个 rank，其他 rank 的情况未知。
doubt-live-damaged = 记录中有 { $count } 个值不合理：文件已损坏。
doubt-live-no-counters = 没有进程计数器：不知道它是否在等 CPU 核，或在等启动队列。
doubt-live-undescribed = 记录没有说明任务有多少个 rank，也没有说明哪个进程是谁。
doubt-live-cut-short = 观察被提前中断。

## 证据

ev-live-main = 主线程 { $samples } 次采样中占 { $share }（± { $error }）
ev-live-place = 主线程有 { $share } 的时间在 { $place }
ev-live-source = 主线程有 { $share } 的时间在 { $place }：{ $source }
ev-live-sync = 主线程有 { $share } 的时间在读回数值或同步，位于 { $place }
ev-live-workers-busy = { $count } 个 DataLoader worker，每个占用 CPU { $busy }（100% 为一个核）
ev-live-workers-at = worker 有 { $share } 的时间在 { $place }
ev-live-disk = { $share } 的采样中 worker 在等磁盘
ev-live-pin = 主线程在等，训练进程却占用 CPU { $busy }（100% 为一个核）：慢的是 pin_memory 线程，不是 worker
ev-live-hollow = GPU 有 { $resident } 的时间驻留着 kernel，但只有 { $sm } 的 SM 在工作
ev-live-peer = GPU { $gpu } 有 { $resident } 的时间驻留着 kernel
ev-live-units = fp32 单元忙 { $fp32 }，tensor core 忙 { $tensor }
ev-live-recomputes = 主线程有 { $share } 的采样落在梯度检查点（激活重计算）中
ev-live-recomputes-memory = 主线程有 { $share } 的采样落在梯度检查点（激活重计算）中，而显存峰值只占 { $memory }
ev-live-thermal = { $share } 的采样中因过热降频
ev-live-brake = { $share } 的采样中被硬件强制降频
ev-live-contention = 训练进程只得到 { $busy } 个核，而所有核已占用 { $cores }；主线程每秒被抢走核 { $switches } 次
ev-live-shares = 进程 { $pid } 也在用这块 GPU
ev-live-shares-memory = 进程 { $pid } 也在用这块 GPU，占显存 { $memory }
ev-run-phase = 观察的 { $watched } 中占 { $time }
ev-run-recurs = 观察的 { $watched } 中占 { $time }，共 { $visits } 次，每隔 { $period }

## 处方

fix-live-pin-thread = 减小送进 pin_memory 线程的 batch：慢的是它，不是 worker
fix-live-in-process = 让 worker 进程加载数据：num_workers 设为大于 0
fix-live-persistent = 如果每个 epoch 都重启 worker：设 persistent_workers=True。
fix-live-bubble = 增加每步的 micro-batch 数
fix-live-precision = 前向和 loss 放进 bf16 autocast
fix-host-gil = 把其他 Python 线程的工作放进单独的进程
fix-host-gil-at = 把另一个线程在 { $function } 里的工作放进单独的进程：它握着 GIL
fix-gil-process = 用 multiprocessing，或 DataLoader worker：每个进程有自己的 GIL。
fix-gil-native = 会释放 GIL 的代码（NumPy、torch、Rust 分词器）可以留在线程里；Python 循环不行。
fix-gpu-shared = 让任务独占一块 GPU
fix-shared-split = 必须共享时：用 MIG 切分，或用 MPS。
fix-run-startup = 让启动更快：每次启动都要付出，崩溃重启也一样
fix-startup-cache = 在多次运行之间保留编译缓存 (TORCHINDUCTOR_CACHE_DIR)，数据和权重放在本地盘。
fix-run-epoch = 跨 epoch 保留 DataLoader worker：persistent_workers=True
fix-epoch-sampler = 或者让 epoch 更长：用会重复数据集的 sampler。
fix-run-eval = 少评估几次、少用一些样本，或与训练并行评估
fix-eval-batch = 评估不需要梯度：在 torch.inference_mode() 下 batch 可以大好几倍。
fix-run-checkpoint = 降低保存频率，或改为异步保存
fix-data-storage = 让数据离得更近：本地盘、更大的文件，或者留足内存给页缓存
fix-data-storage-pack = 大量小文件随机读在任何存储上都慢：把样本打包成少量大文件。
fix-host-contention = 给任务留出专用的核：减少 worker 与线程，或限制同机的其他任务
fix-rank-straggler = 去看其他 rank 在等的那个 rank：观察它，或者把所有 rank 的 trace 放在一起
fix-power-throttle = 检查散热与功耗上限：硬件压低了频率

## 仪表对照 (-v)

instrument-gpu-util = nvidia-smi 利用率
instrument-gpu-util-counts = 采样窗口内有 kernel 的时间
instrument-gpu-util-memory = 显存利用率
instrument-gpu-util-memory-counts = 有显存读写的时间
instrument-gpu-resident = 有 kernel 的时间
instrument-gpu-resident-counts = 卡上计数器累计
instrument-gpu-sm = SM
instrument-gpu-sm-counts = 有活干的 SM
instrument-gpu-warps = warp
instrument-gpu-warps-counts = 占用的 warp
instrument-gpu-tensor = tensor core
instrument-gpu-tensor-counts = 使用的周期
instrument-gpu-fp32 = fp32
instrument-gpu-fp32-counts = 使用的周期
instrument-gpu-dram = 显存带宽
instrument-gpu-dram-counts = 传输字节占峰值的比例
instrument-gpu-power = 功耗
instrument-gpu-power-counts = 占上限的比例
instrument-gpu-memory = 显存
instrument-gpu-memory-counts = 最多占用
instrument-gpu-pcie = 内存到 GPU
instrument-gpu-pcie-counts = PCIe 传输字节
instrument-step-working = 工作占比
instrument-step-working-counts = 占 step 的比例
instrument-cpu-program = CPU：训练进程
instrument-cpu-program-counts = 以一个核计
instrument-cpu-worker = CPU：DataLoader worker
instrument-cpu-worker-counts = 以一个核计，各 worker 平均
instrument-cpu-cores = CPU：所有核
instrument-cpu-cores-counts = 整台机器，不分程序
instrument-disk-wait = 等磁盘
instrument-disk-wait-counts = 在等磁盘的核
instrument-disk-read = 读盘
instrument-disk-read-counts = 程序从存储读取
stat-live-power = { $power } W，上限 { $limit } W
stat-live-power-alone = { $power } W，上限未知
stat-live-memory = { $used }，共 { $all }
stat-live-cpu = 自身代码 { $user }，内核态 { $system }
stat-live-workers = { $count } 个 worker
stat-live-working-traced = 来自 trace
stat-live-working-sampled = 来自 GPU 采样
stat-live-why-util = nvidia-smi 显示 { $util }，卡上计数器为 { $resident }：nvidia-smi 只问采样窗口内有没有 kernel，计数器累计的是时间。
stat-live-why-util-step = nvidia-smi 显示 { $util }，卡上计数器为 { $resident }：nvidia-smi 只问最长一秒的采样窗口内有没有 kernel，而一个 step 为 { $step }；计数器累计的是时间。
stat-live-why-hollow = { $busy } 的时间在忙，却只有 { $sm } 的 SM 有活干，功耗只有上限的 { $power }：不是一次一个小 kernel，就是在等待的集合通信；忙只表示有 kernel 在，不表示它占满了多少 GPU。
stat-live-why-few = { $busy } 的时间在忙，却只有 { $sm } 的 SM 有活干：不是一次一个小 kernel，就是在等待的集合通信。
stat-live-why-cool = { $busy } 的时间在忙，功耗却只有上限的 { $power }：kernel 既没有用满计算单元，也没有用满显存带宽。
stat-live-why-memory = 显存利用率显示 { $time }，显存带宽为 { $bytes }：前者统计有读写的时间，后者统计字节占峰值的比例。
stat-live-why-copies = 每秒有 { $rate } 从内存传来，而 GPU 只有 { $resident } 的时间在忙：拷贝既不占 SM，nvidia-smi 也不计入。
stat-live-why-core = 有进程用掉一个核的 { $one }，而所有核合计只忙 { $all }：Python 同一时刻只在一个核上运行，各核平均会掩盖这个跑满的核。
stat-live-flat = 忙碌占比在采样之间几乎不变：没有周期性下降。
stat-live-dips = 忙碌占比每隔 { $period } 下降一次：周期性下降通常指向数据，或每隔几步才有的操作。
stat-live-irregular = 忙碌占比有起伏，但没有周期。
stat-live-workers-memory = { $count } 个 DataLoader worker 共占内存 { $memory }（共享页在每个进程中都计入）。
stat-live-host-memory = 机器内存最多占用 { $used }（{ $share }）。
stat-live-shm = /dev/shm 最多占用 { $used }（{ $share }）。
stat-live-files = 训练进程打开的文件：{ $open } 个，上限 { $limit } 个。
stat-live-main = 主线程，{ $samples } 次采样：{ $values }
stat-live-do-waits = 等 worker { $value }
stat-live-do-prepares = 准备数据 { $value }
stat-live-do-starts = 启动 worker { $value }
stat-live-do-saves = 保存 { $value }
stat-live-do-imports = 导入模块 { $value }
stat-live-do-compiles = 编译 { $value }
stat-live-do-collects = 垃圾回收 { $value }
stat-live-do-gil = 等 GIL { $value }
stat-live-do-empties = empty_cache { $value }
stat-live-do-copies = 拷贝 { $value }
stat-live-do-syncs = 读回数值 { $value }
stat-live-do-logs = 写日志 { $value }
stat-live-do-communicates = 通信 { $value }
stat-live-do-evaluates = 评估 { $value }
stat-live-do-optimizes = 优化器 { $value }
stat-live-do-backward = 反向 { $value }
stat-live-do-launches = 模型 { $value }
stat-live-do-user = 用户自己的函数 { $value }
stat-live-do-unknown = 未知 { $value }

## 没能拿到的证据

note-live-no-gpu = 这台机器上没有找到 NVIDIA GPU 或驱动。
note-live-gpu-vanished = 观察途中驱动不再应答：GPU 采样到此为止。
note-live-gpu-failed = 无法读取 GPU：{ $detail }
note-live-no-gpm = { $detail } 没有活动计数器（Hopper 及以后才有）：利用率来自采样。
note-live-ptrace-scope = 无法读取调用栈：kernel.yama.ptrace_scope 为 { $detail }。可以用 `whyidle run` 启动程序、以 root 运行 whyidle，或执行 `sysctl kernel.yama.ptrace_scope=0`；容器中请加 `--cap-add SYS_PTRACE`。
note-live-other-user = 无法读取调用栈：程序属于用户 { $detail }。请以该用户或 root 运行 whyidle。
note-live-stacks-off = 按要求没有采集调用栈：无法指出函数名。
note-live-no-stacks = 无法读取调用栈：{ $detail }
note-live-no-python = 无法读取调用栈：没有看到在训练的 Python 进程。
note-live-missing = 有内容未能记录：{ $detail }
note-live-trace-no-torch = 没有 trace：程序没有加载 PyTorch。
note-live-trace-old-torch = 没有 trace：PyTorch { $detail } 不能安全地按需采集；2.10 及以后可以。
note-live-trace-not-polled = 没有 trace：程序的 profiler 一直没有来询问。加载 PyTorch 之后 fork 出来的进程不会询问。
note-live-trace-not-written = 没有 trace：请求已送达，但 { $detail } 秒内没有写出文件。程序可能在用自己的 profiler。
note-live-trace-ended = 没有 trace：程序在 trace 写完之前就结束了。
note-live-trace-off = 按要求没有采集 trace。
note-live-rank = 共观察了 { $ranks } 个 rank，以下针对 rank { $rank }：它的 GPU 最空闲，其他 rank 在集合通信里等它，所以看上去很忙。
note-live-ended = 观察 { $time } 后程序结束：结论只依据此前看到的内容。
note-live-cut-short = 观察在 { $time } 后被中断：结论只依据此前看到的内容。
note-live-memory-tight = 机器内存已用 { $share }：系统可能会杀掉 DataLoader worker 或程序本身。
note-live-shm-tight = /dev/shm 已用 { $share }：DataLoader worker 通过它交付 batch，满了就会因 bus error 退出。容器中请加 --shm-size 或 --ipc=host。
note-live-files-tight = 训练进程打开的文件数已达上限的 { $share }：请调大 `ulimit -n`。
note-live-undescribed = 记录的说明（recording.json）无法解析：结论只依据各表。
note-live-unread = { $name } 存在但不是文件：其中内容没有读取。
note-live-dropped = 采样记录中有 { $count } 行被截断或无法解析
note-live-hollow = nvidia-smi 显示 { $util }，但只有 { $sm } 的 SM 有活干：利用率只看有没有 kernel，不看它占满了多少 GPU。
note-trace-and-samples = trace 显示 GPU 在单步中有 { $trace } 的时间在忙，而整段运行的采样是 { $samples }（空闲 { $idle }）：trace 窗口不能代表整段运行。
note-trace-refused = trace 不足以下结论（{ $reason }）；以下结论基于采样。

## 证据不足

refusal-no-samples = 既没有 trace，也没有 GPU 或调用栈的采样。
refusal-no-samples-hint = 用 `whyidle attach PID` 或 `whyidle run -- COMMAND` 记录，或者给出含有 profiler trace 的目录。
refusal-several-programs = 这份记录里有 { $count } 个互不相关的程序：{ $pids }。
refusal-several-programs-hint = 请选定一个：`{ $command }`
refusal-too-few-samples = 观察时间太短，无法判断时间花在哪里。
refusal-too-few-samples-hint = 观察久一点：`--for 30s`。按默认频率采集调用栈需要十来秒。
refusal-ended = 程序在 { $time } 后结束：看到的内容太少，不足以下结论。
refusal-ended-hint = 按默认频率采集调用栈，需要十来秒的训练。`whyidle run -- COMMAND` 会从程序启动起一直观察，并显示它如何结束。
refusal-ended-hint-run = 按默认频率采集调用栈，需要十来秒的训练：请让程序多跑一些步。
refusal-stuck = 程序停住了：主线程已有 { $time } 没有离开 { $place }，它启动的进程既不用 CPU，也不读写数据。
refusal-stuck-hint = 查看所有线程（`py-spy dump --pid PID`）：锁、没有人填充的队列、某个 rank 没有到达的集合通信、已经退出的 worker。
refusal-starting-up = 程序还在启动：观察的 { $time } 中没有一个训练步，主线程主要在 { $place }。
refusal-starting-up-hint = 等它开始训练后再观察，或观察久一点：`--for 5m`。
refusal-no-loop = 没有看到训练循环：没有前向、反向、优化器，也没有 DataLoader。主线程主要在 { $place }。
refusal-no-loop-anywhere = 没有看到训练循环：没有前向、反向、优化器，也没有 DataLoader。
refusal-no-loop-hint = 请给出在训练的进程（单独运行 `whyidle` 会列出），或等它开始训练后再观察。
refusal-idle-process = 进程（占用 { $busy } 个核）和 GPU 都没有在工作；没有调用栈，无法判断它在等什么。
refusal-step-timed = 单步 { $given } 与记录矛盾：程序自己计时为每步 { $measured }。
refusal-step-batches = 单步 { $given } 与记录矛盾：batch 每隔 { $measured } 才来一个，一步不会少于一个 batch。
refusal-step-hint = 请给出未开 profiler 时一次优化器更新的平均耗时；或者不写 --step-ms。
refusal-no-gpu-samples = 主线程几乎没有在等什么，但没有 GPU 采样：不知道 GPU 是否在等。
refusal-no-gpu-ranks = 没有 GPU 采样：不知道其他 rank 在等哪一个 rank。
refusal-no-gpu-samples-hint = 请在能读取 NVML 的地方记录（`whyidle check` 会指出障碍），或提供 trace。

## 命令行提示

cli-live-no-process = 没有进程 { $pid }
cli-live-no-training = 进程 { $pid } 及其子进程都没有加载 PyTorch
cli-live-zombie = 进程 { $pid } 已经结束：它是僵尸进程，等父进程读取其退出状态
cli-live-no-such-gpu = 没有可以采样的 GPU { $gpu }
cli-live-gpus = 本机的 GPU：{ $gpus }
cli-live-no-gpus = 本机没有可以读取的 GPU；`whyidle check` 会指出障碍
cli-live-list = 直接运行 `whyidle` 会列出本机的训练程序
cli-live-watching = 正在观察进程 { $pid }（{ $command }），共 { $ranks } 个 rank，{ $workers } 个 DataLoader worker，时长 { $seconds } 秒；Ctrl-C 可提前结束
cli-live-progress = 已观察 { $seconds } 秒（约需 { $whole } 秒），主线程采样 { $samples } 次
cli-live-only-linux = 只能在 Linux 上观察程序；采样记录和 trace 在任何系统上都能读
cli-live-other-user = 进程 { $pid } 属于用户 { $detail }：在这里无法观察
cli-live-no-permission = 在这里无法观察进程 { $pid }（kernel.yama.ptrace_scope { $detail }）
cli-live-permission-hint = 请以同一用户或 root 运行 whyidle；容器中加 --cap-add SYS_PTRACE；或者用 `whyidle run` 启动程序
cli-live-kept = 采样记录保存在 { $dir }
cli-live-unwritten = 无法把采样记录写入 { $dir }：{ $reason }
cli-live-not-empty = { $dir } 不是空目录：其中的内容会被当成本次采样记录的一部分
cli-live-not-empty-hint = 请给出新目录，或先清空这个目录
io-not-found = 没有这个文件或目录
io-is-a-directory = 这是一个目录
io-not-permitted = 没有权限
io-not-a-directory = 有同名文件挡在路径上
io-full = 磁盘空间不足
io-read-only = 文件系统只读
io-other = { $reason }
cli-live-not-started = 无法启动 { $program }：{ $reason }
cli-live-goes-on = 程序继续运行；whyidle 会随它一起结束
