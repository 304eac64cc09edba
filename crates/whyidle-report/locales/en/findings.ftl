# The sentence, doubts, evidence, remedies and ledger details: the messages that
# crates/whyidle-diagnosis makes. The id there has '.' where the key here has '-'.

## The sentence

say-healthy = The GPU works { $working } of each { $step } step; hardly anything holds it up.
say-waits = Of each { $step } step, the GPU works { $working } and waits { $waiting } { $because }.
say-waits-somewhere = Of each { $step } step, the GPU works { $working } and waits { $waiting } of the time.
say-inefficient = Its work could cost less: { $because }.
say-change = { $change } This should bring the step to about { $after } ({ $low }–{ $high }); then { $limit }.
say-change-bound = { $change } At best, this brings the step to about { $after } ({ $low }–{ $high }); then { $limit }.
say-no-gain = { $change } Alone, that gains nothing clear yet: { $limit }.

## What the GPU waits for, or what is wrong with its work (inside "waits 131 ms …", "works more than it must: …")

because-data-in_process = for data: the training process prepares it itself
because-data-workers = for data: the loader workers cannot keep up
because-data-transfer = for copies from host memory
because-host-launch = for launches: the host needs longer to launch a kernel than the GPU to run it
because-host-sync = for the host, which stops to read values back and falls behind
because-host-python = for Python code between launches
because-host-gc = for Python's garbage collector
because-host-optimizer = for an optimizer that updates one parameter after the other
because-memory-allocator = for memory that is taken from the driver, or given back to it, inside the step
because-memory-recompute = activations are computed a second time, although memory may suffice without that
because-memory-headroom = the batch is small and most of the memory is empty
because-compile-recompile = for the compiler, which still runs inside the steps
because-io-checkpoint = while a checkpoint is saved
because-io-logging = while logs are written
because-comm-exposed = for communication that nothing hides
because-comm-unbucketed = for many small gradient reductions, none of them hidden
because-comm-accumulation = for gradient reductions in every micro-batch
because-comm-sharding = for sharded parameters and gradients on their way between ranks
because-comm-unsplit = in collectives, for transfers or for other ranks
because-pipeline-bubble = for its neighbours in the pipeline
because-compute-precision = the precision costs more than it must (fp32 matmuls, or gradient scaling that bf16 does not need)
because-compute-attention = attention is written out and moves its full score matrix through memory
because-compute-elementwise = many element-wise operations, bound by memory, could be fused
because-compute-alignment = sizes of matmuls do not fit the tensor cores
because-compute-padding = part of the work is padding
because-compute-bound = with no single cause
because-unknown = for something that the trace does not tell

## What limits the step afterwards ("then …")

limit-data-in_process = preparing data in the training process is the limit
limit-data-workers = the loader workers are the limit
limit-data-transfer = copies from host memory are the limit
limit-host-launch = kernel launches are the limit
limit-host-sync = synchronisation is the limit
limit-host-python = Python is the limit
limit-host-gc = the garbage collector is the limit
limit-host-optimizer = the optimizer's work on the host is the limit
limit-memory-allocator = the allocator is the limit
limit-memory-recompute = the GPU itself is the limit
limit-memory-headroom = the GPU itself is the limit
limit-compile-recompile = compilation is the limit
limit-io-checkpoint = saving is the limit
limit-io-logging = logging is the limit
limit-comm-exposed = communication is the limit
limit-comm-unbucketed = communication is the limit
limit-comm-accumulation = communication is the limit
limit-comm-sharding = communication is the limit
limit-comm-unsplit = communication is the limit
limit-pipeline-bubble = the pipeline is the limit
limit-compute-precision = the GPU itself is the limit
limit-compute-attention = the GPU itself is the limit
limit-compute-elementwise = the GPU itself is the limit
limit-compute-alignment = the GPU itself is the limit
limit-compute-padding = the GPU itself is the limit
limit-compute-bound = the GPU itself is the limit

## Doubts

