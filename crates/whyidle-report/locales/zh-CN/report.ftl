# 数字之外的文字：标题、列名、屏幕末尾几行。

## 看的是什么

report-unnamed-gpu = GPU（trace 中没有型号）
report-ranks = { $ranks } 个 rank
report-ranks-of = { $world } 个 rank 中的 { $ranks } 个
report-rank-shown = 显示 rank { $rank }
report-steps-profiler-step = trace 中有 { $count } 个完整的 step
report-steps-optimizer-step = { $count } 个完整的 step，按优化器更新划分
report-steps-repetition = { $count } 个 step，按重复的 kernel 启动序列划分
report-steps-window = 没有找到 step：整个窗口算作一步
report-input = { $path }：{ $count } 个事件

## 单步时间账本

report-where-a-step-goes = 单步时间账本
report-gpu-working = GPU 有效工作
report-everything-else = 其余各项
report-group-working = GPU 有效工作
report-group-waiting = GPU 在等
report-group-rest = 其余
report-basis-and-traced = { $basis }；trace 里是 { $traced }
report-ranks-title = 各 rank
report-rank-line = rank { $rank } · 单步 { $step } · 有效工作 { $working }
report-more-ranks = 另有 { $count } 个 rank，用 -v 查看

## 处方

report-what-to-change = 处方
report-step = 单步
report-saved = 节省
report-costs = 代价 { $time }（{ $share }）
report-no-gain = 收益未知
report-finding-line = 单步 { $step } · 节省 { $saved } · { $how }
report-more-findings = 另有 { $count } 条发现，用 -v 查看
report-on-rank = { $what }（rank { $rank }）
report-at-place = { $text }（{ $place }）
report-next-limit = 之后的瓶颈：{ $limit }。
report-then = 再加：{ $what }
report-instead = 或者：{ $what }
report-in-this-order = 依次进行

## 按要求回答的

report-what-if = 假设
report-critical-path = 关键路径
report-critical-length = 回放的单步（{ $time }）：只有这条路径上的时间才会拉长单步
report-critical-length-other = 回放的单步（{ $time }；与单步 { $step } 之差不在回放里）：只有这条路径上的时间才会拉长单步
report-critical-names = 其中主要有
path-gpu = GPU：kernel
path-communication = GPU：集合通信
path-copy = GPU：H2D、D2H 拷贝
path-host = CPU：启动 kernel、Python、同步
path-loader = CPU：等数据
path-launch = 从启动调用到 kernel 开始
path-pause = kernel 之间

## 末尾

report-key-confidence = 可信度
report-key-evidence = 证据
report-key-next = 下一步
report-key-hint = 怎么办
report-confidence-because = { $confidence }：{ $doubts }
report-replay = 回放与 trace 中的单步耗时相差 { $error }；单步中有 { $slack } 是松弛 (slack)，即依赖关系解释不了的时间。
report-replay-unusable = 回放与 trace 中的单步耗时相差 { $error }，不据此做任何预测。
report-no-verdict = 证据不足，不下结论。

## -v 的表格

report-traced-steps = trace 中的 step
report-step-spread = { $count ->
    [1] 1 步（第 { $first } 步）：{ $median }。
   *[other] 从第 { $first } 步起共 { $count } 步：最短 { $shortest }，中位数 { $median }，最长 { $longest }。
}
report-step-host = CPU 侧的 step 标记长 { $span }；标记结束时 CPU 领先 GPU { $ahead }。
report-kernels = kernel（trace 中每步）
report-operators = 算子，按其 GPU 时间排序（trace 中每步）
report-modules = 模块，按其 GPU 时间排序（trace 中每步）
report-gaps = GPU 上最长的空隙
report-instruments = 各项指标
report-instruments-gpu = 各项指标，GPU { $gpu }
report-instrument-detail = { $counts }：{ $detail }
report-per-second = { $bytes }/s
report-column-instrument = 指标
report-column-says = 读数
report-column-counts = 统计的是什么
report-statistics = 统计
report-column-time = 耗时
report-column-count = 次数
report-column-longest = 最长
report-column-kind = 类别
report-column-name = 名称
report-more-rows = 另有 { $count } 行，见 JSON 报告

## Markdown

report-column-share = 占比
report-column-detail = 说明
report-column-how = 依据
report-column-why = 理由
report-input-title = 输入

## 原因的说明页

report-page-what = 是什么
report-page-seen = whyidle 如何识别
report-page-remedy = 怎么改
report-page-gain = 收益如何预测
report-page-what-if = 试一试：{ $command }
report-page-traps = 容易踩的坑
