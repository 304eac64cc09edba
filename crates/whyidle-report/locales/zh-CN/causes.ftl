# `whyidle explain CAUSE` 的说明页。每个原因有：-name（用于表格和“之后的瓶颈”）、-title、
# -what、-seen、-remedy、-traps。-remedy 和 -traps 每行一条。

## GPU 在等数据

cause-data-in_process-name = 主进程内准备数据
cause-data-in_process-title = GPU 在等训练进程自己准备样本
cause-data-in_process-what = `num_workers=0` 时，读取、解码、分词和拼 batch 都在训练进程里进行。这期间不会启动任何 kernel，排队的工作盖不住的部分，GPU 全在等。
cause-data-in_process-seen = GPU 空闲时，启动线程处在 `_SingleProcessDataLoaderIter` 里。其中运行的一切，包括张量运算，都算数据加载，不算模型。trace 带 Python 调用栈时会指出具体函数：tokenizer、解码器或某个 `__getitem__`。
cause-data-in_process-remedy =
    设置 `num_workers`：从 4 开始，只要单步还在变短就翻倍。`persistent_workers=True` 让 worker 在 epoch 之间不退出。
    如果每个 epoch 的结果都一样，就在训练前一次性完成分词、解码或缩放。
    如果必须留在主进程，就在启动完这一步之后、读取 loss 之前准备下一个 batch。
cause-data-in_process-traps =
    在构造函数里打开文件、数据库连接或 CUDA 上下文的 Dataset 放进 worker 会出错：改为在 worker 内首次使用时再打开。
    Windows 和 macOS 上 worker 以 spawn 方式启动：脚本需要 `if __name__ == "__main__":`，而且每个 worker 都会重新 import 一遍。
    很大的 Python 样本列表会因引用计数变化被逐页复制到每个 worker，内存越用越多。样本应放在一个数组里，或用内存映射。

cause-data-workers-name = DataLoader worker
cause-data-workers-title = GPU 在等 DataLoader worker
cause-data-workers-what = worker 在其他进程里准备 batch，但产出赶不上 GPU 的消耗。训练进程卡在取下一个 batch 上，没有新的 kernel 启动，GPU 就饿着。
cause-data-workers-seen = GPU 空闲时，启动线程处在 `_MultiProcessingDataLoaderIter` 里。短 trace 会美化结果：profiler 启动期间队列已经攒满，于是只有部分 step 看得到等待。请用 `--step-ms` 给出真实的单步耗时；trace 里比它短的 step 说明消耗的是存货。
cause-data-workers-remedy =
    增大 `num_workers`。产出速度 = worker 数 ÷ 每个 batch 的准备时间；超过 GPU 的消耗速度，等待就消失。
    降低每个 batch 的准备开销：预先分词，直接解码到所用的尺寸，去掉多余的拷贝。
    每个 worker 只用一个线程，免得互相抢核：`torch.set_num_threads(1)`、`cv2.setNumThreads(0)`。
    `prefetch_factor` 和 `persistent_workers=True` 能抹平 batch 之间的波动和 epoch 开头的停顿，但不会提高产出速度。
cause-data-workers-traps =
    核数限制的是做计算的 worker，不限制睡在读操作上的 worker：后者远超核数仍有收益。一个只等存储的 DataLoader，worker 数为核数的 8 倍时最快。
    `num_workers` 是每个 rank 的数目。8 个 rank 各 32 个 worker 就是 256 个进程；在 32 核上只有每 rank 4 个时的一半速度。
    如果每个 worker 都按核数开线程，加 worker、加核都没用；改成单线程才有用。
    打包数据集（WebDataset）按分片划分：worker 多于分片没有作用，甚至更慢。
    worker 以整个 batch 为单位领任务：一个 epoch 只有 6 个 batch，最多 6 个 worker 有活干。
    如果 worker 大多空闲而数据仍然迟到，瓶颈是 pin_memory 线程或主进程，加 worker 是错误的处方。

cause-data-storage-name = 存储
cause-data-storage-title = GPU 在等读盘
cause-data-storage-what = 数据加载在等磁盘或网络文件系统：页缓存是冷的，小文件太多，或随机读取。
cause-data-storage-seen = 只凭 trace 看不出来：它只显示数据迟到（`whyidle trace` 报为 `data.workers` 或 `data.in_process`），不显示数据加载在等什么。要靠程序运行时的采样：worker 进程处于 D 状态、I/O 等待、每步读取的字节数。
cause-data-storage-remedy =
    把小文件打包成大文件并顺序读取：tar 分片、Parquet、一个内存映射的数组。
    把数据拷到本地盘。如果内存放得下，先读一遍让它留在页缓存里。
    走网络时，让更多 worker 同时读：它们大多在睡，可以多于核数。