doubt-near-threshold = All waits together are { $share } of the step, close to the { $threshold } that separate healthy from not.
doubt-starved = Loader queues fill while the profiler starts, so this window cannot show the step of a long run; shares are of the traced step.
doubt-ranks = Collectives set the pace, and one rank's trace cannot tell how much of them is waiting for peers that the profiler slowed down: the step without the profiler is not known, and shares are of the traced step.
doubt-items = Most of the step goes to preparing items in the training process, and what they cost differs from window to window: the step without the profiler is not known, and shares are of the traced step.
doubt-queues = The step time is estimated from { $steps } traced steps; queues of loader workers fill while the profiler starts, so a loader that cannot keep up in the long run may not show.
doubt-no-steps = No steps were found: the whole window counts as one, with whatever starts or ends in it.
doubt-traced = The step time without the profiler is not known; shares are of the traced step, which the profiler lengthens.
doubt-estimated = The step time without the profiler is estimated from the trace; measure it and give it with --step-ms.
doubt-uncalibrated = The profiler lengthens these steps, and this trace's profiler or machine is unlike those that its cost was calibrated on: the step time without it is not known, and shares are of the traced step.
doubt-replay = Replay misses the traced step by { $error } (limit { $limit }), so no gain is predicted from it.
doubt-slack = { $error } of the traced steps is time that no dependency explains (limit { $limit }), so no gain is predicted from a replay.
doubt-unrecorded = { $error } of the traced steps lies inside CUDA graphs of which the profiler recorded nothing (limit { $limit }), so no gain is predicted from a replay.
doubt-not-replayed = Not replayed, as asked: no gain is predicted, and no step time is estimated.
doubt-no-replay = The trace cannot be replayed, so no gain is predicted from a replay.
doubt-unrepresentative = The traced steps ({ $traced }) are shorter than the true step ({ $step }): part of the waiting lies outside this window.
doubt-one-rank = Time in collectives is transfer or waiting for another rank; one rank's trace cannot tell which.

## Evidence

ev-line = { $time } of each traced step ({ $share })
ev-place = { $count ->
    [0] { $name }: { $time } per traced step
    [one] { $name }: { $time } in 1 gap per traced step
   *[other] { $name }: { $time } in { $count } gaps per traced step
}
ev-place-frame = { $count ->
    [0] { $frame }: { $time } per traced step
    [one] { $frame }: { $time } in 1 gap per traced step
   *[other] { $frame }: { $time } in { $count } gaps per traced step
}
ev-place-both = { $count ->
    [0] { $name }, called from { $frame }: { $time } per traced step
    [one] { $name }, called from { $frame }: { $time } in 1 gap per traced step
   *[other] { $name }, called from { $frame }: { $time } in { $count } gaps per traced step
}
ev-place-unnamed = { $count ->
    [0] no operator active: { $time } per traced step
    [one] no operator active: { $time } in 1 gap per traced step
   *[other] no operator active: { $time } in { $count } gaps per traced step
}
ev-data-outside = another { $time } per step lie outside the window: the true step is longer than the traced ones
ev-copies = { $count ->
    [one] 1 copy
   *[other] { $count } copies
} to the GPU per step, { $bytes }, { $time }; { $pageable ->
    [0] none of them
   *[other] { $pageable } of them
} from pageable memory
ev-copies-unnamed = { $count ->
    [one] 1 copy
   *[other] { $count } copies
} to the device per step, { $bytes }, { $time }; the trace does not say from which sort of memory
ev-copy-rate = these copies run at { $rate } GB/s
ev-launches = { $launches } kernels per step, half of them shorter than { $kernel }
ev-launch-pace = in the trace, the host launches every { $time } (median, profiler included)
ev-short-kernels = { $share } of the kernels are shorter than the time between two launches
ev-sync = { $name } makes the host wait for the GPU { $count ->
    [one] once
   *[other] { $count } times
} per step
ev-sync-at = { $name }, called from { $frame }, makes the host wait for the GPU { $count ->
    [one] once
   *[other] { $count } times
} per step
ev-python-long = { $time } per traced step in { $count ->
    [one] 1 long stretch
   *[other] { $count } long stretches
} without any operator
ev-optimizer-kernels = the optimizer launches { $kernels } kernels per step for about { $tensors } parameter tensors
ev-allocator-calls = per step, { $takes } calls take memory from the driver and { $returns } give it back
ev-recompute-without = without it the peak would be about { $bytes } ({ $low }–{ $high }) of { $capacity }, as planned from the measured step
ev-headroom-fits = { $used } of { $capacity } used: batch { $from } → { $to } fits (estimate { $bytes }, { $low }–{ $high })
ev-recompute-kernels = { $count ->
    [one] 1 kernel in the trace repeats
   *[other] { $count } kernels in the trace repeat
} forward work inside backward
ev-memory-used = { $share } of the GPU's memory is in use at the peak
ev-compilations = { $count ->
    [one] 1 compilation
   *[other] { $count } compilations
} inside the traced window
ev-collectives = { $count ->
    [one] 1 collective
   *[other] { $count } collectives
} per step, { $time } together
ev-collectives-hidden = other work hides { $share } of that time
ev-collective-bytes = they carry { $bytes } per step, as the trace records it
ev-comm-one-rank = one rank's trace cannot part transfer from waiting for others: the time is an upper limit
ev-micro-batches = { $count ->
    [one] 1 micro-batch
   *[other] { $count } micro-batches
} per step
ev-bubble-ideal = with { $stages } stages and { $micro } micro-batches, filling and draining alone take { $share } of a step
ev-sharding = { $gathers } all-gathers per step, { $again } of them again for backward, and { $scatters } reduce-scatters
ev-device-wait = for { $time } per step work was queued and the GPU did not start it: it waited for events of other streams, for other ranks, or for work that the trace does not show

