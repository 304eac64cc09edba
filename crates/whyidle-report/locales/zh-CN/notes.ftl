# 证据有什么问题：每个代码一条，`note-<code>`；$count 是次数。

note-truncated = 文件在一个事件中间结束：之前的内容已读取，之后的缺失。
note-damaged-compression = 压缩文件损坏或不完整：损坏处之前的内容已读取。
note-damaged-database = 数据库损坏或不完整：损坏处之前的内容已读取，之后的缺失。
note-graphs-whole = { $count } 次 CUDA graph 启动只记录了整体，没有内部的 kernel：采集时加 --cuda-graph-trace=node 就能看到。
note-tracer-warning = 采集工具自身报告了 { $count } 条警告或错误：记录可能不全。
note-other-processes = 文件里还有 { $count } 个用过 GPU 的进程：用 --device 按 GPU 选择进程。
note-damaged-columns = { $count } 个文件损坏或不完整：损坏处之前的行已读取，之后的缺失。
note-malformed-line = { $count } 行不是 JSON 或不是 UTF-8，未计入。
note-no-text = { $count } 条记录在该字段里没有文本，未计入。
note-long-document = { $count } 篇文档超过 32 MiB，未计入。
note-empty-document = { $count } 篇文档是空的。
note-malformed-event = 文件中有 { $count } 处不是可读的事件，已跳过。
note-mended-name = { $count } 个名称含未转义的引号或控制字符，已修补。
note-not-utf8 = { $count } 个名称不是合法的 UTF-8，错误字节已替换。
note-no-start = { $count } 个事件没有可用的起始时间，未计入。
note-no-duration = { $count } 个事件没有时长，按 0 计。
note-negative-duration = { $count } 个事件的时长为负，按 0 计。
note-zero-time = { $count } 个 GPU 活动的时间为 0（驱动丢了记录），未计入。
note-absurd-time = { $count } 个事件的时间不可能为真，未计入。
note-stream-overlap = { $count } 个 GPU 活动与同一 stream 上的其他活动重叠，重叠时间只算一次。
note-outside-window = { $count } 个 GPU 活动落在 profiler 声明的采集窗口之外。
note-no-launch = { $count } 个 GPU 活动在 trace 里找不到启动它的调用：多数是在 trace 开始前启动的。
note-no-activity = { $count } 次启动在 trace 里找不到对应的 GPU 活动：trace 先于 GPU 结束，或记录丢失。
note-unused = { $count } 个事件属于 whyidle 不使用的类别。
note-foreign-device = { $count } 个事件来自 whyidle 不认识的加速器。
note-untested-device = 这份 trace 来自昇腾设备。whyidle 按文档描述的格式读取，没有用真实设备的文件测试过：请与其他工具的数字核对。
note-over-budget = 文件超出了读取预算（字节、嵌套、行数或时间）：此后的内容没有读取。
note-table-full = trace 超出 whyidle 的容量：{ $count } 个事件未计入。
note-ranks-duplicate = 有 { $count } 份 dump 的 rank 与已读过的重复，没有采用。
note-ranks-unnumbered = 有 { $count } 份 dump 的文件名里看不出 rank，按顺序编了号。
note-ranks-untested-version = 有 { $count } 份 dump 的格式版本比测试过的都新。
note-ranks-overwritten = 有 { $count } 个 rank 的缓冲区已写满：更早的操作已被覆盖。
