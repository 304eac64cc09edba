# 一次训练在开跑之前就能算出来的需求。

plan-parameters = { $count }参数
plan-sequence = 序列长度 { $seq }
plan-samples = { $count ->
   *[other] 每步 { $count } 条样本
}
plan-batch = batch { $batch } × { $micro }
plan-checkpoint-full = 激活重计算
plan-checkpoint-selective = 只重算 attention 分数
plan-checkpoint-every = 激活重计算，每 { $k } 层保留 1 层
plan-offload = 优化器状态放在内存
plan-other = 其他

## 结论

plan-fits = { $strategy }：每张 GPU 需要 { $need }（共 { $have }），单步大约 { $step }。
plan-does-not-fit = { $strategy } 放不下：需要 { $need }，而显存共 { $have }。若留出 { $free } 余量，还差 { $missing }。
plan-fits-nowhere = 没有放得下的策略。最接近的是 { $strategy }，需要 { $need }，而显存共 { $have }：若留出 { $free } 余量，还差 { $missing }。
plan-limit-compute = 瓶颈：GPU 本身的计算。
plan-limit-communication = 瓶颈：未被掩盖的通信。
plan-limit-bubble = 瓶颈：流水线气泡。
plan-limit-host = 瓶颈：CPU 侧或数据加载，GPU 在等它。耗时相同的策略因此不分快慢。
plan-limit-memory = 瓶颈：显存，用时间换了空间。

## 显存

plan-memory-title = 单卡显存峰值出现在：{ $moment }
plan-moments-title = 各时刻的已分配显存
plan-item-weights = 权重
plan-item-optimizer = 优化器状态
plan-item-gradients = 之前 micro-batch 的梯度
plan-item-new-gradients = 梯度
plan-item-buckets = DDP 梯度桶
plan-item-workspace = cuBLAS 工作区
plan-item-inputs = 输入和标签
plan-item-activations = 各层的激活值
plan-item-recomputed = 正在重算的一层
plan-item-ends = 首尾两端的激活值
plan-item-copies = 权重的 16 位副本
plan-item-loss = logits 和损失
plan-item-transient = 反向传播的临时张量
plan-item-measured-difference = 实测与模型的差额
plan-item-optimizer-temporary = 优化器的临时张量
plan-item-gathered = 聚合出来的权重
plan-item-unsharded-gradients = 分片前的梯度
plan-moment-loss-forward = 计算损失时
plan-moment-loss-backward = 损失的反向传播
plan-moment-head-backward = 输出矩阵的反向传播
plan-moment-layer-backward = 某一层的反向传播
plan-moment-backward-end = 反向传播结束时
plan-moment-optimizer = 优化器更新时
plan-allocated = 已分配 (max_memory_allocated)
plan-first-steps = 前几步，DDP 可能持有两套梯度桶
plan-segments = 分配器显存段的剩余部分
plan-context = CUDA 上下文和各种库
plan-needed = 总需求
plan-tested = 这是预测，不是实测。先这样预测、后实测的 53 个峰值中，49 个误差在 5% 以内。
plan-untested = { $what }没有实测峰值作依据，这部分只是公式推算。
plan-untested-tensor = 张量并行
plan-untested-context = 上下文并行
plan-untested-expert = 专家并行
plan-untested-pipeline = GPipe 以外的流水线
plan-untested-zero = ZeRO-2
plan-untested-offload = 卸载到内存
plan-untested-qlora = QLoRA
plan-untested-megatron = Megatron 的实现
plan-untested-selective = 只重算 attention 分数
plan-untested-fused-loss = 融合的损失
plan-untested-compiled = 这类网络的编译版本

## 单步

plan-step-title = 单步大约 { $step }
plan-compute = 计算
plan-bubble = 流水线气泡
plan-exposed = 未被掩盖的通信
plan-optimizer = 优化器
plan-waiting = 等 CPU 侧或数据加载
plan-efficiency = 按矩阵乘达到峰值的 { $share } 估算：这是给定的假设，不是实测。
plan-flow = { $time }，其中未被掩盖 { $exposed }
plan-flow-data = 梯度
plan-flow-gather = 聚合权重
plan-flow-tensor = 张量并行
plan-flow-pipeline = 流水线级间
plan-flow-context = 环上的 K 和 V
plan-flow-expert = token 分发到专家
plan-rate = 每秒 { $rate } 个 token；MFU { $mfu }。
plan-budget = { $tokens } token 需要 { $days } 天，{ $hours } GPU 小时。
plan-price = 按每 GPU 小时 { $price } 计，共 { $total }。

