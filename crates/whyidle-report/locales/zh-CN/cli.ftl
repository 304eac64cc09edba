# 程序在标准错误输出上说的话。found-* 接在 “而是” 之后。

cli-error = 错误：
cli-hint = 提示：
cli-unknown-cause = 没有 “{ $cause }” 这个原因
cli-did-you-mean = 是不是 { $cause }？
cli-for-example = 例如：{ $command }
cli-list-causes = `whyidle explain` 会列出所有原因

read-io = { $path }：{ $reason }
read-empty = { $path } 是空的
read-not-a-trace = { $path } 不是 profiler 的 trace，而是{ $found }
read-newer-schema = { $path } 由更新版本的 whyidle 记录（{ $schema }）
read-unreadable = { $path } 从第 { $byte } 字节起无法解析，此前没有任何事件
read-damaged = { $path }：解压到 { $byte } 字节后压缩数据损坏，此前没有任何事件
read-database = { $path }：数据库无法读取（{ $reason }）
read-no-trace = { $path } 里没有 trace
read-not-a-digest = { $path } 里没有 rank 摘要
read-not-a-dump = { $path } 既不是 flight recorder 的 dump，也不是 NCCL 日志，而是{ $found }
read-snapshot-cut = { $path } 在一个值的中间就结束了（第 { $byte } 字节）：显存快照要从结尾往回推算，被截断的无法使用
read-snapshot-code = { $path } 在第 { $byte } 字节要求执行代码；whyidle 只读数据，不执行任何代码
read-snapshot-nonsense = { $path } 从第 { $byte } 字节起无法解析
read-no-dump = { $path } 里没有 flight recorder 的 dump，也没有 NCCL 日志
read-not-evidence = { $path } 不是 whyidle 能读取的内容，而是{ $found }

found-empty = 一个空文件
found-pickle = 一个 Python pickle 文件
found-sqlite = 一个没有 Nsight Systems 数据表的 SQLite 数据库
found-sqlite-stream = 一个经过压缩或来自管道的 SQLite 数据库
found-nsys-report = 一份 Nsight Systems 报告
found-zip = 一个 zip 压缩包
found-other-compression = 用 gzip 以外的格式压缩的数据
found-html = 一个网页
found-json = 不含事件列表的 JSON
found-recording = 采样记录的说明文件
found-digest = rank 摘要
found-smi-error =  nvidia-smi 对不存在的字段的报错
found-no-header =  nvidia-smi 的查询结果，但缺少说明各列的表头
found-text = 普通文本
found-binary = 二进制数据

hint-check-path = 检查路径
hint-export-again = 重新导出 trace，等程序写完再结束
hint-record-trace = 用 torch.profiler 采集一份，再用 export_chrome_trace("trace.json.gz") 导出
hint-give-evidence = whyidle 读取 PyTorch 与 Nsight Systems 的 trace、采样记录、CUDA 显存快照、Nsight Compute 的 CSV、nvidia-smi、DCGM、iostat 与 top 的输出、调用栈、flight recorder 以及 NCCL 日志
hint-query-again = 用 `nvidia-smi --help-query-gpu` 列出的字段重新查询，并且不要加 `noheader`
hint-dump-flight = 运行前设置 TORCH_NCCL_DUMP_ON_TIMEOUT=1 和 TORCH_FR_DUMP_TEMP_FILE=/路径/前缀_；日志用 NCCL_DEBUG=INFO 和 NCCL_DEBUG_FILE
hint-snapshot-again = 重新导出快照（torch.cuda.memory._dump_snapshot），等程序写完，并完整复制
hint-plain-snapshot = torch.cuda.memory._dump_snapshot 导出的快照只含数据；这个文件也不要用 Python 的 pickle 加载
hint-give-directory = 给出 trace 所在的目录
hint-export-nsys = 导出 Nsight Systems 的报告：nsys export --type sqlite REPORT.nsys-rep
hint-give-file = 解压后直接给出文件本身
hint-update = 用该版本或更新版本的 whyidle 读取
hint-unpack = 先解压
hint-download-again = 重新下载文件：这是一个网页，可能是登录页
hint-make-digest = 用同一版本的 whyidle 生成：`whyidle digest TRACE… -o FILE`。
hint-merge-digests = 摘要用 `whyidle merge` 合并判断。
cli-output = 输出写入失败：{ $reason }