cause-data-storage-traps =
    本地 NVMe 很少是瓶颈。打包在那里只有 0.92–1.03 倍；在挂载的对象存储上，4 个 worker 时 2.0 倍，8 个时 1.2 倍，16 个时没有收益。
    第一个 epoch 是冷的，之后是热的。说清楚测的是哪一个。
    每个 rank 只应读自己那份。8 个 rank 都读全部，就读了 8 遍。

cause-data-transfer-name = H2D 拷贝
cause-data-transfer-title = GPU 在等 H2D 拷贝
cause-data-transfer-what = 从可分页内存拷贝要经过中转缓冲区，整个过程占住启动线程，也不能与 kernel 重叠。
cause-data-transfer-seen = `Memcpy HtoD (Pageable -> Device)` 期间没有 kernel 在跑，启动线程阻塞在 `.to()` 或 `copy_` 里。
cause-data-transfer-remedy =
    DataLoader 设 `pin_memory=True`，同时用 `.to(device, non_blocking=True)`。
    传小的数据类型，到 GPU 上再转换：图像用 `uint8`，token 用 `int32`。
    用单独的 stream 拷贝下一个 batch，与当前计算并行。
cause-data-transfer-traps =
    锁页本身也是工作，而且只有一个线程在做。它跟不上时，等待只是从拷贝挪到了 DataLoader：有一例拷贝的等待消失了，单步却只从 61 ms 降到 57 ms。
    源内存是可分页的，`non_blocking=True` 就没有作用。
    拷贝结束之前不要覆写锁页缓冲区。
    拷贝本来就被掩盖时，锁页没有收益，还可能更慢：锁页内存分配昂贵，也不能换出。

## GPU 在等 CPU 侧

cause-host-launch-name = kernel 启动
cause-host-launch-title = GPU 在等下一次 kernel 启动
cause-host-launch-what = kernel 比 CPU 启动下一个 kernel 所需的时间还短，GPU 做完一个就得等下一个：启动开销受限 (launch-bound)。常见于小 batch、大量小算子和 eager 模式。
cause-host-launch-seen = 空隙以一次迟到的启动结束，期间正在分发算子：没有同步，没有数据加载，没有显存分配。每步几千次启动，许多 kernel 只有几 µs。
cause-host-launch-remedy =
    增大 batch：启动次数不变，每次的工作更多。
    CUDA graphs 一次启动全部：`torch.compile(model, mode="reduce-overhead")` 或 `torch.cuda.make_graphed_callables`。
    减少启动次数：`torch.compile`、融合层、优化器用 `fused=True`。
cause-host-launch-traps =
    profiler 让 CPU 侧的工作翻倍，而 kernel 长度不变：trace 会显示并不存在的启动空隙。有个模型的 GPU 有效工作占 97%，trace 里看只有 53%。要以未开 profiler 的单步耗时为准。
    CUDA graphs 要求静态形状。填充长度一变就重新捕获：9 种形状让一个程序变慢（22 → 25 s），固定填充则快 1.5 倍。
    不带 CUDA graphs 的 `torch.compile` 不一定有用：这里测过的一个启动受限的模型是 39.7 → 41.2 ms。
    梯度累积不会让 kernel 变长。
    `CUDA_DEVICE_MAX_CONNECTIONS=1` 对一些启动受限的程序有帮助，也会让另一些失去重叠。

cause-host-sync-name = 同步点
cause-host-sync-title = CPU 等 GPU 的结果，回头 GPU 又等 CPU
cause-host-sync-what = CPU 要一个 GPU 还没算完的值：`.item()`、`.cpu()`、`.tolist()`、`print(tensor)`、`if tensor:`、`nonzero`、用布尔掩码做索引。等待期间不启动任何 kernel；等完队列已空，轮到 GPU 等。
cause-host-sync-seen = step 内出现 `aten::_local_scalar_dense`、`aten::is_nonzero`、`aten::nonzero`、`cudaStreamSynchronize`、`cudaDeviceSynchronize`，或拷到可分页内存的 D2H 拷贝。只计 CPU 因此失去的提前量，不计调用本身的时长。
cause-host-sync-remedy =
    每 50 或 100 步读一次。其余时候在 GPU 上累加：`total += loss.detach()`。
    用 `torch.where` 或 `masked_fill` 代替布尔掩码索引。
    用 `non_blocking=True` 拷到锁页内存，下一步再读。
    `torch.cuda.set_sync_debug_mode("warn")` 会指出每一处同步。
cause-host-sync-traps =
    瓶颈是 GPU 时，同步不花时间：每步都 `.item()` 是 34.0 ms，不用是 34.2 ms。
    启动受限时代价也很小，因为 CPU 本来就没有提前量可失去。有一例估计能快 85%，实测 4%。
    把 `.item()` 挪到别的行，等待也跟着挪。
    `torch.cuda.memory_allocated()` 不触发同步。
    除非优化器是 fused 的，`GradScaler` 每步都要从 GPU 读一个标志。bf16 不需要它。

