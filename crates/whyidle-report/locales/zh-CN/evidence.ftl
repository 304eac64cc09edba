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