## 策略

plan-strategies-title = { $judged ->
   *[other] 评估了 { $judged } 种策略，{ $fitting } 种放得下
}
plan-loses-best = 最快
plan-loses-recompute = 慢 { $slower }：计算更多或更碎
plan-loses-bubble = 慢 { $slower }：流水线气泡
plan-loses-exposed = 慢 { $slower }：未被掩盖的通信
plan-loses-optimizer = 慢 { $slower }：优化器
plan-loses-equal = 一样快
plan-loses-memory = 放不下：还差 { $missing }
plan-flags-other-title = { $framework } 做不到上面的策略，可用：{ $strategy }，单步 { $step }
plan-flags-title = { $framework } 的写法

## 经验法则

plan-rules-title = 经验法则，由以上数字推出（+ 表示这里值得用）
plan-rule-checkpointing = 激活重计算能省 { $saves }，代价是多 { $price } 的计算。显存紧张且激活值超过约 40% 时才值得；这里占 { $share }（{ $activations }）。
plan-rule-eight-bit = 8-bit 优化器状态每卡省 { $saves }，占显存的 { $share }。只有用了才放得下时才值得。
plan-rule-zero = ZeRO-2 比 ZeRO-1 多省 { $saves }，但每个 micro-batch 都要归约，每步多传 { $extra }：这里要 { $here }，走 PCIe 4 要 { $pcie }。所以有 NVLink 用 ZeRO-2，走 PCIe 用 ZeRO-1。
plan-rule-bubble = 气泡占单步的 (p − 1)/(m + p − 1)：4 级 4 个 micro-batch 时是 { $example }。这里 micro-batch 数等于级数时是 { $same }，四倍时是 { $fourfold }。
plan-rule-margin = 留出 10–15% 的余量：显存段比已分配的更大，这里约 { $reserved } 对 { $allocated }，上下文另占 { $context }。还剩 { $free }。

## 从实测的一步出发