cause-host-python-name = kernel 启动间隙的 Python
cause-host-python-title = GPU 在等 Python
cause-host-python-what = 启动线程在算子之间跑 Python：指标、hook、列表处理、数据增强、画图。
cause-host-python-seen = 空隙里启动线程在运行，但没有算子、启动或同步。只有调用栈能指出函数：用 `with_stack=True` 采集，或从外部采样。
cause-host-python-remedy =
    移出循环，或每 N 步做一次。
    用一次张量运算代替逐项循环。
    放到 GPU 上做，或放进 DataLoader worker。
cause-host-python-traps =
    调试器或覆盖率工具会拖慢每一行：有一例优化器单步 187 ms，正常是 6 ms。
    编译后的程序在各个图之间要跑 guard 和包装代码，看起来像 Python，却不是你的代码。
    阻塞拷贝之后紧跟的停顿可能是在释放上一个 batch 的内存：那时处方是锁页内存。

cause-host-gc-name = 垃圾回收 (GC)
cause-host-gc-title = GPU 在等 Python 的垃圾回收
cause-host-gc-what = 分代垃圾回收会停住启动线程，遍历所有存活的对象。训练程序里这要零点几秒到一秒多。
cause-host-gc-seen = GPU 空闲时有 `gc.collect` 帧（`<built-in function collect>`）或 `Python GC` 事件。trace 里没有这些时，回收会算作 kernel 启动间隙的 Python（`host.python`）；此时若每隔固定步数出现一次长空隙，多半就是它。
cause-host-gc-remedy =
    从循环里去掉 `gc.collect()`。
    初始化完成后调用 `gc.freeze()`：此时存活的对象不再被遍历。
    `gc.disable()`，然后每几百步 `gc.collect()` 一次，所有 rank 在同一步执行。
cause-host-gc-traps =
    一个 rank 回收，其他 rank 都要等。大家在同一步回收，只付一次代价。
    关掉回收后，循环引用会一直占着它引用的东西，包括张量。注意内存，也包括 DataLoader worker 的内存：有项目因此内存耗尽。

cause-host-contention-name = CPU 核被占满
cause-host-contention-title = GPU 在等启动线程，启动线程在等 CPU 核
cause-host-contention-what = 启动线程可以继续，但所有核都被占着：DataLoader worker 及其线程、其他 rank、其他程序。
cause-host-contention-seen = trace 里看不出来：在那里启动线程只是显得慢（`host.launch`、`host.python`）。要靠程序运行时的采样：非自愿上下文切换、负载高于核数、主线程什么都不等而 CPU 时间却少于墙钟时间。
cause-host-contention-remedy =
    让“线程数 × worker 数 × rank 数”不超过核数：`OMP_NUM_THREADS`，worker 里 `torch.set_num_threads(1)`，减少 worker。
    用 `numactl` 或 `taskset` 把每个 rank 绑到靠近其 GPU 的核上。
cause-host-contention-traps =
    容器里要看配额。`os.cpu_count()` 返回的是整机的核数。
    线程多于核数不一定是瓶颈：12 个 worker 各 16 个线程，和各 1 个线程一样快。

cause-host-optimizer-name = 优化器循环
cause-host-optimizer-title = GPU 在等逐个参数循环的优化器
cause-host-optimizer-what = 优化器逐个更新参数张量，每个都要好几个小 kernel：每步几千次启动，实际工作很少。
cause-host-optimizer-seen = `Optimizer.step` 内每个参数张量都有许多短 kernel，GPU 在它们之间空闲。
cause-host-optimizer-remedy =
    `fused=True`，例如 `torch.optim.AdamW(params, fused=True)`：几个 kernel 更新全部参数。
    没有 fused 版本的用 `foreach=True`。CUDA 上它是默认值，除非被关掉。
cause-host-optimizer-traps =
    `foreach` 需要临时显存，对 Adam 大约等于参数本身的大小。
    有些反馈里 `fused` 没有更快，甚至更慢。测了再定。
    优化器变快，只有没被掩盖的部分才算数：有一例从 22 降到 8 ms，整步只快 3%。
    8-bit 优化器会多出量化、反量化的 kernel。它省显存，不省时间。

cause-host-gil-name = GIL
cause-host-gil-title = GPU 在等启动线程，启动线程在等 GIL
cause-host-gil-what = 启动线程可以继续，但同一进程的另一个 Python 线程握着 GIL：日志、指标或预取线程。
cause-host-gil-seen = trace 里看不出来：在那里启动线程只是在算子之间显得慢（`host.python`）。要靠程序运行时的调用栈采样，而且要记录谁握着 GIL，例如 `py-spy record --gil`。
cause-host-gil-remedy =
    把那个线程的工作移到单独的进程。
    使用计算时会释放 GIL 的库。
cause-host-gil-traps =
    反向传播主要在不需要 GIL 的 C++ 线程里进行；Python 写的 hook 需要。
    用 Python 线程预取数据会和 kernel 启动抢 GIL，DataLoader worker 不会。

## 显存

