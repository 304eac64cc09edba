# `whyidle agent`，以及它和其他命令共用的 HTTP 服务。

## 监听

http-open = 其他机器可以访问 { $address }，但没有设置令牌
http-open-hint = 用 --token-file FILE 设置令牌，或只监听 127.0.0.1
http-address = 无法监听 { $address }：{ $reason }
http-address-hint = 该地址已被占用：用 --listen 127.0.0.1:PORT 换一个端口
http-short-token = 令牌至少要有 { $least } 个字符
http-odd-token = 令牌必须是一个由可打印 ASCII 字符组成的词
http-token-hint = 可以这样生成：openssl rand -hex 32 > FILE
http-plain-token = 发往 { $address } 的令牌和所有内容在途中都可被读取：用 --tls-cert 和 --tls-key 加密
http-file = { $path }：{ $reason }
http-certificate = { $path } 不能用于 TLS：{ $reason }
http-certificate-hint = 两个文件都应是 PEM 格式：证书（含证书链）及其私钥

## 运行中的提示

agent-listening = 指标地址：{ $address }
agent-ended = 已结束
agent-reloaded = 已重新读取设置
agent-not-reloaded = 设置未能重新读取，沿用原来的设置：{ $reason }
agent-settings-odd = { $path }：{ $reason }
agent-settings-hint = 可设置的项见 docs/zh/src/agent.md
agent-needs-restart = { $setting } 有改动：重启后才生效
agent-weaker = 新设置没有令牌或证书，而现在有；要去掉它须重启
agent-half-tls = 证书和私钥须成对出现：要么都设置，要么都不设置
agent-ring-taken = 另一个 agent 正在写入 { $dir }
agent-ring-failed = 采样记录无法继续写入（{ $reason }）；指标照常，下一份记录会再次尝试
agent-ring-recovered = 采样记录又可以写入了
agent-clock = 系统时钟被调整了 { $time }：开始一份新的记录
agent-replay-empty = 这些记录里没有带时间的采样
agent-replay-hint = 可以这样生成：whyidle attach PID --out DIR

## 单步耗时发生变化

agent-changed = 作业 { $job }，进程 { $pid }：单步耗时由 { $before } 变为 { $after }。{ $what }
agent-change-waiting = 等待的时间占比由 { $before } 变为 { $after }：{ $cause }
agent-change-throttled = GPU 被降频的时间占比由 { $before } 变为 { $after }
agent-change-clock = GPU 频率由 { $before } MHz 变为 { $after } MHz
agent-change-cores = 整机 CPU 占用由 { $before } 变为 { $after }
agent-change-busy = GPU 忙的时间占比由 { $before } 变为 { $after }
agent-change-workers = DataLoader worker 由 { $before } 个变为 { $after } 个
agent-change-neighbour = 进程 { $pid } 也开始使用这块 GPU
agent-change-nothing = 采样到的其他各项都没有差别

## 回看

agent-no-ring = 看哪里的记录？
agent-no-ring-hint = 用 --ring DIR 指定目录
agent-ring-title = 本节点的采样记录
agent-ring-empty = 还没有记录
agent-ring-entry = { $from }   { $length }   { $bytes }   { $runs } 个程序
agent-ring-runs = 当时运行的程序
agent-ring-run = { $pid }   { $command }
agent-ring-changes = 发生的变化
agent-not-covered = 没有记录覆盖 { $time }
agent-not-covered-hint = whyidle agent --ring { $dir } --list 可列出已有的记录
agent-no-time = { $text } 不是时间
agent-no-time-hint = 时间按 UTC 填写：03:12、2026-11-30T03:12，或某份记录的名字
