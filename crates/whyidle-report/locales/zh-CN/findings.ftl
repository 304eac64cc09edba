# 结论、疑点、证据、处方和账本说明：crates/whyidle-diagnosis 产生的消息。
# 那边的 id 用 “.”，这里的键用 “-”。