cause-memory-allocator-name = 显存分配
cause-memory-allocator-title = GPU 在等显存分配
cause-memory-allocator-what = step 内出现 `cudaMalloc` 和 `cudaFree`：缓存分配器被清空，或找不到合适的块。`cudaFree` 还要等 GPU 做完手头的工作。
cause-memory-allocator-seen = step 内有 CUDA runtime 申请或归还显存的调用，或 `torch.cuda.empty_cache()` 帧。
cause-memory-allocator-remedy =
    从循环里去掉 `torch.cuda.empty_cache()`。
    形状变化时设置 `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`。
    只用少数几种形状：长度分桶，丢弃最后不满的 batch。
cause-memory-allocator-traps =
    `empty_cache()` 不会让本程序有更多显存可用：分配器在放弃之前会自己释放空闲的块。
    最初几步总要分配，那是预热。

cause-memory-recompute-name = 激活重计算
cause-memory-recompute-title = GPU 在重做显存并不要求重做的前向
cause-memory-recompute-what = 梯度检查点丢掉激活值，反向时重新计算，大约多三分之一的工作。而这里的激活值本来放得下。
cause-memory-recompute-seen = 反向期间 autograd 线程上出现前向算子（`linear`、`layer_norm`、attention）。显存是否够用，要看峰值数据。
cause-memory-recompute-remedy =
    关掉梯度检查点，或只对每两三个 block 中的一个使用。
    选择性重计算：只重算计算便宜而占显存多的部分。
cause-memory-recompute-traps =
    先把关掉之后的峰值与显卡容量对比，留出 10–15%。
    激活值超过显存约 40% 时才划算，低于它多半只是浪费时间。
    融合的 attention 已经省掉了最大的那些张量。

cause-memory-headroom-name = batch 偏小
cause-memory-headroom-title = batch 可以更大
cause-memory-headroom-what = 它本身不是等待：显存有富余，而 batch 太小，kernel 很短。增大 batch，每次启动的工作就更多。
cause-memory-headroom-seen = 单步受限于启动开销，而显存峰值远低于容量。
cause-memory-headroom-remedy =
    只要每秒样本数还在增长就把 batch 翻倍，到拐点为止。
    相应调整学习率及其调度；按样本数而不是步数比较 loss。
cause-memory-headroom-traps =
    占满显存不是目标。有一例 batch 256 是每秒 7000 个样本，占满显存的 384 只有 4000。
    更大的 batch 可能让某个 kernel 离开快速路径。
    留出 10–15% 的显存：序列长度会变，峰值也会变。

cause-memory-offload-name = 卸载到内存的状态
cause-memory-offload-title = GPU 在等放在内存里的状态
cause-memory-offload-what = 优化器状态、参数或激活值放在内存里，每步都要过一遍总线。
cause-memory-offload-seen = 只凭 trace 看不出来：它显示有拷贝，不显示拷的是什么；没被掩盖的拷贝 `whyidle trace` 报为 `data.transfer`。能说明问题的是：每步都有双向拷贝，大小正好等于参数或优化器状态；优化器在 CPU 上运行；以及程序自己的配置。
cause-memory-offload-remedy =
    放得下就留在显存里。分片 (ZeRO-1/2) 或 8-bit 优化器状态往往就够了。
    放不下就用锁页内存，并用单独的 stream 预取。
cause-memory-offload-traps =
    卸载省显存，不会让任何东西变快；换来的更大 batch 很少能补回来。

## 编译器与文件

cause-compile-recompile-name = 编译
cause-compile-recompile-title = GPU 在等编译器
cause-compile-recompile-what = `torch.compile` 针对见到的输入做特化。新的形状或变了的开关会触发重新编译，几秒到几分钟，GPU 都在等。
cause-compile-recompile-seen = trace 的 step 里有 Dynamo、AOT 或 Inductor 事件。算不算预热，取决于采集的是哪几步。
cause-compile-recompile-remedy =
    `TORCH_LOGS=recompiles` 会指出是什么变了。
    把长度填充到几档，例如 512、1024、2048。
    用 `dynamic=True`，或对变化的维度调用 `torch._dynamo.mark_dynamic(x, 1)`。
cause-compile-recompile-traps =
    重新编译达到一定次数（默认 8 次）后，Dynamo 会放弃，该函数不再编译运行。
    `mode="reduce-overhead"` 还会为每种形状捕获一个 CUDA graph。8 种形状让预热从 30 分钟变成几小时。
    第一次编译属于预热。磁盘上的编译缓存能让下次运行省掉它。

cause-io-checkpoint-name = 保存 checkpoint
cause-io-checkpoint-title = GPU 在等保存 checkpoint
cause-io-checkpoint-what = 保存时训练循环停下：状态拷回内存、序列化、写盘。
cause-io-checkpoint-seen = GPU 空闲时，启动线程上有 `torch.save`、`torch.distributed.checkpoint` 或 safetensors 的帧。这要求用 `with_stack=True` 采集；没有调用栈，保存看起来就像 Python 和同步。
cause-io-checkpoint-remedy =
    异步保存：`torch.distributed.checkpoint.async_save` 只在拷贝时阻塞训练循环。有项目的停顿从 27 s 降到 0.54 s。
    降低保存频率，先写本地盘。