## Remedies: the line

fix-data-in-process = Let worker processes load the data: num_workers 0 → { $workers }.
fix-data-workers = Raise num_workers from { $from } to { $to }.
fix-data-workers-unknown = Give the DataLoader more workers, or make each item cheaper.
fix-data-transfer-pageable = Pin the batches and copy them with non_blocking=True.
fix-data-transfer-unnamed = Copy from pinned memory with non_blocking=True: the trace does not say whether these copies do.
fix-data-transfer-pinned = Copy the next batch on a stream of its own while this one is computed.
fix-host-launch = Launch more at once: CUDA graphs with torch.compile(mode="reduce-overhead"), or a larger batch.
fix-host-launch-graphs = CUDA graphs are in use: bring into them what is still launched piece by piece, or use a larger batch.
fix-host-launch-hip = Launch more at once: HIP graphs with torch.compile(mode="reduce-overhead"), or a larger batch.
fix-host-launch-graphs-hip = HIP graphs are in use: bring into them what is still launched piece by piece, or use a larger batch.
fix-host-launch-batch = Launch more at once: a larger batch, or fewer and larger operators.
fix-host-sync = Read values back less often, or not at all.
fix-host-python = Move the Python work between launches out of the step, or onto the GPU.
fix-host-python-at = Look into { $function }: move its Python work out of the step, or onto the GPU.
fix-host-gc = Freeze what is alive (gc.freeze()), turn the collector off, and run it every thousand steps.
fix-host-optimizer = Use the fused optimizer: fused=True.
fix-host-optimizer-8bit = Use a fused optimizer if memory allows: the 8-bit one quantises every parameter in every step.
fix-memory-allocator = Take empty_cache() out of the step, and keep shapes stable.
fix-memory-allocator-grow = Keep shapes stable, or set expandable_segments:True, so that steps find their memory in the cache.
fix-memory-allocator-shapes = Keep shapes stable, so that steps find their memory in the cache.
fix-memory-recompute = Turn gradient checkpointing off: memory suffices.
fix-memory-recompute-full = Checkpoint fewer layers, if memory can be found elsewhere.
fix-memory-recompute-unknown = Turn gradient checkpointing off, if the peak without it fits.
fix-memory-headroom-planned = Raise the batch from { $from } to { $to }: it fits, with about { $bytes } at the peak.
fix-memory-headroom = Try a batch { $factor } times as large.
fix-compile-recompile = Keep the compiler out of the steps: dynamic=True, or a few fixed shapes.
fix-io-checkpoint = Save asynchronously, or less often.
fix-io-logging = Log less often, and buffer what is written.
fix-comm-exposed = Reduce gradients less often: accumulate over micro-batches.
fix-comm-overlap = Start these collectives earlier, or give the GPU other work meanwhile.
fix-comm-unbucketed = Put the { $count } reductions per step into buckets that overlap with backward.
fix-comm-accumulation = Reduce only in the last of the { $micro } micro-batches: no_sync() around the others.
fix-comm-sharding = Keep the parameters after forward (reshard_after_forward=False), or shard less.
fix-comm-sharding-less = Shard over fewer ranks, or prefetch earlier.
fix-comm-unsplit = Bring the other ranks' traces: only together they tell transfer from waiting.
fix-pipeline-bubble = Use { $micro } micro-batches per step.

