# 扫描：一项设置取哪个值划算，以及逐项叠加的多项设置。

## 结论

sweep-value = { $value }
sweep-as-it-is = 现状
sweep-the-command = 命令现状
sweep-setting = { $name }={ $value }
sweep-took = { $per } { $time }
sweep-knee = { $name } 取 { $value }：{ $figure }，速度是 { $first } 的 { $times } 倍（95%：{ $low }–{ $high } 倍）。
sweep-knee-bare = { $name } 取 { $value }：{ $figure }，速度是 { $first } 的 { $times } 倍。
sweep-knee-only = { $name } 取 { $value }：{ $figure }。
sweep-only = { $name } 只有 { $value } 能测出：{ $figure }。
sweep-more-same = 再大也不划算。
sweep-more-slower = 再大反而更慢。
sweep-largest = 这是试过的最大值，更大的值也许还能更快。
sweep-next-memory = 取 { $value } 时内存或显存放不下。
sweep-smallest = { $name } 取最小的 { $value }：{ $figure }，没有更快的值。
sweep-slower = { $value } { $per }耗时多 { $share }。
sweep-slower-times = { $value } { $per }耗时是其 { $times } 倍。
sweep-flat = 无关紧要：没有发现 { $name } 的哪个值更慢。
sweep-flat-within = 所有值与最快者相差都在 { $share } 以内（95%）。
sweep-flat-hidden = 不超过 { $share } 的差别无法分辨（95%）。
sweep-flat-untold = 没有明显差别：没有发现 { $name } 的哪个值更慢。
sweep-empty = 没有任何一次运行。
sweep-none = 没有结论：{ $name } 的任何值都没能测出。

## 逐项叠加

sweep-total = { $per } { $before } → { $after }，{ $times } 倍（95%：{ $low }–{ $high } 倍），改动为 { $list }。
sweep-total-bare = { $per } { $before } → { $after }，{ $times } 倍，改动为 { $list }。
sweep-total-losses = 但全部叠加后训练效果与原来不同：不要因为快就保留。
sweep-kept-unmeasured = 改为 { $list } 更好；叠加后一共快多少没有测。
sweep-ladder-flat = 什么都不必改：没有一项设置带来值得计较的提升。
sweep-ladder-none = 没有结论：什么都没能测出。
sweep-rung-kept = 保留：{ $before } → { $value }，{ $times } 倍（95%：{ $low }–{ $high } 倍）。
sweep-rung-kept-bare = 保留：{ $before } → { $value }，{ $times } 倍。
sweep-rung-only = 保留：{ $value }；{ $before } 没能测出。
sweep-rung-flat = 无关紧要：仍为 { $value }。
sweep-rung-untold = 没有明显差别：仍为 { $value }。
sweep-rung-back = 没有哪个值比 { $value } 快到值得计较：仍为它。

## 曲线

sweep-title-step = { $name }：单步耗时，越短越好
sweep-title-sample = { $name }：每秒样本数，越长越好
sweep-title-whole = { $name }：程序耗时，越短越好
sweep-column-time = 耗时
sweep-column-rate = 样本/s
sweep-column-best = 比最快
sweep-column-busy = GPU
sweep-column-memory = 显存
sweep-column-power = 功耗
sweep-fate-memory = 显存不足 (out of memory)
sweep-fate-failed = 程序失败，退出状态 { $status }
sweep-fate-no-steps = 没有看到训练步
sweep-fate-other-basis = 单步来源不同，不作比较
sweep-fate-not-run = 未运行

## 附注

sweep-rounds = 共 { $runs } 次运行，{ $rounds } 轮，先后顺序交替。
sweep-rounds-noise = 共 { $runs } 次运行，{ $rounds } 轮，先后顺序交替；同一个值两次运行相差约 { $noise }。
sweep-more-than-cores = 这比 { $cores } 个核还多：等待中的 worker 不占用核。
sweep-assumed-samples = 程序没有说明样本数：假定每步样本数等于 { $name } 的值。
sweep-losses-alike = 各个取值的训练效果一致。
sweep-losses-unknown = 各个取值的训练效果是否一致，无从得知：打印的 loss 太少。
sweep-losses-differ = { $name } 不可取 { $value }：它的 loss 与 { $first } 相差 { $distance }，只允许 { $allowed }。
sweep-losses-nan = { $name } 不可取 { $value }：从{ $place }起，它的 loss 不是数（NaN 或无穷）。
sweep-losses-own = { $name } 取 { $value } 时的 loss 本身就不是数（NaN 或无穷）：未对比 loss。
sweep-failed = { $name } 取 { $value } 时程序失败；程序输出在 { $path }。
sweep-one-round = { $name } 的每个值只跑了一次：仅供初步参考。
sweep-unsure = { $name }：{ $list } 也许更快；用 --rounds 增加轮数才能分清。
sweep-unsure-flat = { $name }：也许有微小差别；用 --rounds 增加轮数才能分清。
sweep-interrupted = 已中断：结果来自已完成的运行。
sweep-cut-off = 扫描没有跑完：结果来自已完成的运行。
sweep-id = 已存为 { $id }：`whyidle history show { $id }`。
history-knee = [有一个值划算]
history-flat = [无关紧要]
history-kept = [叠加后更快]

## 程序运行时的提示

cli-sweep-ran = { $value }，第 { $round } 轮：{ $time }
cli-sweep-ran-without = { $value }，第 { $round } 轮：{ $reason }
cli-sweep-failed = 什么都没能测出：{ $reason }
cli-vary-form = --vary 的格式是 NAME=VALUE,VALUE 或 NAME，不能是 “{ $value }”
cli-vary-empty = --vary { $value }：有一个值是空的
cli-vary-twice = --vary：{ $name } 给了两次
cli-vary-value-twice = --vary：值 “{ $value }” 给了两次
cli-vary-many = --vary：值超过 { $most } 个
cli-vary-no-number = --vary：“{ $value }” 不是整数，无法由它继续翻倍
cli-vary-single = --vary：{ $name } 只有一个值
cli-vary-no-start = --vary：{ $name } 现在的值不是整数，无法由它继续翻倍
cli-vary-hint = 请给出若干值：--vary num_workers=0,2,4；或让它翻倍直到不再划算：--vary num_workers=2,4,...；或指定文件中的值：--vary file:config.yaml:data.num_workers=0,2。
cli-vary-not-there = --vary：命令里没有 “{ $name }”
cli-vary-not-there-hint = 请按原样写出选项，--vary --{ $name }=1,2，没有时会添加；或在命令中把值写成 { $open }；或设置环境变量，--vary env:NAME=1,2。
cli-vary-file-form = --vary：“{ $value }” 不符合 file:PATH:NAME.OF.VALUE
cli-vary-no-settings = --vary：{ $path } 不是 TOML、YAML 或 JSON
cli-vary-not-understood = 无法读取 { $path }：{ $reason }
cli-vary-no-such-value = { $path } 中没有 { $name }
cli-vary-no-single-value = { $path }：{ $name } 不是可以替换的单个值
cli-vary-no-argument = 命令的参数都没有指向 { $path }
cli-vary-no-argument-hint = 文件本身绝不改写：命令会改用一份修改过的副本，因此命令必须指明该文件，例如 python train.py --config config.yaml。