cause-io-checkpoint-traps =
    异步保存需要能再放一份状态的内存。
    瓶颈不一定是磁盘：有个 8B 模型存了 394 s，而磁盘能写 2.2 GB/s。
    短 trace 很少碰上保存。每步的代价取决于多久存一次。

cause-io-logging-name = 写日志
cause-io-logging-title = GPU 在等写日志
cause-io-logging-what = 指标、图像或进度在启动线程上写出。
cause-io-logging-seen = GPU 空闲时有 `logging`、TensorBoard、wandb、mlflow 的帧，或 `print`、写、flush、fsync。这要求用 `with_stack=True` 采集；没有调用栈，写日志看起来就像 kernel 启动间隙的 Python。
cause-io-logging-remedy =
    攒起来，每 N 步写一次。
    让单独的线程，或实验跟踪工具自己的后台进程去写。
cause-io-logging-traps =
    日志背后的 `.item()` 通常比写日志更贵：见 `host.sync`。
    实验跟踪工具偶尔会卡住；有一例从每秒 40 步降到 20 步。

## GPU 在工作，但效率不高

cause-compute-precision-name = fp32 矩阵乘
cause-compute-precision-title = 矩阵乘用的是完整 fp32
cause-compute-precision-what = 不开 TF32 的 fp32 矩阵乘用不上 tensor core 的快速格式。在 H200 上约 50 TFLOP/s，而 bf16 可达 770。
cause-compute-precision-seen = 矩阵乘的操作数是 fp32；有类型转换；已经用 bf16 却还在做梯度缩放。需要用 `record_shapes=True` 采集。
cause-compute-precision-remedy =
    前向和 loss 放进 `with torch.autocast("cuda", dtype=torch.bfloat16):`。
    或只开 TF32：`torch.set_float32_matmul_precision("high")`。
cause-compute-precision-traps =
    矩阵乘不是整步的全部，autocast 还会增加类型转换：收益小于两种速率之比。
    启动受限或供数不足的单步没有收益。
    fp16 需要 `GradScaler`，bf16 不需要。
    改完之后看几百步的 loss。

cause-compute-attention-name = 手写展开的 attention
cause-compute-attention-title = attention 是手写展开的
cause-compute-attention-what = 每个 head 的分数矩阵（序列长 × 序列长）要写进显存、加掩码、做 softmax、再读回来。访存和显存都随序列长的平方增长。
cause-compute-attention-seen = softmax 和批量矩阵乘作用于同一个“序列长 × 序列长”的张量。需要用 `record_shapes=True` 采集。
cause-compute-attention-remedy =
    用 `F.scaled_dot_product_attention(q, k, v, is_causal=True)`。
    transformers 中设 `attn_implementation="sdpa"` 或 `"flash_attention_2"`。
    自定义掩码用 `flex_attention`。
cause-compute-attention-traps =
    传入掩码张量可能让 SDPA 用不上 flash kernel，fp32 则一定用不上。`is_causal=True` 不需要掩码。
    `output_attentions=True` 会强制走展开的写法。
    序列很短时收益很小。

cause-compute-elementwise-name = 逐元素运算
cause-compute-elementwise-title = 逐元素运算占了单步太多时间
cause-compute-elementwise-what = 每个运算都要把整个张量读写一遍。瓶颈是显存带宽，计算量微不足道。
cause-compute-elementwise-seen = 矩阵乘之间的逐元素运算、归一化、类型转换和布局拷贝（`.contiguous()`）现在读写的字节数，与融合后相比。需要用 `record_shapes=True` 采集。
cause-compute-elementwise-remedy =
    `torch.compile` 把一串运算融合成一个 kernel。
    用库里的层代替手写：`F.layer_norm`、`F.gelu`、`F.rms_norm`。
    避免布局拷贝：全程使用同一种 memory format。
cause-compute-elementwise-traps =
    编译融合大约能达到按字节数估算的 60%。
    GPU 还在等别的东西时，融合没有收益。
    编译要花几分钟，遇到新形状还要再来。

cause-compute-alignment-name = 尺寸未对齐 tensor core
cause-compute-alignment-title = 矩阵乘的尺寸不适合 tensor core
cause-compute-alignment-what = 某一维不是 8 的倍数（最好是 64 或 128）时，库会退回较慢的 kernel。词表 50257 在 H200 上只有 95–149 TFLOP/s，50304 则是它的好几倍。
cause-compute-alignment-seen = 矩阵乘的尺寸不是这些数的倍数，而且相对其 FLOPs 明显偏慢。需要用 `record_shapes=True` 采集。
cause-compute-alignment-remedy =
    把词表补到 64 或 128 的倍数：50257 → 50304 让单步从 57.5 ms 降到 22.8 ms。
    hidden size 也按同样的原则选取。
