# What a training run will need, before anything runs.

plan-parameters = { $count } parameters
plan-sequence = sequence { $seq }
plan-samples = { $count ->
    [one] 1 sample a step
   *[other] { $count } samples a step
}
plan-batch = batch { $batch } × { $micro }
plan-checkpoint-full = checkpointing
plan-checkpoint-selective = scores recomputed
plan-checkpoint-every = checkpointing, 1 layer in { $k } kept
plan-offload = optimizer on the host
plan-other = other

## The answer

plan-fits = { $strategy }: needs { $need } of the { $have } of each GPU, and a step takes about { $step }.
plan-does-not-fit = { $strategy } does not fit: it needs { $need } of { $have }. { $missing } are missing if { $free } stay free.
plan-fits-nowhere = No strategy fits. The closest, { $strategy }, needs { $need } of { $have }: { $missing } are missing if { $free } stay free.
plan-limit-compute = What limits it: the GPU's own work.
plan-limit-communication = What limits it: communication that no work hides.
plan-limit-bubble = What limits it: the pipeline's fill and drain.
plan-limit-host = What limits it: the host or the loader, which keep the GPU waiting. Strategies that take equally long are equal for that.
plan-limit-memory = What limits it: memory. Time is paid to make room.

## Memory

plan-memory-title = memory of one GPU at its peak: { $moment }
plan-moments-title = allocated at each moment
plan-item-weights = weights
plan-item-optimizer = optimizer states
plan-item-gradients = gradients of earlier micro-batches
plan-item-new-gradients = gradients
plan-item-buckets = DDP buckets
plan-item-workspace = cuBLAS workspaces
plan-item-inputs = inputs and labels
plan-item-activations = activations of the layers
plan-item-recomputed = one layer, computed again
plan-item-ends = before and after the layers
plan-item-copies = 16-bit copies of weights
plan-item-loss = logits and loss
plan-item-transient = temporaries of backward
plan-item-measured-difference = what was measured beyond the model
plan-item-optimizer-temporary = temporaries of the optimizer
plan-item-gathered = gathered weights
plan-item-unsharded-gradients = gradients before scattering
plan-moment-loss-forward = the loss is computed
plan-moment-loss-backward = backward of the loss
plan-moment-head-backward = backward of the output matrix
plan-moment-layer-backward = backward of a layer
plan-moment-backward-end = end of backward
plan-moment-optimizer = the optimizer's step
plan-allocated = allocated (max_memory_allocated)
plan-first-steps = in the first steps, while DDP may hold two sets of buckets
plan-segments = rest of the allocator's segments
plan-context = CUDA context and libraries
plan-needed = needed
plan-tested = Predicted, not measured. Of 53 peaks that were predicted like this before they were measured, 49 were within 5 %.
plan-untested = No measured peak stands behind { $what }: that part is formulas alone.
plan-untested-tensor = tensor parallelism
plan-untested-context = context parallelism
plan-untested-expert = expert parallelism
plan-untested-pipeline = a pipeline other than GPipe
plan-untested-zero = ZeRO-2
plan-untested-offload = offload
plan-untested-qlora = QLoRA
plan-untested-megatron = Megatron's code
plan-untested-selective = recomputing scores alone
plan-untested-fused-loss = fused losses
plan-untested-compiled = this network compiled

## A step

plan-step-title = a step takes about { $step }
plan-compute = computation
plan-bubble = pipeline bubble
plan-exposed = exposed communication
plan-optimizer = optimizer
plan-waiting = waiting for the host or the loader
plan-efficiency = Estimated with matrix products at { $share } of the peak, as stated, not as measured.
plan-flow = { $time }, exposed { $exposed }
plan-flow-data = gradients
plan-flow-gather = gathering weights
plan-flow-tensor = tensor parallelism
plan-flow-pipeline = between stages
plan-flow-context = keys and values in the ring
plan-flow-expert = tokens to experts
plan-rate = { $rate } tokens/s; MFU { $mfu }.
plan-budget = { $tokens } tokens take { $days } days, { $hours } GPU hours.
plan-price = At { $price } per GPU hour that is { $total }.