## Remedies: further steps and traps

fix-data-ahead = If items are tokenised or decoded in the loader, do that once, ahead of training: then loading is only reading.
fix-data-main-guard = Workers are processes: guard the script with if __name__ == "__main__", and expect a copy of the dataset's Python objects in each.
fix-data-threads = Keep each worker single-threaded: torch.set_num_threads(1), TOKENIZERS_PARALLELISM=false.
fix-data-cores = Workers that compute need a core each; workers that wait for storage may far outnumber the cores.
fix-data-shards = More workers than a packed dataset has shards do nothing.
fix-transfer-stream = A copy overlaps only on another stream, or when the host runs ahead.
fix-transfer-smaller = Send smaller types: uint8 images and int32 tokens, converted on the GPU.
fix-transfer-trap = Pinning costs host time of its own; where the copies are hidden already, it brings nothing.
fix-launch-batch = A larger batch makes kernels longer at the same number of launches.
fix-launch-static = CUDA graphs need static shapes, and no value may be read back inside.
fix-launch-static-hip = HIP graphs need static shapes, and no value may be read back inside.
fix-launch-queue = torch_npu's task queue (TASK_QUEUE_ENABLE) launches from a second thread: make sure that it is not switched off.
fix-launch-accumulation = Gradient accumulation does not make kernels longer, and compiling without graphs may not help.
fix-launch-outside-graph = Accumulating gradients per parameter and the optimizer stay outside the graph: fused=True shortens the latter.
fix-sync-where = Look for .item(), .cpu(), .tolist(), print(tensor), tensors in an if, and a norm from clip_grad_norm_ that is read.
fix-sync-masks = nonzero() and boolean masks read a size back: torch.where stays on the GPU.
fix-sync-limit = A synchronisation costs only the head start it takes away; in a launch-bound step that is little.
fix-python-stacks = Record with with_stack=True: only stacks can name the function.
fix-python-move = Vectorise it, move it to loader workers, or do it every N steps.
fix-gc-freeze = gc.freeze() after set-up keeps long-lived objects out of every later collection.
fix-gc-trap = With the collector off, reference cycles pile up: watch host memory, and collect at the same step on all ranks.
fix-optimizer-foreach = foreach=True is the next best where fused is not supported.
fix-optimizer-trap = In a step that the GPU limits, a fused optimizer saves only what its own kernels save.
fix-allocator-shapes = Shapes that change make the caching allocator miss: pad or bucket lengths.
fix-allocator-trap = empty_cache() frees nothing that a tensor holds; it only makes the next step ask the driver again.
fix-recompute-selective = If memory lies between the two, checkpoint every second block, or only attention.
fix-recompute-rule = Checkpointing pays when activations take more than about 40 % of memory; keep 10–15 % free.
fix-headroom-rate = A larger batch changes the optimisation: adjust the learning rate, and compare at equal numbers of samples.
fix-headroom-knee = Beyond the knee, where kernels fill the GPU, more batch brings no more speed.
fix-recompile-logs = TORCH_LOGS=recompiles names the guard that failed.
fix-recompile-buckets = Bucket or pad lengths to a few shapes; each shape compiles once.
fix-recompile-warm-up = Compiling in the first steps is normal: record after the warm-up.
fix-checkpoint-async = torch.distributed.checkpoint.async_save copies to pinned memory and writes in the background.
fix-checkpoint-less = Weigh the interval against the work that a crash would lose.
fix-logging-buffer = Write from another thread, and flush at intervals.
fix-logging-values = Keep logged values on the GPU, and read them back together.
fix-comm-accumulate = Accumulation raises the effective batch; BatchNorm still sees one micro-batch at a time.
fix-comm-compress = bf16 gradients halve the bytes (bf16_compress_hook).
fix-comm-overlap-how = Launch them asynchronously (async_op=True) and wait only where the result is used; pipeline the next batch's exchange under this batch's compute.
fix-comm-ranks = Give all ranks' traces, to part transfer from waiting for a late rank.
fix-unbucketed-ddp = DistributedDataParallel buckets and overlaps by itself; a hand-written loop over parameters does neither.
fix-unbucketed-foreach = Where the loop must stay, flatten the gradients and reduce once.
fix-no-sync-memory = With FSDP, no_sync() keeps unsharded gradients: check the memory.
fix-sharding-memory = Parameters that are kept take their full size in memory from forward to backward.
fix-sharding-prefetch = Larger units mean fewer gathers; prefetching starts them earlier.
fix-sharding-stage = On one node with fast links (NVLink, XGMI), ZeRO-2 (whole parameters) is often faster than ZeRO-3.
fix-unsplit-all-ranks = Record all ranks over the same steps, put the traces into one directory, and give the directory.
fix-bubble-interleave = Interleaved schedules shrink the bubble, at the price of more transfers.
fix-bubble-balance = Uneven stages wait for the slowest; more micro-batches do not cure that.
fix-bubble-memory = GPipe holds the activations of all micro-batches; 1F1B of at most as many as there are stages.

