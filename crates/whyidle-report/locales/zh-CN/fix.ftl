# 在运行中的程序里试改：各项改动、差分运行、逐项试处方。

## 改动

tried-made = 在程序运行时所做的改动（没有修改它的任何文件）：{ $list }。
tried-change = { $name } { $from } → { $to }
tried-change-new = { $name } → { $to }
tried-change-at = { $change }（{ $place }）
tried-not = { $name } 没有产生任何改动：{ $reason }。
tried-why-never = 程序没有运行到它
tried-why-iterable-dataset = 数据集按流式读取，每个 worker 都会把它完整读一遍
tried-why-already = 本来就是这样
tried-why-no-workers = DataLoader 没有 worker
tried-why-no-gpu = 没有任何计算在 GPU 上
tried-why-raised = PyTorch 拒绝了它：{ $detail }
tried-why-not-supported = 该设备或该版本的 PyTorch 不支持
tried-why-no-convolutions = 模型里没有卷积
tried-why-distributed = 不能用在 DistributedDataParallel 之内
tried-why-no-layers = 模型里没有更长的同构层序列
tried-why-overridden = 程序之后自己又改了它
tried-why-in-memory-files = 它的文件在内存里
tried-why-other = { $why }
compare-overhead = B 进入稳态要多花 { $time }。
compare-overhead-paid = B 进入稳态要多花 { $time }；{ $steps ->
    [one] 1 步
   *[other] { $steps } 步
}之后就赚回来了。

## 差分运行

differential-compute = 瓶颈是程序自身的计算：全部数据开销只占单步的 { $share }。
differential-transfer = 最大的停顿是等待 batch 传到设备：每步 { $time }，占 { $share }。
differential-prep = 最大的停顿是数据预处理：每步 { $time }，占 { $share }。原因在于对每个样本的处理，而不是读取文件。
differential-fetch = 文件不在页缓存时，最大的停顿是读取数据：每步 { $time }，占 { $share }。瓶颈在存储。
differential-open = 无法判断哪种停顿最大：看起来最大的一种每步 { $time }，但各次运行之间波动太大。增加步数或轮数可以判明。
differential-unknown = 无法判断程序的瓶颈：{ $list }。
differential-unfed = { $feed }：{ $reason }
differential-how = { $rounds ->
    [one] 每种供数方式运行一次，程序本身未改动，由启动钩子供数。
   *[other] 每种供数方式运行 { $rounds } 次，程序本身未改动，由启动钩子供数。
}
differential-interrupted = 已中断：结果来自已经完成的运行。
differential-title = 不同供数方式下的单步耗时
differential-synthetic = 同一个 batch，取自显存
differential-cached = 内存里的若干 batch
differential-warm = 程序自己的数据
differential-cold = 程序自己的数据，页缓存已清空
differential-adds = 多 { $time }
differential-adds-unclear = 无明显差异
differential-range = { $low }–{ $high }
differential-no-steps = 没有看到训练步
differential-no-loader = 它不从 PyTorch 的 DataLoader 取 batch，启动钩子无法供数
differential-no-files = 没有看到它打开数据文件
differential-in-memory = 它的文件在内存里，页缓存之下没有存储
differential-failed = 运行失败；程序可能不接受重复的 batch，或不接受来自该处的 batch
differential-out-of-memory = 显存不足
differential-other = { $why }

## 逐项试处方

fix-gain = 采用 { $list } 后，单步从 { $before } 降到 { $after }：少用 { $share }（95%：{ $from }到{ $to }），速度是原来的 { $times } 倍。
fix-gain-unproven = 采用 { $list } 后，单步从 { $before } 变为 { $after }。
fix-nothing = 试过的改动都不能让程序更快：单步耗时 { $before }。
fix-no-candidates = 没有可试的改动：程序里没有能从外部改变的设置。单步耗时 { $before }。
fix-primary = 对它的诊断：{ $cause }。详见 `whyidle explain { $cause }`。
fix-untouched = 没有修改程序的任何文件；改动只在程序运行时生效。
fix-looks = 试看只运行一次，只用来决定是否值得验证，可能漏掉小的收益。保留下来的都经过成对验证。
fix-interrupted = 已中断：这是中断之前的结果。
fix-failed = 搜索提前结束：{ $reason }
fix-title-tried = 试过的改动
fix-title-keep = 建议的改动
fix-title-patch = 补丁形式
fix-kept = 保留：{ $change }（95%：{ $from }到{ $to }）
fix-kept-bare = 保留
fix-no-gain = 不采用：试运行一次，耗时{ $change }
fix-not-proven = 已回退：成对运行没有明显收益（95%：{ $from }到{ $to }）
fix-not-proven-bare = 已回退：成对运行没有明显收益
fix-learns-otherwise = 已回退：更快，但训练效果不一致
fix-not-applied = 不采用：{ $reason }
fix-attempt-failed = 不采用：程序因此失败
fix-attempt-memory = 不采用：程序因此显存不足
fix-unproven = 未验证：试运行一次，耗时{ $change }
fix-predicted = 预测{ $change }，针对 { $cause }
fix-for = 针对 { $cause }
fix-unpredicted = 没有证据指向它，只因试一次很便宜
fix-decided = { $change }：{ $outcome }
fix-place = { $place }：{ $setting }
fix-place-given = { $place }：{ $setting }；那里的取值来自 { $given }
fix-kept-as = 已存为 { $id }：`whyidle history show { $id }`；每次验证也有自己的编号。
fix-proof = 验证 { $id }

history-compute = [计算受限]
history-transfer = [传输受限]
history-prep = [预处理受限]
history-fetch = [读取受限]

cli-try-unknown = 没有这项改动；已知的有 { $names }，以及 env:NAME=VALUE
cli-try-flag = 请给出 true 或 false
cli-try-count = 请给出 { $least } 到 { $most } 的整数
cli-try-megabytes = 请给出兆字节数，例如 25
cli-try-garbage = 请给出 freeze 或 every:N
cli-fix-diagnosing = 正在观察程序以作诊断
cli-fix-looking = 试看 { $change }
cli-fix-looking-bare = 试看未改动的程序
cli-fix-looked = 单步 { $time }
cli-fix-proving = 成对验证 { $change }
cli-fix-proving-all = 成对验证全部保留的改动
cli-fix-patched = 补丁已写入 { $path }
cli-fix-no-patch = 没有可写的补丁：源码里没有找到这些改动对应的位置
cli-fix-exists = { $path } 已存在
cli-fix-exists-hint = 请换一个文件名；不会覆盖任何文件。
cli-differential-feed = { $feed }：目前单步 { $time }