## Strategies

plan-strategies-title = { $judged ->
    [one] 1 strategy judged, { $fitting } fit
   *[other] { $judged } strategies judged, { $fitting } fit
}
plan-loses-best = the fastest
plan-loses-recompute = { $slower } slower: more or smaller computation
plan-loses-bubble = { $slower } slower: bubble
plan-loses-exposed = { $slower } slower: exposed communication
plan-loses-optimizer = { $slower } slower: the optimizer
plan-loses-equal = as fast
plan-loses-memory = does not fit: { $missing } missing
plan-flags-other-title = for { $framework }, which cannot do that: { $strategy }, { $step } a step
plan-flags-title = for { $framework }

## Rules of thumb

plan-rules-title = rules of thumb, as consequences of these figures (+ worth it here)
plan-rule-checkpointing = Checkpointing would save { $saves } for { $price } more work. Worth it when memory is short and activations are more than about 40 %: here they are { $share } ({ $activations }).
plan-rule-eight-bit = 8-bit optimizer states save { $saves } per GPU, { $share } of its memory. Worth it only when the plan fits with them and not without.
plan-rule-zero = ZeRO-2 saves { $saves } more than ZeRO-1 and sends { $extra } more per step, since each micro-batch reduces: { $here } here, { $pcie } over PCIe 4. So ZeRO-2 with NVLink, ZeRO-1 over PCIe.
plan-rule-bubble = The bubble is (p − 1)/(m + p − 1) of the step: { $example } with 4 stages and 4 micro-batches. With as many micro-batches as stages here { $same }, with four times as many { $fourfold }.
plan-rule-margin = Keep 10–15 % free: segments hold more than is allocated, here about { $reserved } for { $allocated }, and the context takes { $context }. { $free } stay free.

## From a measured step

