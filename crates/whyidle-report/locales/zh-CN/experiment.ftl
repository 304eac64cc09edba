# 实验：一次运行 (bench)、一次对比、历史。

## 单步时间从何而来

bench-basis-hook = 单步按相邻两次优化器更新计时（启动钩子），程序本身未改动。
bench-basis-printed-steps = { $count ->
    [1] 单步按带步号的输出行的到达时间计时。
   *[other] 单步按带步号的输出行的到达时间计时：每 { $count } 步一行，看不到单独的一步。
}
bench-basis-printed-times = 单步耗时取自程序自己打印的数值。
bench-basis-batches = 没有看到训练步；这是 DataLoader worker 交付相邻两个 batch 的平均间隔。
bench-basis-whole = 没有看到训练步；这是整个程序从启动到结束的时间。
bench-basis-recorded = 单步耗时取自采样记录。

## 一次运行

bench-step = 单步耗时 { $step }（95%：{ $low }–{ $high }；共 { $count ->
    [one] 1 个稳态步
   *[other] { $count } 个稳态步
}）。
bench-step-bare = 单步耗时 { $step }（{ $count ->
    [one] 1 个稳态步
   *[other] { $count } 个稳态步
}，太少，给不出区间）。
bench-whole = 整个程序耗时 { $time }。
bench-no-steps = 什么都没有测到：{ $time } 内程序没有显示任何训练步。启动钩子能看到 PyTorch 的优化器；否则请每步打印一行，例如 `step 12 loss 2.31`。
bench-few-steps = 什么都没有测到：{ $time } 内程序显示的训练步太少。
bench-rates = 即每秒 { $samples } 个样本、{ $tokens } 个 token。
bench-samples = 即每秒 { $samples } 个样本。
bench-tokens = 即每秒 { $tokens } 个 token。
bench-failed = 程序失败，退出状态 { $status }。
bench-failed-unknown = 程序失败。
bench-out-of-memory = 程序显存不足 (out of memory)。
bench-warm-up = { $count ->
    [one] 第一步（{ $time }）属于预热，未计入
   *[other] 前 { $count } 步（{ $time }）属于预热，未计入
}（由 MSER-5 判定）。
bench-no-warm-up = 没有发现预热（由 MSER-5 判定）：每一步都计入。
bench-stalls = { $count ->
    [one] 有 1 步超过中位数的三倍，已剔除；它
   *[other] 有 { $count } 步超过中位数的三倍，已剔除；它们
}比均值多用 { $time }。
bench-rhythm = 每 { $every } 步出现一次长步：这是程序自身的节奏，计入。
bench-unsettled = 单步耗时仍在变化：请让它运行更久。
bench-interrupted = 已中断：结果来自中断之前的数据。
bench-time-over = 稳态步还不够，时间已到。
bench-hook-errors = 启动钩子有 { $count ->
    [one] 1 次
   *[other] { $count } 次
}没能看清一步或一个 batch。
bench-on-gpu = GPU { $gpu } 上的进程 { $pid }
bench-gpu-shared = 期间有其他进程在该程序的 GPU 上计算：{ $list }。
bench-neighbours = 期间其他程序约占用 { $cores } 个核：{ $names }。
bench-neighbours-unnamed = 期间其他程序约占用 { $cores } 个核。
bench-title-steps = 稳态步的分布
bench-least = 最短
bench-p10 = 第 10 百分位
bench-median = 中位数
bench-p90 = 第 90 百分位
bench-p99 = 第 99 百分位
bench-most = 最长
bench-title-gpu = GPU
bench-resident = 驻留占比
bench-util = 利用率（NVML 采样）
bench-peak = 张量显存峰值
bench-held = 分配器占有 { $bytes }。
bench-memory = 显存占用（含其他进程）
bench-power = 功耗
bench-watts = { $power } W
bench-energy = 每步能耗
bench-joules = { $energy } J
bench-title-place = 测量环境
bench-host = 主机
bench-processor = 处理器
bench-cores = 核数
bench-gpus = GPU
bench-driver = 驱动
bench-cuda = PyTorch 的 CUDA
bench-python = Python
bench-kernel = 内核
bench-folder = 目录
bench-commit = 提交 { $commit }
bench-commit-dirty = 提交 { $commit }（有未提交的修改）
bench-title-kept = 命令
bench-kept = 已存为运行 { $id }：`whyidle history show { $id }`。
bench-log = 程序输出在 { $path }。

## 一次对比