cause-compute-alignment-traps =
    已有的 checkpoint 也要补齐 embedding 和输出层。
    补出来的类别不会成为目标，但会进入 softmax：把它们初始化得很低，或屏蔽掉。
    “batch × 序列长”也是这些矩阵乘的一维。

cause-compute-padding-name = 填充 (padding) 上的计算
cause-compute-padding-title = GPU 在计算填充 (padding)
cause-compute-padding-what = 每个 batch 都填充到其中最长的样本，填充部分照样计算。
cause-compute-padding-seen = 形状随 step 变化。一个 batch 里有多少是填充，从形状看不出来，所以不承诺收益。需要用 `record_shapes=True` 采集。
cause-compute-padding-remedy =
    把长度相近的样本放进同一个 batch：分桶采样器，或 transformers 的 `group_by_length=True`。
    把多个样本打包进一个序列，配合变长 attention。
    只用几档长度（512、1024、2048），填充和形状种类都少。
cause-compute-padding-traps =
    打包的样本不能互相 attend：用变长 attention 或分块掩码，并重置位置编号。
    分桶会改变样本顺序：桶内和桶间都要打乱。

cause-compute-bound-name = GPU 本身
cause-compute-bound-title = 瓶颈就是 GPU
cause-compute-bound-what = 没有什么拖住 GPU：它至少 90% 的单步时间都在有效工作。要更快，只能减少工作量或提高效率。
cause-compute-bound-seen = 未开 profiler 时的有效工作占比，不含集合通信。
cause-compute-bound-remedy =
    不需要。
    想更进一步：精度、attention、算子融合、尺寸（见 `compute.*` 各页），或换一块 GPU。
cause-compute-bound-traps =
    “GPU-Util 100%” 说明不了这一点：132 个 SM 里只有一个在跑也显示 100%，在 NCCL 里干等的 rank 也是。
    排队的 kernel 之间停 1–2 µs，占单步 2–3%，属于正常。
    繁忙的 H200 会贴着功耗上限运行，频率低于最高值。这不是故障。

## 多卡

cause-comm-exposed-name = 未被掩盖的通信
cause-comm-exposed-title = GPU 在等没被掩盖的集合通信
cause-comm-exposed-what = 传输比与它并行的计算更长，露出来的部分拉长了单步。
cause-comm-exposed-seen = 集合通信（分片的聚合和分发除外）期间没有其他 kernel 的时间。只有一个 rank 的 trace 时它是上限，因为其中含有等其他 rank 的时间。
cause-comm-exposed-remedy =
    减少归约次数：梯度累积配合 `no_sync()`。
    让每次传输对应更多计算：增大每卡 batch。
    减少字节数：`ddp_model.register_comm_hook(None, bf16_compress_hook)`。
    改善重叠：`static_graph=True`、`gradient_as_bucket_view=True`、调整梯度桶大小。
cause-comm-exposed-traps =
    集合通信的时长不等于传输时间：先到的 rank 大部分时间在等别人。
    启动受限时，未被掩盖的占比只是上限，节奏由 CPU 决定。
    与等待中的集合通信并行的 kernel 可能慢到 1.3 倍。

cause-comm-unbucketed-name = 零碎的集合通信
cause-comm-unbucketed-title = 集合通信又多又小，而且没有重叠
cause-comm-unbucketed-what = 梯度逐个归约，或在计算 stream 上归约。每次都要付延迟，又都不与反向重叠。
cause-comm-unbucketed-seen = 每步集合通信的次数和大小，重叠接近零。
cause-comm-unbucketed-remedy =
    用 `DistributedDataParallel` 代替自己写的循环：它在反向过程中按梯度桶归约。
    DDP 里调 `bucket_cap_mb`、`static_graph=True`、`gradient_as_bucket_view=True`。
    自己的代码：先拼平再归约，用 `async_op=True`，最后再 wait。
cause-comm-unbucketed-traps =
    桶不是越大越好：桶里最后一个梯度算完它才开始传。
    最后一个桶带着 embedding，几乎没有计算可以与它重叠。
    `find_unused_parameters=True` 每步都有代价（有一例 26%）。

cause-comm-accumulation-name = 每个 micro-batch 都归约
cause-comm-accumulation-title = 每个 micro-batch 都在归约梯度
cause-comm-accumulation-what = 用梯度累积时，一次更新只有最后一个 micro-batch 需要归约，这里却每个都做。
cause-comm-accumulation-seen = 每次优化器更新有多次经过 DistributedDataParallel 的前向，而且每次反向都做同样的归约。
cause-comm-accumulation-remedy =
    除最后一个外，micro-batch 都放进 `with model.no_sync():`；FSDP2 用 `model.set_requires_gradient_sync(False)`。
    Accelerate 用 `with accelerator.accumulate(model):`。