plan-measured = 实测：{ $strategy }，每张 GPU 用了 { $need }（共 { $have }），单步 { $step }。
plan-traced = 据 trace：{ $strategy }，每张 GPU 约用 { $need }（共 { $have }），单步 { $step }。
plan-calibrated-peak = 已分配峰值 { $bytes }（{ $range }），由实测峰值推算。
plan-peak-as-measured = 已分配峰值 { $bytes }，即实测值。
plan-predicted-peak = 已分配峰值 { $bytes }（{ $range }）是预测值：没有记录峰值，trace 也不能说明一切。
plan-back-title = 这里用了哪些省显存的手段：撤掉要多占多少显存，单步能省回多少时间
plan-back-none = 这一步没有用时间换显存的手段。
plan-back-step = 撤掉后 { $strategy }：单步 { $step }（{ $range }），{ $method }
plan-back-unknown = 撤掉后 { $strategy }；凭现有证据说不出能省回多少时间
plan-back-nothing = 撤掉后 { $strategy }；单步几乎省不回时间
plan-back-missing = 放不下，还差 { $missing }；{ $remark }
plan-saver-checkpointing = 激活重计算
plan-saver-regathering = 权重聚合两次
plan-saver-sharding = 分片
plan-saver-eight-bit = 8-bit 优化器状态
plan-saver-offload = 状态放在内存
plan-saver-micro-batches = micro-batch
plan-larger = 显存 { $capacity } 只用了 { $used }：batch { $from } → { $to } 放得下（预计 { $bytes }，{ $range }），至少还留出 { $free } 余量。
plan-larger-none = batch 翻倍也留不出 { $free } 的余量。
plan-calibrated-title = 用 { $path } 校准
plan-calibrated-network = 网络结构由算子的形状读出：{ $parameters } 个参数。
plan-calibrated-network-counted = 网络结构由算子的形状读出：{ $parameters } 个参数，与采样记录一致。
plan-calibrated-described = 网络按给出的描述，{ $parameters } 个参数；没有 trace 可供核对。
plan-calibrated-memory = 峰值实测 { $peak }，模型预测 { $predicted }；差额 { $difference } 计入后续预测。
plan-calibrated-memory-first = 峰值实测 { $peak }，模型预测 DDP 前几步为 { $predicted }；差额 { $difference } 计入后续预测。
plan-calibrated-no-peak = 没有记录峰值：显存只是预测，未经校准。
plan-calibrated-above = 实测峰值比模型高 { $share }，超出模型误差：显存里有这份配置看不出的东西（第二个模型、验证、循环里留着的张量），或训练方式与此不同。对其他配置的预测因此不太可靠，误差见范围。
plan-calibrated-below = 实测峰值比模型低 { $share }，超出模型误差：训练方式与看上去的不同，或峰值取自另一步。对其他配置的预测因此不太可靠，误差见范围。
plan-calibrated-step = 单步实测 { $step }
plan-calibrated-step-estimated = 单步 { $step }，由 trace 估算
plan-calibrated-step-traced = 单步 { $step }，取自 trace，含 profiler 自身开销
plan-calibrated-work = { $line }；其中 GPU 有效工作 { $working }，优化器占 { $optimizer }，其余达到峰值算力的 { $efficiency }
plan-calibrated-host = { $line }。只算 CPU 侧要 { $host }。
plan-calibrated-all-work = { $line }。没有 trace，全部按 GPU 有效工作计，达到峰值算力的 { $efficiency }。
plan-calibrated-moved = 实测在 { $from } 上；假设 { $to } 能达到同样的峰值算力占比。
plan-calibrated-stated = 单步耗时未经校准：按 --efficiency 给定的占比计。
plan-calibrated-no-step = 单步耗时未经校准：实测那一步的数据类型、代码、attention 或优化器循环不同，或矩阵小得多。
plan-calibrated-rate = 各策略都由实测的一步推算：4096 行以上的矩阵乘达到峰值算力的 { $efficiency }，CPU 侧和数据加载按各自的速度，显存计入实测与模型的差额。
plan-calibrated-memory-only = 各策略的显存计入实测与模型的差额；速度按给定的占比计，不是实测。
plan-unknown-by-peak = { $what }：trace 里看不出，由实测峰值判定。
plan-unknown-assumed = { $what }：trace 里看不出，按默认假设。
plan-unknown-logits-kept = 循环一直留着 logits
plan-unknown-logits-dropped = 循环不留 logits
plan-unknown-bucket-view = DDP 的梯度桶就是梯度本身
plan-unknown-bucket-copies = DDP 的梯度桶是梯度的副本
plan-unknown-tied = 输出矩阵与 embedding 共享
plan-unknown-untied = 输出矩阵不与 embedding 共享
plan-unknown-optimizer = 优化器是 AdamW
plan-step-as-measured = 即实测值，没有估算。
plan-step-calibrated = 由实测的一步推算，{ $range }：GPU 的工作达到峰值算力的 { $share }，CPU 侧和数据加载按各自的速度。

## 无法规划的原因