## Ledger details

det-place = { $name }

## Figures of -v

stat-launches = { $launches } kernels per step; median kernel { $kernel }; a launch every { $between } (median, profiler included)
stat-occupancy = whole trace: { $span }, of that resident { $resident }, compute { $compute }, communication { $communication }, both at once { $overlap }
stat-latency = an idle stream starts a kernel { $latency } after its launch; queued kernels follow each other after { $gap } (medians)
stat-backlog = { $count } activities ({ $time }) were launched before the trace began; they belong to no step
stat-pageable-copies = { $count ->
    [one] 1 asynchronous copy from or to pageable memory
   *[other] { $count } asynchronous copies from or to pageable memory
}, which makes the call wait: { $time } on the GPU, the longest { $longest }
stat-sync-copies = { $count ->
    [one] 1 copy by a call that waits
   *[other] { $count } copies by calls that wait
}: { $time } on the GPU, the longest { $longest }
stat-sync-memsets = { $count ->
    [one] 1 memset by a call that waits
   *[other] { $count } memsets by calls that wait
}: { $time } on the GPU, the longest { $longest }
stat-blocking-calls = { $count ->
    [one] 1 call waits
   *[other] { $count } calls wait
} for a device, a stream or an event: { $time } on the host, the longest { $longest }; what of it costs anything, the ledger says
stat-long-gaps = { $count ->
    [one] 1 gap
   *[other] { $count } gaps
} of { $least } or more: { $time }, the longest { $longest }
stat-little-used = the GPU is busy for less than { $share } in { $count } of { $all } parts of { $length } each
stat-os-calls = in waits of { $waits } per step, the launching thread was in calls of the operating system for { $time }: { $calls }
stat-os-call = { $name } { $time }
stat-os-unnamed = a function without a name
stat-os-preempted = for { $time } per step of those waits the launching thread was off its core though in no such call: another ran there
stat-os-samples = { $count } samples of that thread in those waits: { $functions }
stat-os-function = { $name } { $share }

## Notes on the steps

note-step-no-start = Step { $step } was left out: its start on the GPU lies before the trace.
note-step-profiler-start = Step { $step } was left out: the profiler was just starting.
note-step-no-end = Step { $step } was left out: its end is missing from the trace.
note-backlog = { $count ->
    [one] 1 GPU activity was launched before the trace began and belongs to no step.
   *[other] { $count } GPU activities ({ $time }) were launched before the trace began and belong to no step.
}
note-outliers = { $count ->
    [one] 1 step stands out: number { $steps }, up to { $longest } against a median of { $median }.
   *[other] { $count } steps stand out: { $steps }, up to { $longest } against a median of { $median }.
}
note-outliers-periodic = Every { $period }th step stands out ({ $steps }): up to { $longest } against a median of { $median }.
note-no-critical-path = No critical path: the replay does not reproduce this trace well enough.
note-not-judged = { $count ->
    [one] Not judged on this device ({ $vendor }), since what it rests on is not known to hold there
   *[other] Not judged on this device ({ $vendor }), since what they rest on is not known to hold there
}: { $causes }.
note-graph-unrecorded = { $share } of the steps lies inside CUDA graphs of which the profiler recorded nothing; the ledger books it as waiting, although the GPU may have worked.
note-one-step = Only one whole step could be analysed: how much steps vary is not known.
note-unexplained = Nothing in the trace explains { $share } of the traced steps.
note-no-stacks = In { $share } of the step no operator was active: only a trace recorded with_stack=True can name the Python function.

