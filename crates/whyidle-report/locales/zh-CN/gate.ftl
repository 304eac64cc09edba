# 门禁：把新的运行与基线相比。

gate-what-step = 单步耗时
gate-what-sample = 每个样本耗时
gate-what-whole = 总耗时
gate-what-samples = 样本吞吐量
gate-what-tokens = token 吞吐量
gate-what-memory = 张量显存峰值
gate-what-energy = 每步能耗
gate-within = 在限度内：{ $what }比基线{ $change }（95%：{ $from }到{ $to }），允许{ $allowed }。
gate-regressed = 性能退化：{ $what }比基线{ $change }（95%：{ $from }到{ $to }），只允许{ $allowed }。
gate-interval = 无法判断：{ $what }比基线{ $change }，但可能{ $from }到{ $to }（95%），允许的{ $allowed }正在其中。
gate-more-runs = 若各次运行的差异仍是这么大，两边各约 { $count } 次运行就能分清（估计值）：用 --runs { $count }，基线也要这么多次。
gate-too-near = 离限度太近，增加运行次数也没有用；换一个限度才行。
gate-few-runs = 无法判断：两边各只有一次运行，看不出各次运行本身的差异有多大。请多测几次：用 --runs 5，或使用含多次运行的基线。
gate-mixed = 无法判断：基线和新运行的训练步不是以同一种方式得知的。
gate-machine = 不作判断：基线是在另一种机器上测的。请在本机上重测基线，或用 --anyway 照样判断。
gate-no-baseline = 无法判断：基线中没有这一项：{ $what }。
gate-no-new = 无法判断：新运行中并非每次都有这一项：{ $what }。
gate-interrupted = 无法判断：全部运行结束之前已中断。
gate-failed = 无法判断：{ $reason }
gate-nothing-seen = 程序没有显示任何可测的内容。
gate-losses-nan = 退化：从{ $place }起，新运行的 loss 不是数（NaN 或无穷）。
gate-losses-differ = 退化：新运行的训练效果不同。loss 与基线相差 { $distance }，只允许 { $allowed }；最后基线为 { $a }，现在为 { $b }。
gate-losses-alike = 两者训练效果一致：loss 相差 { $distance }，允许 { $allowed }。
gate-losses-apart = loss 相差 { $distance }；训练本身是否就有这么大的差异，单次运行看不出来。
gate-losses-own = 基线自己的 loss 就不是数（NaN 或无穷）：未对比 loss。
gate-losses-unknown = 未对比 loss：已知的 loss 太少，或不在相同的步数上。
gate-scatter = 各次运行之间相差 { $scatter }（标准差），区间由此得出。
gate-scatter-borrowed = 各次运行之间相差 { $scatter }（新运行的标准差；基线只有一次运行，按同样的差异计）。
gate-differences = 除提交外，不同之处还有：{ $list }。
gate-other-command = 命令与基线的不同。
gate-old = 基线测于 { $age }之前：此后机器上的变化不在任何区间之内。`whyidle compare` 会把两者成对运行。
gate-hours = { $count ->
    [one] 1 小时
   *[other] { $count } 小时
}
gate-days = { $count } 天
gate-baseline = 基线
gate-new = 现在
gate-runs = { $count ->
    [one] 1 次运行
   *[other] { $count } 次运行
}
gate-token-rate = { $tokens } token/s
gate-title-runs = 各次运行
gate-title-within = whyidle：在限度内
gate-title-regressed = whyidle：性能退化
gate-title-unclear = whyidle：无法判断

## 程序运行时的提示

cli-gate-no-ref = 基线 “{ $ref }” 既不是历史中的编号，也不是文件，也不是本仓库的提交
cli-gate-no-runs = 历史中没有这条命令在 { $ref }（{ $commit }）上的运行
cli-gate-no-runs-hint = 那里有其他命令的运行，这里要的是 { $command }。`whyidle history` 会列出它们。
cli-gate-no-runs-measure = 请在那里测一次：git checkout { $ref }，然后 whyidle gate --save baseline.json -- { $command }；再在这里用 --baseline baseline.json。
cli-gate-no-last = 历史中还没有运行
cli-gate-failed-run = { $ref }：这次运行失败或被中断，没有测到什么
cli-gate-file = { $path } 不是基线：{ $reason }
cli-gate-file-hint = whyidle gate --save FILE 和 whyidle bench --format json 都会写出基线。
cli-gate-file-json = 从第 { $line } 行起不是 JSON
cli-gate-file-schema = 它是 { $schema } 的文档
cli-gate-file-other = 它不是一次运行的文档
cli-gate-file-damaged = 其中一次运行已损坏：{ $reason }
cli-gate-file-empty = 其中没有运行
cli-gate-file-many = 其中的运行超过 { $count } 次
cli-gate-file-large = 文件太大
cli-gate-ran = 第 { $run } 次运行，共 { $most } 次：{ $time }
cli-gate-saved = 已把 { $count ->
    [one] 1 次运行
   *[other] { $count } 次运行
}写入 { $path }
cli-gate-no-run = --run 要的是历史中的编号或 last，而不是 “{ $value }”
cli-gate-no-baseline-there = { $path } 已存在且不是基线文件：没有覆盖任何内容
cli-gate-no-page = 没有 --baseline 就没有判定，也就没有网页可写