cause-comm-accumulation-traps =
    `no_sync()` 必须同时包住前向和反向。
    FSDP 下，未分片的梯度会留在显存里。
    ZeRO-2 和 ZeRO-3 的设计就是每个 micro-batch 都归约。

cause-comm-sharding-name = 聚合分片参数
cause-comm-sharding-title = GPU 在等分片的参数
cause-comm-sharding-what = FSDP 和 ZeRO-3 在前向之前聚合每层参数，反向之前再来一次。计算掩盖不住的部分就要等。
cause-comm-sharding-seen = 前向和反向中都有 all-gather，以及其中未被掩盖的部分。
cause-comm-sharding-remedy =
    前向之后保留参数：`reshard_after_forward=False`（bf16 下每个参数多占 2 字节）。
    少分片：单机 NVLink 用 ZeRO-2，PCIe 用 ZeRO-1；或节点内分片、节点间复制 (HSDP)。
    预取下一层；增大每卡 batch 能掩盖更多。
cause-comm-sharding-traps =
    ZeRO-3 的通信量是 DDP 的 1.5 倍，梯度累积时每个 micro-batch 都要再来一遍。
    模型不分片也放得下时，分片就是拿时间换显存。

cause-comm-link-name = 慢链路
cause-comm-link-title = 集合通信走了慢路径
cause-comm-link-what = 数据走了内存或 TCP，而不是 NVLink、P2P 或高速网络。
cause-comm-link-seen = 要有所有 rank 在相同 step 上的 trace：16 MiB 以上的集合通信，总线带宽不到该 GPU 链路通常水平的一半，或者比另一通信组里同样的集合通信慢 1.5 倍。只有一个 rank 的 trace 时，时长里含有等待，算出的带宽只是下限。与 trace 放在一起或一并给出的 NCCL 日志（`NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log`）也会读取：它说明哪几对 rank 走了慢路径，以及为什么。
cause-comm-link-remedy =
    取消 `NCCL_P2P_DISABLE`、`NCCL_IB_DISABLE` 和 `NCCL_SHM_DISABLE`，查看 `nvidia-smi topo -m`。
    跨节点：容器里要看得到 InfiniBand 或 RoCE 网卡，`NCCL_SOCKET_IFNAME` 要对，启用 GPUDirect RDMA。
    `NCCL_DEBUG=INFO` 会显示实际走的路径。
cause-comm-link-traps =
    此时每块 GPU 都显示 100%：等待中的集合通信也算忙。
    小消息受延迟限制，说明不了链路。
    单机上出现 `NET/IB : No device found` 是正常的；没有网卡时 `GDR 1` 没有意义。
    如果传输已被掩盖，更快的链路收益很小。

cause-comm-unsplit-name = 集合通信
cause-comm-unsplit-title = 只从一个 rank 看到的集合通信
cause-comm-unsplit-what = 集合通信的时间要么是传输，要么是在等最后一个 rank 到达。只有一个 rank 的 trace，分不清两者。
cause-comm-unsplit-seen = 有 NCCL 或 RCCL kernel，但没有其他 rank 的 trace。
cause-comm-unsplit-remedy =
    提供所有 rank 在相同 step 上采集的 trace：`whyidle trace DIR`。
cause-comm-unsplit-traps =
    看上去 99% 忙的 rank，可能是在集合通信里干等。
    不要凭一个 rank 的证据去调梯度桶或链路。

cause-rank-straggler-name = 拖后腿的 rank
cause-rank-straggler-title = 各 GPU 在等拖后腿的 rank (straggler)
cause-rank-straggler-what = 有一个 rank 总是比别人晚到集合通信，其他 rank 都在里面等。
cause-rank-straggler-seen = 要有所有 rank 在相同 step 上的 trace（`whyidle trace DIR`）：多数集合通信里最后到达的是同一个 rank，其他 rank 在那里等它，而且单独跑时它的单步也比别人长；它自己的账本说明原因。只有一个 rank 的 trace 时，这段等待只是 `comm.unsplit` 的一部分。
cause-rank-straggler-remedy =
    解决拖住那个 rank 的问题：它的数据加载、它的 CPU、分给它的工作量。
    按 token 数而不是样本数来均衡。
cause-rank-straggler-traps =
    别人等的时间不等于它造成的代价。如果所有 rank 都受限于启动开销，稍慢的那个会让对方的队列一直是满的，解决它也没有收益。
    拖后腿的 rank 自己的 GPU 看起来最空闲；在等的那些显示 100%。
    常见原因是序列长度不均、流水线最后一级、垃圾回收。硬件问题很少。

cause-pipeline-bubble-name = 流水线气泡
cause-pipeline-bubble-title = 流水线填充和排空时 GPU 在等
cause-pipeline-bubble-what = p 级、m 个 micro-batch 时，每级有 (p − 1) ÷ (m + p − 1) 的单步时间空闲：p = m = 4 时是 3/7。
cause-pipeline-bubble-seen = send / recv 的 kernel 期间没有其他 kernel；再由级数和 micro-batch 数得出这种调度至少要空闲多少。
cause-pipeline-bubble-remedy =
    每步用更多 micro-batch。
    交错调度（每级 v 个 chunk，气泡除以 v），或 zero-bubble 调度。
    让各级耗时相等。