compare-per-step = 每步
compare-per-sample = 每个样本
compare-per-whole = 总共
compare-less = 少 { $share }
compare-more = 多 { $share }
compare-faster = B 更快：{ $per }耗时少 { $share }（95%：{ $from }到{ $to }）。
compare-slower = B 更慢：{ $per }耗时多 { $share }（95%：{ $from }到{ $to }）。
compare-alike = 没有明显差别：B 的改动小于值得计较的 { $counts }（95%：{ $per }耗时{ $from }到{ $to }）。
compare-small = 没有值得计较的明显差别：B { $per }耗时{ $from }到{ $to }（95%），可能小于值得计较的 { $counts }。
compare-unclear = 没有明显差别：B { $per }耗时可能{ $from }到{ $to }（95%）。增加对数或延长每次运行可以缩小区间。
compare-too-few = 没有结论：跑了 { $count ->
    [one] 1 对
   *[other] { $count } 对
}，至少需要 { $least } 对。
compare-mixed = 没有结论：A 和 B 的训练步不能以同一种方式得知。
compare-apart = B 的这次运行{ $per }耗时{ $change }。
compare-apart-unknown = 各跑一次分不清差别来自程序还是机器；用两条命令运行 `whyidle compare 'A' 'B'` 才能分清。
compare-nothing = 没有结论：其中一个没有单步耗时。
compare-differences = 除命令外，不同之处还有：{ $list }。
compare-self-passes = 机器通过自检：A 与自身相比没有明显差别。{ $count } 对运行能分辨约 { $share } 的差别。
compare-self-fails = 机器未通过自检：A 与自身相比，耗时似乎{ $change }（95%：{ $from }到{ $to }）。各次运行之间有东西在变，请先找到它再做对比。
compare-losses-alike = 两者训练效果一致：loss 相差 { $distance }，允许 { $allowed }。
compare-losses-differ = 不要因为快就保留 B：loss 相差 { $distance }，只允许 { $allowed }；最后 A 为 { $a }，B 为 { $b }。
compare-losses-nan = 不要保留 B：从{ $place }起，它的 loss 不是数（NaN 或无穷）。
compare-losses-own-nan = 从{ $place }起，A 自己的 loss 就不是数（NaN 或无穷）：未对比 loss。
compare-losses-unknown = B 与 A 的训练效果是否一致，无从得知：打印的 loss 太少，或不在相同的步数上。
compare-at-step = 第 { $count } 步
compare-at-sample = 第 { $count } 个样本
compare-how = { $count ->
    [one] 1 对运行
   *[other] { $count } 对运行
}，先后顺序交替，最多 { $most } 对。
compare-stalls = 超过中位数三倍的步已剔除：A { $a } 步，B { $b } 步。
compare-stalls-kept = 超过中位数三倍的步计入，因为它们频繁或按节奏出现：A { $a } 步，B { $b } 步。
compare-unsettled = { $count ->
    [one] 有 1 次运行
   *[other] 有 { $count } 次运行
}的单步耗时仍在变化：请让它们运行更久。
compare-interrupted = 已中断：结果来自已完成的各对运行。
compare-title-steps = 单步耗时
compare-title-whole = 程序耗时
compare-title-pairs = 逐对结果
compare-rate = { $samples } 样本/s
compare-kept = 已存为 { $id }：`whyidle history show { $id }`。

## 历史

history-empty = 还没有记录：从 `whyidle bench -- python train.py` 开始。
history-faster = [B 更快]
history-slower = [B 更慢]
history-alike = [无差别]
history-unclear = [不明确]

## 文件中的表格

benchmark-title = 基准测试
benchmark-date = 日期（UTC）
benchmark-commit = 提交
benchmark-step = 单步
benchmark-interval = 95%
benchmark-rate = 样本或 token/s
benchmark-busy = GPU 驻留
benchmark-peak = 显存峰值
benchmark-energy = 每步 J
benchmark-on = 环境
benchmark-command = 命令

## 程序运行时的提示

cli-turn-taken = { $gpu } 上正在进行另一项实验：{ $who }
cli-turn-cores = 本机的 CPU 核
cli-turn-taken-hint = 请等它结束：同时进行会互相干扰测量。
cli-turn-unlocked = 无法在 { $path } 建立锁：{ $reason }
cli-bench-progress = { $seconds } s：{ $steps } 个稳态步
cli-bench-progress-step = { $seconds } s：{ $steps } 个稳态步，每步 { $step }
cli-bench-appended = 已在 { $path } 追加一行
cli-bench-unmeasured = { $path }：{ $reason }
cli-compare-ran = 第 { $pair } 对（最多 { $most } 对）：{ $side } 耗时 { $time }
cli-compare-failed = { $side } 没有可对比的数据：{ $reason }
cli-compare-failed-hint = 它的输出在 { $path }。
cli-compare-what = 没有可对比的内容
cli-compare-what-hint = 给出两条命令：whyidle compare 'python a.py' 'python b.py'；或一条命令加一处改动：whyidle compare --set --workers=8 -- python train.py；或 whyidle history 中的两个编号。
cli-set-form = --set 的格式是 NAME=VALUE，不能是 “{ $value }”
cli-set-not-there = --set：命令里没有 “{ $name }”
cli-set-not-there-hint = 请按原样写出选项，--set --{ $name }={ $value }，没有时会添加；或设置环境变量，--set env:NAME=VALUE。
cli-set-open = --set：命令中的 { $name } 未填，A 因此没有值
cli-set-open-hint = 请把 A 的值写进命令，或给出两条命令。
cli-history-no-home = 没有主目录，无处保存历史
cli-history-no-home-hint = 请用 --db 指定文件。
cli-history-unusable = 无法使用历史文件 { $path }：{ $reason }
cli-history-foreign = { $path } 是其他程序的数据库，不是历史文件：没有写入任何内容
cli-history-newer = 历史文件 { $path } 由更新版本的 whyidle 写成
cli-history-damaged = 历史中的第 { $id } 条已损坏
cli-history-missing = { $path } 处没有历史
cli-history-missing-hint = `whyidle bench --db FILE -- python train.py` 会新建一个；不加 `--db` 则使用当前用户的历史。
cli-history-none = 历史中没有 { $id }
cli-history-none-hint = `whyidle history` 列出已有的记录。
cli-history-no-run = { $id } 是一次对比，不是运行
cli-compare-no-steps = { $path } 中没有单步耗时
cli-value-share = 请给出比例，例如 2% 或 0.02
