# 终端仪表盘。

## 首行

top-live = 实时
top-ended = 已结束
top-broken = 观察中断
top-paused = 已暂停
top-playing = 第 { $at } 秒，共 { $whole } 秒，{ $speed }×
top-window = 最近 { $seconds } 秒
top-rank = rank { $rank }
top-nothing = 还没有采样

## 面板

top-gpus = GPU
top-ledger = GPU 在等谁
top-ledger-host = 主线程在等什么
top-stacks = 调用栈
top-stacks-untimed = 调用栈（全程）
top-history = 最近 { $seconds } 秒

## GPU 表

top-col-gpu = GPU
top-col-busy = 忙碌
top-col-sm = SM
top-col-tensor = Tensor
top-col-dram = DRAM
top-col-memory = 显存
top-col-power = 功耗
top-col-clock = 频率
top-col-throttle = 降频
top-col-program = 程序
top-throttle-none = 无
top-throttle-power = 功耗
top-throttle-heat = 过热
top-throttle-hardware = 硬件
top-curve-cores = CPU 核

## GPU 在等谁

top-waits = 在等：{ $what } { $share }
top-waits-inside = 看上去在忙，其实在等：{ $what }
top-waits-for-nothing = 几乎没有在等谁
top-wait-data = 数据
top-wait-host = CPU 侧
top-wait-memory = 显存分配
top-wait-compile = 编译
top-wait-io = 保存与写盘
top-wait-rank = 其他 rank
top-wait-pipeline = 流水线的相邻级
top-wait-other = 其他
top-step = 单步 { $time } · { $found }

## 调用栈

top-main = 主线程，{ $samples } 个采样
top-main-none = 主线程：没有调用栈
top-workers = { $count } 个 worker
top-workers-busy = { $count } 个 worker，平均各占一个核的 { $busy }
top-workers-none = 没有 worker

## 末行的按键

top-key-help = 帮助
top-key-quit = 退出
top-key-panel = 面板
top-key-choose = 选择
top-key-pause = 暂停
top-key-window = 窗口
top-key-seek = 跳转
top-key-speed = 速度
top-key-zoom = 放大
top-key-language = English

## 帮助

top-help-title = 按键
top-help-quit = 退出
top-help-help = 显示或关闭本页
top-help-choose = 选择 GPU 及其上的程序
top-help-panel = 下一个或上一个面板
top-help-zoom = 让面板占满屏幕
top-help-pause = 冻结画面，采样继续
top-help-window = 加长或缩短统计窗口
top-help-language = 中文或英文
top-help-suspend = 挂起，fg 继续
top-help-redraw = 全部重画
top-help-seek = 移动 5 秒或 30 秒（Shift：30 秒）
top-help-ends = 跳到开头或末尾
top-help-speed = 放慢或加快回放
top-help-busy = 忙碌：卡上有任务的时间占比；带 ~ 的由驱动抽样（与 nvidia-smi 相同），不是硬件计数。
top-help-ledger = 时间账本与 `whyidle diagnose` 对同样长的采样记录给出的一致。
top-help-absent = –：本机或这张卡不提供。

## 错误

cli-top-no-terminal = 标准输出不是可以绘制仪表盘的终端
cli-top-no-terminal-hint = `whyidle top --once` 以文本打印一帧画面
cli-top-no-samples = { $dir } 中没有带时间的采样
cli-top-no-samples-hint = 用 `whyidle attach PID --out DIR` 记录；trace 用 `whyidle trace DIR` 读取
cli-top-nothing = 本机没有训练程序在运行（当前用户能看到的进程都没有加载 PyTorch）
cli-top-nothing-hint = 指定一个：`whyidle top PID`，或回放采样记录：`whyidle top --replay DIR`
cli-top-failed = 终端无法使用：{ $reason }
cli-top-only-linux-hint = `whyidle top --replay DIR` 在任何系统上都能回放采样记录