plan-measured = As measured: { $strategy }, { $need } of the { $have } of each GPU, and { $step } a step.
plan-traced = As traced: { $strategy }, about { $need } of the { $have } of each GPU, and { $step } a step.
plan-calibrated-peak = Peak { $bytes } allocated ({ $range }), from the measured one.
plan-peak-as-measured = Peak { $bytes } allocated, as measured.
plan-predicted-peak = Peak { $bytes } allocated ({ $range }), predicted: no peak was recorded, and the trace does not show everything.
plan-back-title = what saves memory here: what undoing it costs, and what a step gets back
plan-back-none = Nothing in this step saves memory at the price of time.
plan-back-step = then { $strategy }: { $step } a step ({ $range }), { $method }
plan-back-unknown = then { $strategy }; what a step gets back cannot be told from this evidence
plan-back-nothing = then { $strategy }; a step gets next to nothing back
plan-back-missing = does not fit, { $missing } missing; { $remark }
plan-saver-checkpointing = checkpointing
plan-saver-regathering = gathering weights twice
plan-saver-sharding = sharding
plan-saver-eight-bit = 8-bit optimizer states
plan-saver-offload = states on the host
plan-saver-micro-batches = micro-batches
plan-larger = { $used } of { $capacity } used: batch { $from } → { $to } fits (estimate { $bytes }, { $range }) and leaves at least { $free } free.
plan-larger-none = Not even twice the batch leaves { $free } free.
plan-calibrated-title = calibrated on { $path }
plan-calibrated-network = The network was read off the operators' shapes: { $parameters } parameters.
plan-calibrated-network-counted = The network was read off the operators' shapes: { $parameters } parameters, as recorded.
plan-calibrated-described = The network is the one described, { $parameters } parameters; there is no trace to see it in.
plan-calibrated-memory = Peak { $peak } measured, { $predicted } predicted; the difference of { $difference } is carried over.
plan-calibrated-memory-first = Peak { $peak } measured, { $predicted } predicted for DDP's first steps; the difference of { $difference } is carried over.
plan-calibrated-no-peak = No peak was recorded: memory is predicted, not calibrated.
plan-calibrated-above = The measured peak is { $share } above the model's, more than its error: something is in memory that this setup does not show – a second model, validation, tensors that the loop keeps – or the run trains otherwise. What is predicted of other setups is less certain; its range says by how much.
plan-calibrated-below = The measured peak is { $share } below the model's, more than its error: the run trains otherwise than it looks, or the peak is of another step. What is predicted of other setups is less certain; its range says by how much.
plan-calibrated-step = A step takes { $step } as measured
plan-calibrated-step-estimated = A step takes { $step }, estimated from the trace
plan-calibrated-step-traced = A step takes { $step } in the trace, the profiler's cost included
plan-calibrated-work = { $line }; the GPU works { $working } of it, { $optimizer } for the optimizer, the rest at { $efficiency } of the peak rate
plan-calibrated-host = { $line }. The host alone would take { $host }.
plan-calibrated-all-work = { $line }. Without a trace all of it is taken for the GPU's work, at { $efficiency } of the peak rate.
plan-calibrated-moved = Measured on { $from }: that { $to } reaches the same share of its peak rate is an assumption.
plan-calibrated-stated = The step is not calibrated: --efficiency states its rate instead.
plan-calibrated-no-step = The step is not calibrated: the measured one has other types, code, attention or optimizer loop, or far smaller products.
plan-calibrated-rate = All strategies are judged from the measured step: its work at { $efficiency } of the peak rate for products of 4096 rows and more, its host and loader at their own pace, and memory with what was measured beyond the model.
plan-calibrated-memory-only = All strategies are judged with what was measured of memory beyond the model; their rate is stated, not measured.
plan-unknown-by-peak = { $what }: not in the trace, the measured peak says so.
plan-unknown-assumed = { $what }: not in the trace, assumed.
plan-unknown-logits-kept = The loop keeps the logits
plan-unknown-logits-dropped = The loop drops the logits
plan-unknown-bucket-view = DDP's buckets are the gradients
plan-unknown-bucket-copies = DDP's buckets are copies of the gradients
plan-unknown-tied = The output matrix is the embedding
plan-unknown-untied = The output matrix is not the embedding
plan-unknown-optimizer = The optimizer is AdamW
plan-step-as-measured = As measured, nothing is estimated.
plan-step-calibrated = Estimated from the measured step, { $range }: its work runs at { $share } of the peak rate, its host and loader at their own pace.

## What makes a plan impossible