## The GPU's own work

ev-kernels-time = { $count ->
    [one] this concerns 1 kernel per step, { $time }
   *[other] this concerns { $count } kernels per step, { $time } together
}
ev-shape = { $operator } on { $inputs }: { $time } per step
ev-frame = launched from { $frame }: { $time } per step
ev-rates = they reach { $achieved } TFLOP/s where { $possible } are possible
ev-tf32-alone = TF32 alone would save { $time } per step
ev-casts = { $count ->
    [one] 1 cast
   *[other] { $count } casts
} between types per step, { $time }
ev-casts-time = casts between types take { $time } per step
ev-grad-scaler = gradient scaling takes { $time } per step, which bf16 does not need
ev-scores = score matrices of { $queries } × { $keys } go through memory, { $bytes } each time
ev-bytes-moved = they move { $now } per step; fused, they would move { $after }
ev-layout-copies = { $caller } copies tensors into another layout { $count ->
    [one] once
   *[other] { $count } times
} per step, { $time }
ev-side = one side of the product is { $side }; the next one on the grid is { $padded }
ev-shapes-vary = steps work on { $fewest } to { $most } tokens or elements, in { $distinct } different shapes
ev-padded-share = padding every step to the longest would make { $share } of the work padding

fix-compute-precision = Run forward and loss under { $type } autocast.
fix-compute-precision-scaler = Drop the GradScaler: bf16 needs none.
fix-compute-attention = Replace the written-out attention by F.scaled_dot_product_attention.
fix-compute-elementwise = Fuse the small operations with torch.compile.
fix-compute-alignment = Pad the sizes of matmuls to multiples of 64.
fix-compute-alignment-side = Pad the side of { $side } to { $padded }.
fix-compute-padding = Put samples of similar length into a batch, or pack sequences.

fix-precision-tf32 = If fp32 must stay: TF32 keeps its range and rounds only what goes into matmuls.
fix-precision-loss = Compare the loss curves afterwards; autocast keeps sums, norms and softmax in fp32.
fix-precision-scaler = bf16 needs no GradScaler; fp16 does.
fix-attention-mask = is_causal=True stays on the fast path; a mask tensor may leave it.
fix-attention-module = In transformers: attn_implementation="sdpa" or "flash_attention_2".
fix-attention-trap = Heads wider than 256 and some masks fall back to a slow kernel: check the kernel's name afterwards.
fix-elementwise-warm-up = The first steps compile, for minutes at worst: leave them out when you measure.
fix-elementwise-breaks = Graph breaks cut fusion short: TORCH_LOGS=graph_breaks names them.
fix-elementwise-library = Without compiling: F.layer_norm, F.gelu and fused libraries instead of hand-written formulas.
fix-alignment-vocabulary = The entries that pad a vocabulary belong to no token: mask their logits, or leave them untrained.
fix-alignment-trap = Padding pays only where the matmul is slow for its size; a few odd sizes cost nothing.
fix-padding-pack = Several sequences packed into one row leave no padding; the attention mask must keep them apart.
fix-padding-shapes = A few bucket lengths also keep shapes stable for torch.compile and CUDA graphs.

fix-host-launch-prepares = Keep shapes from changing: { $operator } prepares on the host for each new one.
fix-launch-first-use = The first use of a kernel or shape is slow everywhere: record after the warm-up, and warm up every shape.
ev-operator-prepares = { $operator } works on the host for { $time } per traced step in long stretches before it launches anything
ev-read-back = { $count } tensors, { $bytes } in sum, are copied back to the host in each step: only saving reads back so much

doubt-lost-activities = { $share } of the kernels launched in these steps are missing from the trace.
doubt-early-activities = { $share } of the GPU activities start before their launch does: the clocks of host and GPU disagree.
doubt-lengthless = { $share } of the kernels have no length in the trace.
doubt-unexplained = Nothing in the trace explains { $share } of the step.
doubt-suspected-loader = The traced steps do not show the { $time } of waiting that the true step has on top: loader workers are suspected because their queues fill while the profiler starts, but evaluation, saving or longer batches outside this window would look the same.
note-other-runs = { $count ->
    [one] There is another run below this directory
   *[other] There are { $count } other runs below this directory
}: the newest was read, { $path }.
note-input-left-out = { $path } was left out: { $reason }
