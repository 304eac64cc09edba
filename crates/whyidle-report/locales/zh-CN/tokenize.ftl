# `whyidle tokenize`。

cli-tokenize-written = { $path }：{ $documents } 篇文档，共 { $tokens } 个 token
cli-tokenize-was-whole = { $path } 已经完整，无需再做：{ $documents } 篇文档，共 { $tokens } 个 token
cli-tokenize-of = 文本 { $bytes }，平均每个 token { $ratio } 字节；{ $files } 个 { $type } 文件
cli-tokenize-read = 在 Python 中读取：{ $call }
cli-tokenize-resumed = 从上一次停下的地方继续
cli-tokenize-no-input = { $path } 里没有文件
cli-tokenize-tokenizer = { $path } 不能用作分词器：{ $reason }
cli-tokenize-tokenizer-hint = 请给出模型的 tokenizer.json；慢速分词器可用 AutoTokenizer.from_pretrained(…).save_pretrained("folder") 转换
cli-tokenize-no-token = { $path } 里没有 token { $token }
cli-tokenize-no-token-hint = 它的特殊 token 有 { $known } 等
cli-tokenize-encode = 分词器处理 { $path } 中的一篇文档时出错：{ $reason }
cli-tokenize-strict = { $path }：{ $note }
cli-tokenize-strict-hint = 不加 --strict 时只计数并跳过，并从停下的地方继续
cli-tokenize-nothing = 输入里没有任何含 token 的文档
cli-tokenize-nothing-hint = 用 --field 指明文本所在的字段，或用 --as 指明输入的类型
cli-tokenize-another = { $path } 里有一次未完成的运行，但设置不同，或者输入已经改变
cli-tokenize-another-hint = 加上 --force 重新开始，或换一个目录
cli-tokenize-lost = { $path } 损坏或缺失：未完成的运行无法继续
cli-tokenize-busy = 另一个进程正在写入 { $path }
cli-value-field = 应为字段名，或用点连接的多级字段名，如 text 或 content.text
cli-value-tokens = 应为 token 数，如 500000、100M 或 1G
cli-value-pause = 应为 0 到 3600 之间的秒数

read-not-documents = { $path } 里没有文档，而是{ $found }
read-columns = { $path } 无法读取：{ $reason }
read-no-column = { $path } 没有名为 { $column } 的文本列；它的列有：{ $columns }
hint-json-lines = 每行写一个对象，例如用 `jq -c '.[]' FILE`
hint-give-documents = 请给出 JSON lines、Parquet、Arrow 或纯文本，可以是 .gz 或 .zst
hint-copy-again = 重新复制或重新生成该文件
hint-name-column = 用 --field 指明列名
