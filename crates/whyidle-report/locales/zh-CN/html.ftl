# `--report` 写出的网页：标题、定义、脚本里的词。

## 框架

html-skip = 跳到结论
html-language = 语言
html-theme = 主题
html-theme-auto = 跟随系统
html-theme-light = 浅色
html-theme-dark = 深色
html-made-by = 由 whyidle { $version } 生成。本页没有从网络加载任何内容，也不会把任何内容发送出去。
html-no-script = 图形需要 JavaScript；文字、数字和表格不需要。

## 标题

html-title-change = 处方
html-title-findings = 发现
html-title-timeline = 单步时间线
html-title-ranks = 各 rank
html-title-signals = 信号随时间的变化
html-title-stacks = Python 调用栈
html-title-steps = 各步
html-title-tables = kernel、算子、空隙
html-title-trust = 可信度
html-title-next = 下一步
html-title-definitions = 每个数字怎么算
html-title-fields = 全部字段
html-title-memory = 显存
html-title-machine = 机器
html-title-ncu = Nsight Compute 测过的 kernel
html-title-flight = 集合通信：来自 flight recorder 与 NCCL 日志
html-title-evidence = 记录到的内容
html-title-pairs = 逐对结果
html-title-series = 两边的各步
html-title-history = 各次运行
html-title-effect = 效果及其区间
html-title-attempts = 各项改动的效果
html-title-fed = 各种供数方式下的单步
html-title-gate = 变化与允许的范围
html-title-jobs = 各作业没有 kernel 的 GPU 时间
html-title-lines = 差别在哪里
html-effect-of-b = B 相对 A
html-gate-change = 新的相对基线
html-interval = 95%：{ $low } 至 { $high }
html-unclear = 没有超出偶然波动
html-sweep-chosen = 选这个
html-title-inputs = 读了什么

## 页首

html-fact-step = 单步耗时
html-fact-working = GPU 有效工作
html-fact-resident = GPU 驻留
html-fact-confidence = 可信度
html-true-step = 未开 profiler 的单步
html-traced-step = trace 中的第 { $number } 步
html-today = 现在

## 账本

html-column-line = 条目
html-column-interval = 区间
html-column-traced = trace 中每步
html-ledger-note = 各条目互不重叠，相加等于单步。条越长，时间越多；所有条用同一比例。

## 发现

html-ladder-note = 依次改动，每一步之后预计的单步耗时。细线是区间。
html-expected-step = 预计单步
html-why = 依据
html-cause = 这是什么
html-copy = 复制

## 时间线

html-timeline-of = trace 的第 { $step } 步，GPU { $gpu }，{ $time }：长度最接近中位数的一步，其中含 profiler 的开销。
html-timeline-how = 拖动或用方向键移动；滚轮或 +、− 缩放；0 看全部；n 和 p 跳到下一个、上一个空隙。点击空隙，看 GPU 在等谁。
html-timeline-label = 一步的时间线：GPU 做了什么、在等谁、CPU 侧同时在做什么
html-timeline-none = trace 来自标准输入，无法再读一遍来画时间线：请给出文件。
html-timeline-merged = 放不下时，相邻的块画成一块，并注明代表多少个；块上空出的高度是其中的停顿。不短于单步千分之一的空隙总是单独画出。
html-zoom-in = 放大
html-zoom-out = 缩小
html-zoom-all = 全部
html-gap-next = 下一个空隙
html-gap-previous = 上一个空隙
html-gap-longest = 最长的空隙
html-gap-hint = 点击一个空隙，或用上面的按钮。

## 其他图

html-signals-note = 每个点是一小段时间内的平均值；没有采样的时段，线是断开的。
html-cores-note = 训练进程和它的 DataLoader worker 占用的 CPU 核数。
html-stacks-note = 宽度表示该帧出现的次数。点击一帧，或用方向键移动再按回车，可单独查看。
html-stacks-label = 调用栈冰柱图：外层在上，内层在下
html-stacks-reset = 显示全部
html-ranks-note = 每个 rank 的单步中各条目的占比，颜色越深占比越高。
html-steps-note = 左图按运行顺序，右图是各长度出现的次数。
html-outliers = 有 { $count } 步超过中位数的 1.5 倍：{ $named }。
html-outlier = { $number }（{ $time }）
html-outliers-period = 每隔 { $period } 步出现一次。
html-memory-parts = 峰值由什么组成
html-memory-time = 显存随时间的变化

## 可信度

html-severity-loss = 有缺失
html-severity-suspect = 可疑
html-severity-info = 说明

## 下一步

html-next-command = 接下来只需运行这一条命令
html-again-command = 重新生成本页
html-perfetto = 在 Perfetto 里看带解释的完整 trace：先写出文件
html-perfetto-open = 再到这里打开该文件；Perfetto 在浏览器里读取，不会上传：

## 全部字段

html-fields-note = 与 --format json 输出的内容相同（schema whyidle.verdict/1）。把鼠标移到名称上可看定义（英文）。

## 每个数字怎么算