what-if-unknown = --what-if：没有 “{ $cause }” 这个原因
what-if-no-lever = --what-if：{ $cause } 没有可以回放的处方
what-if-causes = 可选 { $causes }；几个一起用 + 连接
what-if-bad-value = --what-if：{ $cause } 不接受 “{ $value }”
what-if-takes-nothing = 只写 { $cause }，不带 =
what-if-takes-count = 给出 1 到 { $most } 的整数，例如 { $cause }=4
what-if-takes-word = 从 { $words } 中选一个
what-if-takes-name = 给出函数名的一部分，例如 { $cause }=validate
what-if-nothing-there = trace 里没有 { $cause } 的内容，没有可改的。
what-if-other-device = { $cause } 的依据在这种设备（{ $vendor }）上是否成立未知，不作预测。
what-if-no-replay = 不作预测：回放不能足够准确地重现这份 trace。
what-if-twice = --what-if：{ $cause } 出现了两次
what-if-twice-hint = 每个原因只写一次；要试另一个值就再加一个 --what-if
what-if-fewer-workers = 比现在的 { $now } 个 worker 更少；现在供得上，最少要几个，这份 trace 看不出来。
what-if-workers-unknown = 不知道现在有几个 worker，所以给出的数目没有用上：最多是等待全部消失。trace 旁边的采样记录可以说明（"workers"）。
what-if-no-such-name = 给 GPU 供活的线程上没有叫这个名字（“{ $name }”）的东西。
what-if-per-sample = 按今天的样本数计：新的一步更长，装的样本也更多。
what-if-memory = 按今天的样本数计。按比例推算这个 batch 放不下：现在的峰值是 { $bytes }。用 `whyidle plan --calibrate` 可以算准。
what-if-memory-unknown = 按今天的样本数计。放不放得下不知道：trace 里没有显存峰值。
what-if-batch-norm = 梯度累积时 BatchNorm 看到的 batch 更小，统计量会变，训练结果也会随之改变。

## Digests of ranks
cli-digest-written = { $count } 个 rank 的摘要已写入 { $path }（{ $bytes }）
cli-digest-left-out = 略去 { $path }：{ $reason }
cli-digest-not-one-job = 这些摘要不属于同一个作业：rank 总数不同。
cli-digest-not-one-job-hint = 请给出同一个作业各 rank 的摘要。
cli-no-such-rank = 摘要里没有这个 rank。
cli-not-overwritten = { $path } 已存在且不是摘要，不会覆盖
cli-not-overwritten-hint = 用 -o 指定另一个文件。
cli-not-written = 无法写入 { $path }：{ $reason }

# 命令行看不懂时说的话。

cli-usage = 用法：
cli-usage-help = 在命令后加 --help 可以看到全部选项。
cli-usage-unknown-argument = 这里没有 { $argument } 这个选项或参数
cli-usage-unknown-command = 没有 { $command } 这个命令
cli-usage-not-built = 这个 whyidle 在构建时没有包含 { $command } 命令
cli-usage-not-built-hint = 构建时加上即可：cargo install --locked --path crates/whyidle --features { $feature }
cli-usage-missing = 还缺：{ $arguments }
cli-usage-conflict = { $argument } 不能与 { $others } 同时使用
cli-usage-twice = { $argument } 出现了两次
cli-usage-no-value = { $argument } 后面要有一个值
cli-usage-bad-value = { $argument } 不能是 “{ $value }”：{ $reason }
cli-usage-values = { $argument } 的值个数不对
cli-usage-not-utf8 = 有一个参数不是有效的 UTF-8
cli-usage-not-understood = 看不懂这条命令
cli-value-one-of = 可选 { $known }
cli-value-whole = 请给出 { $least } 到 { $most } 的整数
cli-value-number = 请给出 { $least } 到 { $most } 的数，例如 { $example }
cli-value-duration = 请给出秒或分钟，1 秒到一天，例如 30s 或 5m
cli-value-steps = 请给出一步或一段，例如 5 或 3..7（含两端）
cli-value-steps-empty = 这一段是空的：先写小的一端
cli-value-checkpoint = 可选 none、selective、full 或 every:K
cli-value-every = 写成 every:K，K 为 2 到 10,000
cli-value-schedule = 可选 gpipe、1f1b、interleaved:V 或 zero-bubble
cli-value-interleaved = 写成 interleaved:V，V 为 2 到 10,000
cli-value-address = 请给出 IP 地址和端口，例如 127.0.0.1:9401、[::1]:9401 或 localhost:9401；不查询其他主机名
cli-value-unfit = 没有这样的值

cli-several-recordings = 给出了多个目录：一个结论只针对一份采样记录
cli-several-recordings-hint = 只给一个目录；多个 rank 的 trace 请用 `whyidle trace`
