# 查询、导出与比较证据。

## sql

cli-sql-no-table = 没有表 { $name }
cli-sql-no-column = 没有列 { $name }
cli-sql-tables = 可用的表：{ $tables }；`.schema` 列出各列
cli-sql-no-command = 没有命令 { $command }
cli-sql-commands = `.tables` 列出所有表，`.schema` 列出各列及其含义
cli-sql-not-read = 这条语句不只是读取
cli-sql-not-read-hint = 只接受单条 SELECT；`whyidle export --to sqlite` 可以写出一个属于你的数据库
cli-sql-nothing = 这条语句什么也没有查询
cli-sql-several = 这里有多条语句，请一次只给一条
cli-sql-time-up = 查询在 { $time } 后被停止
cli-sql-time-up-hint = --timeout 可以放宽时限；没有连接条件的 join 永远跑不完
cli-sql-too-large = 查询占用的内存超过上限
cli-sql-fault = { $reason }
cli-sql-no-samples = samples 与 stacks 两张表来自采样记录；这里给的不是采样记录，所以它们是空的

## export

cli-export-written = 已写出 { $path }（{ $bytes }）
cli-export-there = { $path } 已经存在，未覆盖
cli-export-there-hint = 换一个名字，或加上 --force
cli-export-no-stream = 数据库和目录不能写到标准输出
cli-export-no-stream-hint = 用 -o 给一个名字
cli-export-nothing = 没有可以写出的内容
cli-export-nothing-hint = perfetto 需要 trace；speedscope 与 folded 需要采样记录里的 Python 调用栈，或者 trace

## diff：A 是先给出的一方，B 是后给出的一方。时间都按单步计。

diff-longer = B 的单步耗时为 { $b }，比 A 的 { $a } 多 { $difference }（{ $share }）。
diff-shorter = B 的单步耗时为 { $b }，比 A 的 { $a } 少 { $difference }（{ $share }）。
diff-same = 没有明确差别：单步耗时 A 为 { $a }，B 为 { $b }，两者的区间相交。
diff-mostly = 主要来自：{ $lines }。
diff-clearly = 变化明确的有：{ $lines }。
diff-shifted = 但时间花在了别处：{ $lines }。
diff-line-more = { $line } +{ $difference }
diff-line-less = { $line } −{ $difference }
diff-head-rank = rank { $rank }
diff-step = 单步
diff-title-ledger = 单步时间账本，A → B
diff-title-kernels = kernel，每个被采集的单步所占的 GPU 时间
diff-title-operators = 算子，每个被采集的单步所占的 GPU 时间
diff-title-host = CPU 侧，每个被采集的单步的时间，含 profiler 开销
diff-title-readings = 各项指标，A → B
diff-title-places = 主线程调用栈，占采样数的比例
diff-only-a = { $what }：只在 A 中
diff-only-b = { $what }：只在 B 中
diff-calls = 每步 { $a } → { $b } 次
diff-more = { $count ->
    [1] 还有 1 行，用 -v 查看
   *[other] 还有 { $count } 行：-v 显示更多，--format json 显示全部
}
diff-more-still = 还有 { $count } 行，用 --format json 查看
diff-brackets = 括号中的差别，不超过同一个程序各步之间、各次运行之间的差别。
diff-caveat-basis = 两边的单步耗时来源不同：A 为{ $a }，B 为{ $b }。
diff-caveat-found-by = 两边识别单步的方式不同：A 为 { $a }，B 为 { $b }。它们可能不是程序的同一段。
diff-caveat-gpu = GPU 不同：A 为 { $a }，B 为 { $b }。
diff-caveat-ranks = rank 数不同：A 为 { $a }，B 为 { $b }。
diff-caveat-rank-shown = 比较的不是同一个 rank：A 为 { $a }，B 为 { $b }。可用 --rank 指定。
diff-caveat-version = { $name } 版本不同：A 为 { $a }，B 为 { $b }。
diff-caveat-one-trace = 只有 { $side } 有 trace：不比较 kernel 与算子，它的账本也只细到采样所能区分的程度。
diff-caveat-one-frames = 只有 { $side } 的 trace 带 Python 栈帧：它们拖慢 CPU 侧，并占去所包含事件的时间。
diff-caveat-one-step = { $side } 只有一个完整的单步：各步之间差多少无从得知。
cli-diff-refused = { $path } 无法比较：{ $reason }