plan-error-unknown-model = 没有名为 “{ $model }” 的预设。请用 --config config.json，或从这些里选：{ $known }
plan-error-unknown-architecture = 还不认识 model_type “{ $architecture }”，认识的有：{ $known }。可以用 --layers、--hidden、--heads、--ffn 和 --vocab 描述模型
plan-error-config-not-json = 配置不是 JSON 对象。请给出 transformers 写的 config.json
plan-error-config-missing = { $architecture } 模型的配置里没有 { $name }，或它不是 2,097,152 以内的整数
plan-error-heads-hidden = 隐藏维度 { $hidden } 不是头数 { $heads } 的整数倍。请取约数，或在配置里给出 head_dim
plan-error-kv-heads = { $heads } 个查询头不是 { $kv_heads } 个 KV 头的整数倍。请取约数：num_key_value_heads 或 --kv-heads
plan-error-gpus = 最多规划 { $most } 张 GPU
plan-error-zero = { $name } 必须大于 0
plan-error-tensor-parallel = { $tp } 路张量并行分不了 { $heads } 个头和 { $kv_heads } 个 KV 头。请取两者的公约数
plan-error-pipeline = { $layers } 层分不成相等的 { $pp } 份（级数 × 每级块数）。请取约数
plan-error-expert-parallel = 专家并行 { $ep } 路要求专家数 { $experts } 和数据并行数 { $dp } 都是它的整数倍
plan-error-context-parallel = { $cp } 路上下文并行无法平分 { $seq } 个 token。请取约数
plan-error-sequence-positions = 序列长度 { $seq } 超过了模型学到的 { $positions } 个位置。请用更短的 --seq
plan-error-batch = { $gpus } 张 GPU 无法平分 { $batch } 条样本。请取倍数，或换 GPU 数
plan-error-world = { $gpus } 张 GPU 不是 { $ranks } 个 rank（tp × pp × cp）的整数倍。请取约数，GPU 数写成 --gpu NAMExN
plan-error-unknown-gpu = 表里没有 “{ $gpu }” 这款 GPU。请用 --gpu-table FILE，或从这些里选：{ $known }
plan-error-gpu-table = GPU 表不能用：{ $reason }。每一项写成 [gpu.NAME]，含 memory_gib、bandwidth_gbs 和 half_tflops，可加 single_tflops、link 和 per_node，数值都大于 0
plan-error-unknown-link = 没有 “{ $link }” 这种链路。可选：{ $known }
plan-error-no-experts = 这个模型没有专家可分：请去掉 --ep
plan-error-experts = 每个 token 要去 { $experts } 个专家中的 { $top_k } 个，这不可能。请检查 num_experts_per_tok
plan-error-too-many-parameters = 这些尺寸合计超过 10¹⁵ 个参数，其中必有笔误
plan-error-too-many-tokens = 单卡 { $batch } 条样本、每条 { $seq } 个 token，或每步 { $samples } 条样本：其中必有笔误
plan-error-too-large = { $path } 有 { $bytes }；配置文件不会超过 { $most }
plan-error-interleave = 交错流水线要求 micro-batch 数是级数的整数倍；{ $micro } 不是 { $pp } 的整数倍
plan-error-read = 读不了 { $path }：{ $reason }
plan-error-nothing = 请指定模型：--model、--config，或 --layers 加上 --hidden、--heads 和 --vocab
plan-error-no-batch = 请给出样本数：--batch 是单卡的（评估一种策略），--global-batch 是每步全部的（搜索策略）
plan-error-out-of-reach = 序列长度 { $seq } 时，单条样本的 token 就超过实测的 16 倍，实测的速度说明不了。请给出 --efficiency，或实测更长的一步
plan-error-no-rates = 没有这份采样记录所用 GPU “{ $gpu }” 的数据。请用 --gpu，或 --gpu-table FILE 配合 --gpu
plan-error-calibrate-refused = 这份采样记录不能用来校准：{ $reason }
plan-unseen-shapes = trace 里没有算子的形状，或没有完整的一步。采集时加 record_shapes=True；或不用 --calibrate，直接给出 --batch、--seq 和模型
plan-unseen-compiled = 这一步经过图编译，算子看不出网络结构。请采集一步没有 torch.compile 的；或用 --model、--config 或数字加 --compiled 描述它，由旁边的采样记录提供实测值
plan-unseen-attention = 这一步里没有形状一致的 attention：不是 transformer，或步内长度不一
plan-unseen-loss = 这一步里没有词表上的交叉熵，数不出有几个 micro-batch
plan-unseen-blocks = 仅凭算子认不出这些层属于哪一类（GPT 类和 Llama 类可以）。请不用 --calibrate，改用 --model 或 --config 加参数来描述
plan-unseen-parallelism = 各 rank 之间的切分方式在 trace 里看不出来（能认出 DDP、FSDP、ZeroRedundancyOptimizer 和有记录的流水线）
plan-unseen-parameters = trace 里的形状合计 { $counted } 个参数，而采样记录写的是 { $said }。两者矛盾，不做规划
plan-unseen-sizes = { $path } 里没有每步的样本数或序列长度。请给出 --batch 和 --seq
plan-unseen-peak-low = 峰值 { $peak } 不可能：仅权重、梯度和优化器状态就要 { $bound }，还多 { $missing }。采样记录属于另一次运行，或训练方式与描述不符
plan-unseen-peak-high = 峰值 { $peak } 不可能：GPU 只有 { $bound }，少了 { $missing }。采样记录属于另一款 GPU 或另一次运行
plan-unseen-recording = { $path } 里没有单步耗时或显存峰值，旁边也没有 trace。请给出含 trace 的目录，或两者都有的采样记录
