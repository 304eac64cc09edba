# `whyidle agent`，以及它和其他命令共用的 HTTP 服务。

## 监听

http-open = 其他机器可以访问 { $address }，但没有设置 token
http-open-hint = 用 --token-file FILE 设置 token，或只监听 127.0.0.1
http-address = 无法监听 { $address }：{ $reason }
http-address-hint = 该地址已被占用：用 --listen 127.0.0.1:PORT 换一个端口
http-short-token = token 至少要有 { $least } 个字符
http-odd-token = token 必须是一个由可打印 ASCII 字符组成的词
http-token-hint = 可以这样生成：openssl rand -hex 32 > FILE
http-file = { $path }：{ $reason }
http-certificate = { $path } 不能用于 TLS：{ $reason }
http-certificate-hint = 两个文件都应是 PEM 格式：证书（含证书链）及其私钥