html-term-step = 单步
html-def-step = 从一次优化器更新到下一次的实际时间，未开 profiler。除非另有说明，占比都以这个单步为分母。
html-term-basis = 单步耗时的来源
html-def-basis = 用 --step-ms 给出；实测，即采样记录里的单步耗时；由 trace 估计，扣除 profiler 的开销；以上都做不到时，用 trace 中的单步。
html-term-interval = 区间
html-def-interval = 预计数值所在的范围。两端写出来相同时不显示区间。
html-term-working = GPU 有效工作
html-def-working = 有 kernel 或卡内拷贝在运行的时间的并集，不含集合通信。是并集而不是求和：两个 kernel 同时运行只算一次。
html-term-resident = GPU 驻留
html-def-resident = 卡上有任何活动（kernel、集合通信、拷贝）的时间的并集。nvidia-smi 的 GPU-Util 看到的就是它。
html-term-ledger = 账本条目
html-def-ledger = 单步的每一纳秒恰好属于一个条目：工作按种类分，等待按 GPU 在等谁分，剩下的归入其余。空隙由哪次 kernel 启动结束，就归到 CPU 侧在那之前所做的事上。
html-term-share = 占比
html-def-share = 条目的时间除以未开 profiler 的单步耗时。
html-term-traced = trace 中
html-def-traced = 条目在 trace 各步中的时间除以步数，含 profiler 的开销。
html-term-waiting = GPU 在等
html-def-waiting = GPU 上什么都没有运行，或只有没被计算掩盖的拷贝或集合通信。
html-term-rest = 其余
html-def-rest = 已排队的 kernel 之间的停顿、profiler 自身，以及无法解释的部分。
html-term-cost = 代价
html-def-cost = 该原因在未开 profiler 的每一步里占去的时间。
html-term-after = 改动后的单步
html-def-after = 改动之后剩下的单步耗时，按现在一步的样本数计。
html-term-method = 回放、模型、上限
html-def-method = 回放：去掉等待，按 trace 的依赖关系重放。模型：写明出处的 kernel 模型。上限：等待的代价，直到遇到下一个瓶颈；真实收益不会超过它。
html-term-confidence = 可信度
html-def-confidence = 高：可靠。中：可靠，但含有估计。低：判断离阈值不到 10%，或证据有缺失。
html-term-replay = 回放误差、松弛 (slack)
html-def-replay = 不加松弛时，回放的单步与 trace 中的单步相差多少；以及没有依赖关系能解释的时间占多少。超过 10% 就不做预测。
html-term-ranks = rank：最后到达、等待、造成等待、自身步调
html-def-ranks = rank 在集合通信中最后到达的次数；每步中没被计算掩盖的、等待别人和让别人等待的时间；以及从不等待时它的单步耗时。
html-term-signals = 信号
html-def-signals = GPU 自身的计数器（SM、Tensor Core、显存带宽、功耗），以最大值为 1；进程的 CPU 时间以核为单位。

## 脚本里的词

html-js-copied = 已复制
html-js-copy-failed = 请按 Ctrl+C 复制
html-js-device = GPU
html-js-waited = 空隙：{ $line }
html-js-host = CPU 侧当时在：{ $events }
html-js-nothing-recorded = 没有记录到任何事件
html-js-step-number = 步
html-js-step-time = 单步耗时
html-js-steps = 步数
html-js-seconds = 秒
html-js-share = 占比
html-js-cores = 核
html-js-allocated = 已分配
html-js-reserved = 已保留
html-js-pair = 对
html-js-samples = 次采样
html-js-run = 运行
html-js-outlier = 偏长
html-js-merged = 多个
html-js-no-match = 这一步没有空隙。
html-js-value = 取值
html-js-chosen = 选这个
html-js-plateau = 与最好的相当
html-js-rate = 每秒样本数
html-js-stream = stream { $number }
html-js-thread = CPU：{ $name }
html-js-count = { $time } 内 { $count } 个
html-js-idle = 其中 { $time } 空闲（{ $line }）
html-js-gap-of = { $time }，占这一步的 { $share }，起点 { $at }
html-js-ended-by = 由 { $name } 结束
html-js-launched-by = 由 { $name } 启动
html-js-from = 来自 { $name }
html-js-view = { $from } 至 { $to }

## 写出网页时的话

cli-report-no-stream = 网页不能写到标准输出：那里要打印结论
cli-report-no-stream-hint = 请给出文件名
cli-report-not-opened = 无法在浏览器中打开 { $path }：{ $reason }

## `serve` 的页面

html-site-title = 记录与运行
html-site-programs = 正在运行
html-site-no-programs = 本机没有正在训练的程序，或者无权查看。
html-site-recordings = 记录
html-site-no-recordings = 这里没有 whyidle 能读的内容。
html-site-more = 没有全部列出：请对更下层的文件夹使用 serve。
html-site-history = 历史
html-site-not-found = 没有这个名称的内容
html-site-busy = 已经在观察 { $count } 个程序
html-site-busy-hint = 关掉其中一个的页面即可。
html-live-title = 进程 { $pid }
html-live-begins = 正在观察……
html-live-too-early = 现在还不能下结论
html-live-seen = 依据最近 { $time } 的情况。
html-live-ended = 程序已结束。
html-live-broken = 观察中断了。

## serve

cli-serve-at = { $address } – 按 Ctrl+C 结束
cli-serve-no-folder = 不能浏览 { $path }：{ $reason }
cli-report-no-page-there = { $path } 不是网页，不会被替换