cause-pipeline-bubble-traps =
    micro-batch 越小 kernel 越短，最后受限于启动开销。
    GPipe 要保存全部 m 个 micro-batch 的激活值，1F1B 最多 p 个。
    各级不均时由最慢的一级决定节奏，往往是带输出层和 loss 的最后一级。

cause-gpu-shared-name = 卡上的其他进程
cause-gpu-shared-title = 另一个进程也在用这块 GPU
cause-gpu-shared-what = 同一块卡上的两个进程轮流执行，各自看到的是 kernel 启动变晚或变长。
cause-gpu-shared-seen = trace 里看不出来：它只含一个进程的活动，只是 kernel 启动变晚或变长。要靠这块卡的分进程使用率：NVML 或 `nvidia-smi pmon`。
cause-gpu-shared-remedy =
    一块卡只跑一个任务。
    小任务用 MIG 切分，或用 MPS。
cause-gpu-shared-traps =
    检查残留进程和 notebook。容器里看不到别人的进程。
    `CUDA_VISIBLE_DEVICES` 会重新编号；映射错了，所有 rank 都会挤到 0 号卡上。

cause-run-startup-name = 启动
cause-run-startup-title = 第一步之前花了很久
cause-run-startup-what = 导入模块、构建模型、加载权重、首次编译。每次启动一遍，崩溃或被抢占后再来一遍。
cause-run-startup-seen = trace 里看不出来：它只覆盖几步。`whyidle run` 看得到：从第一次导入到第一次前向之间带时间的调用栈，以及编译器的栈帧。
cause-run-startup-remedy =
    在多次运行之间保留编译缓存 (`TORCHINDUCTOR_CACHE_DIR`)。
    权重和数据放在本地盘；加载权重用 `mmap=True`。
    只有评估才用到的模块推迟导入。
cause-run-startup-traps =
    对跑几天的任务，几分钟无所谓；对大量短任务的参数搜索则不然。
    最初几步也慢：显存分配、自动调优、页缓存。

cause-run-epoch-name = epoch 交界
cause-run-epoch-title = 每个 epoch 都重启 DataLoader worker
cause-run-epoch-what = 没有 `persistent_workers` 时，worker 随 epoch 结束而退出。新的 worker 要重新 fork 或导入、打开数据集，第一个 batch 要多久就等多久。
cause-run-epoch-seen = trace 里看不出来：它只覆盖几步。`attach` 和 `run` 看得到：主线程停在 DataLoader 的 `__init__` 或关闭 worker 处、新生的 worker 进程，以及对第一个 batch 的等待。
cause-run-epoch-remedy =
    设 `persistent_workers=True`。
    让 epoch 更长：用会重复数据集的 sampler。
    打开文件、建索引放在主进程，不要放在每个 worker 的 `__init__` 里。
cause-run-epoch-traps =
    worker 常驻时，数据集在 epoch 之间的变化要另外通知：它们留着自己的副本。
    数据集小、epoch 短时代价最大。

cause-run-eval-name = 评估
cause-run-eval-title = 评估占用了训练时间
cause-run-eval-what = 评估期间不走训练步，不管 GPU 有多忙。
cause-run-eval-seen = trace 里看不出来：它只覆盖几步。`attach` 和 `run` 看得到：某个函数之下出现过 DataLoader 和前向，却从未出现反向或优化器；或者 transformers、Lightning 的评估循环。
cause-run-eval-remedy =
    少评估几次，或只用一部分数据。
    用 `torch.inference_mode()` 和更大的 batch：不需要保留激活值。
    在另一块 GPU 上评估已保存的 checkpoint。
cause-run-eval-traps =
    评估也可能供数不足：它的 `num_workers` 是单独的设置。
    逐个 batch 在 CPU 上算指标，常常比模型还贵。

cause-run-checkpoint-name = 反复保存 checkpoint
cause-run-checkpoint-title = 保存 checkpoint 让训练停下
cause-run-checkpoint-what = 主线程保存期间不会启动任何一步。只有几步的 trace 很少碰上。
cause-run-checkpoint-seen = trace 里看不出来：它只覆盖几步；碰上保存的 trace 会指出 `io.checkpoint`。`attach` 和 `run` 看得到：观察期间主线程至少两次停在 `torch.save`、torch.distributed.checkpoint 或 safetensors 里。
cause-run-checkpoint-remedy =
    降低保存频率：一次崩溃平均损失半个间隔。
    异步保存：`torch.distributed.checkpoint.async_save`，或先拷到内存再由线程写盘。
    写到本地盘，再从那里上传。
cause-run-checkpoint-traps =
    第一步拷到内存仍会让训练停下，被掩盖的只是写盘。
    所有 rank 都在等保存的那一个。