plan-error-unknown-model = there is no preset "{ $model }". Give --config config.json, or one of: { $known }
plan-error-unknown-architecture = model_type "{ $architecture }" is not among those that are understood: { $known }. Describe the model with --layers, --hidden, --heads, --ffn and --vocab
plan-error-config-not-json = the configuration is no JSON object. Give the config.json that transformers writes
plan-error-config-missing = the configuration of a { $architecture } model has no { $name } that is a whole number up to 2,097,152
plan-error-heads-hidden = the hidden width { $hidden } is no multiple of { $heads } heads. Take a divisor of it, or give head_dim in the configuration
plan-error-kv-heads = { $heads } query heads are no multiple of { $kv_heads } key-value heads. Take a divisor: num_key_value_heads, or --kv-heads
plan-error-gpus = at most { $most } GPUs can be planned for
plan-error-zero = { $name } must be above 0
plan-error-tensor-parallel = { $tp } tensor-parallel ranks cannot share { $heads } heads with { $kv_heads } key-value heads. Take a divisor of both
plan-error-pipeline = { $layers } layers cannot be divided into { $pp } equal parts (stages × pieces of each). Take a divisor
plan-error-expert-parallel = { $ep } expert-parallel ranks need { $experts } experts and { $dp } data-parallel ranks to be multiples of that
plan-error-context-parallel = { $cp } context-parallel ranks cannot share { $seq } tokens evenly. Take a divisor
plan-error-sequence-positions = a sequence of { $seq } is longer than the { $positions } positions that the model has learned. Give a shorter --seq
plan-error-batch = { $gpus } GPUs cannot share a batch of { $batch } samples evenly. Take a multiple, or other GPUs
plan-error-world = { $gpus ->
    [one] 1 GPU is no multiple of { $ranks } ranks (tp × pp × cp). Say how many there are: --gpu NAMExN
   *[other] { $gpus } GPUs are no multiple of { $ranks } ranks (tp × pp × cp). Take divisors
}
plan-error-unknown-gpu = there is no GPU "{ $gpu }" in the table. Give --gpu-table FILE, or one of: { $known }
plan-error-gpu-table = the table of GPUs cannot be used: { $reason }. Each entry is [gpu.NAME] with memory_gib, bandwidth_gbs and half_tflops, if wanted with single_tflops, link and per_node, all above 0
plan-error-unknown-link = there is no link "{ $link }". Take one of: { $known }
plan-error-no-experts = this model has no experts to share: leave --ep out
plan-error-experts = each token goes to { $top_k } of { $experts } experts: that cannot be. Look at num_experts_per_tok
plan-error-too-many-parameters = these sizes make more than 10¹⁵ parameters: one of them is a slip
plan-error-too-many-tokens = { $batch } samples of { $seq } tokens on a GPU, or { $samples } samples a step: one of them is a slip
plan-error-too-large = { $path } has { $bytes }; no configuration has more than { $most }
plan-error-interleave = interleaved stages need micro-batches in multiples of the stages; { $micro } is no multiple of { $pp }
plan-error-read = { $path } cannot be read: { $reason }
plan-error-nothing = name a model: --model, --config, or --layers with --hidden, --heads and --vocab
plan-error-no-batch = say how many samples: --batch for those of one GPU (judges one strategy), or --global-batch for those of a step (searches strategies)
plan-error-out-of-reach = with sequences of { $seq } a single sample has more than 16 times the measured tokens: the measured pace says nothing of that. Give --efficiency, or measure a longer step
plan-error-no-rates = there are no rates for the GPU of this recording, "{ $gpu }". Give --gpu, or --gpu-table FILE with --gpu
plan-error-calibrate-refused = this recording cannot calibrate a plan: { $reason }
plan-unseen-shapes = the trace has no shapes of operators, or no whole step. Record with record_shapes=True; or give --batch, --seq and a model without --calibrate
plan-unseen-compiled = a graph compiler rewrote the step: its operators do not show the network. Record one step without torch.compile, or describe the run with --model, --config or figures and --compiled: its recording measures it
plan-unseen-attention = the step has no attention of one shape: no transformer, or lengths that vary within the step
plan-unseen-loss = the step has no cross-entropy over a vocabulary, so its micro-batches cannot be counted
plan-unseen-blocks = the layers are of no family that is recognised from operators alone (GPT- and Llama-like ones are). Describe the run with --model or --config and flags, without --calibrate
plan-unseen-parallelism = the ranks divide the work in a way that the trace does not name (DDP, FSDP, ZeroRedundancyOptimizer and recorded pipelines are recognised)
plan-unseen-parameters = the shapes in the trace make { $counted } parameters, the recording says { $said }. Nothing is planned on a contradiction
plan-unseen-sizes = { $path } does not state the samples or the sequence length of a step. Give --batch and --seq
plan-unseen-peak-low = a peak of { $peak } is impossible here: weights, gradients and optimizer states alone take { $bound }, { $missing } more. The recording is of another run, or trains otherwise than described
plan-unseen-peak-high = a peak of { $peak } is impossible here: the GPU has { $bound }, { $missing } less. The recording is of another GPU or run
plan-unseen-recording = { $path } states no step time or no peak memory, and there is no trace beside it. Give a directory with a trace, or a recording with both
