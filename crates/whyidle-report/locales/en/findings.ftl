# The sentence, doubts, evidence, remedies and ledger details: the messages that
# crates/whyidle-diagnosis makes. The id there has '.' where the key here has '-'.

## The sentence

say-healthy = The GPU works { $working } of each { $step } step: nothing to speak of waits.
say-waits = Of each { $step } step, the GPU works { $working } and waits { $waiting } { $because }.
say-waits-somewhere = Of each { $step } step, the GPU works { $working }; it waits { $waiting } of the time, with no single cause that a change would cure.
say-inefficient = But it works more than it must: { $because }.
say-change = { $change } This should bring the step to about { $after } ({ $low }–{ $high }); then { $limit }.

## What the GPU waits for, or what is wrong with its work (inside "waits 131 ms …", "works more than it must: …")

because-data-in_process = for items that the training process prepares itself
because-data-workers = for data: the loader's workers cannot keep up
because-data-transfer = for copies from host memory
because-host-launch = for the next launch: kernels are shorter than the host needs to launch them
because-host-sync = because the host waits for values and then lags behind
because-host-python = for Python code between launches
because-host-gc = for Python's garbage collector
because-host-optimizer = for an optimizer that loops over parameters
because-memory-allocator = for memory that is taken from the driver and given back in every step
because-memory-recompute = activations are computed a second time although memory may suffice
because-memory-headroom = the batch is small and most of the memory is empty
because-compile-recompile = for the compiler, which runs inside the steps
because-io-checkpoint = while a checkpoint is saved
because-io-logging = while logs are written
because-comm-exposed = for gradient reductions that nothing hides
because-comm-unbucketed = for many small reductions that nothing hides
because-comm-accumulation = for reductions in every micro-batch
because-comm-sharding = for parameters that are gathered and scattered
because-comm-unsplit = in collectives or for other ranks
because-pipeline-bubble = for its neighbours in the pipeline
because-compute-precision = matrix products run in fp32, without tensor cores at full rate
because-compute-attention = attention is written out, with its full score matrix
because-compute-elementwise = many small memory-bound operations could be fused
because-compute-alignment = sizes of matrix products miss the tensor cores' grid
because-compute-padding = part of the work is padding
because-compute-bound = on nothing
because-unknown = for something

## What limits the step afterwards ("then …")

limit-data-in_process = data prepared in-process is the limit
limit-data-workers = the loader's workers are the limit
limit-data-transfer = copies from the host are the limit
limit-host-launch = launches on the host are the limit
limit-host-sync = synchronisation is the limit
limit-host-python = Python is the limit
limit-host-gc = the garbage collector is the limit
limit-host-optimizer = the optimizer's host work is the limit
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

doubt-near-threshold = all waits together are { $share } of the step, close to the { $threshold } that separates healthy from not
doubt-starved = loader queues fill while the profiler starts, so this window cannot show the long-run step; shares are of the traced step
doubt-traced = the unprofiled step is not known; shares are of the traced step, which the profiler lengthens
doubt-estimated = the unprofiled step is estimated from the trace; give it with --step-ms
doubt-replay = replay misses the traced step by { $error } (limit { $limit }), so nothing is predicted from it
doubt-no-replay = the trace allows no replay, so nothing is predicted
doubt-unrepresentative = the traced steps ({ $traced }) are shorter than the true step ({ $step }): part of what is waited for lies outside this window
doubt-one-rank = time in collectives is transfer or waiting for another rank; one rank's trace cannot tell which

## Evidence

ev-line = { $time } of each traced step ({ $share })
ev-place = { $name }: { $time } in { $count } gaps per traced step
ev-place-frame = { $frame }: { $time } in { $count } gaps per traced step
ev-place-both = { $name }, called from { $frame }: { $time } in { $count } gaps per traced step
ev-place-unnamed = no operator active: { $time } in { $count } gaps per traced step
ev-data-outside = { $time } per step of it lie outside the window: the true step is longer than what the trace shows
ev-copies = { $count } copies to the GPU per step, { $bytes }, { $time }; { $pageable } of them from pageable memory
ev-copy-rate = they run at { $rate } GB/s
ev-launches = { $launches } kernels per step; half of them last less than { $kernel }
ev-launch-pace = in the trace, a launch follows the one before after { $time } (median, profiler included)
ev-short-kernels = { $share } of the kernels are shorter than that distance
ev-sync = { $name } waits for the GPU { $count } times per step
ev-sync-at = { $name }, called from { $frame }, waits for the GPU { $count } times per step
ev-python-long = { $time } per traced step in { $count } long stretches without any operator
ev-optimizer-kernels = the optimizer launches { $kernels } kernels per step for about { $tensors } parameter tensors
ev-allocator-calls = per step, { $takes } calls take memory from the driver and { $returns } give it back
ev-recompute-kernels = { $count } kernels of a forward pass run again inside backward
ev-memory-used = at its peak, { $share } of the GPU's memory is in use
ev-compilations = { $count } compilations inside the traced window
ev-collectives = { $count } collectives per step, { $time } together
ev-collectives-hidden = other work hides { $share } of that time
ev-collective-bytes = { $bytes } per step, as recorded
ev-comm-one-rank = seen from one rank, this time is transfer and waiting for others together: an upper limit
ev-micro-batches = { $count } micro-batches per step
ev-bubble-ideal = with { $stages } stages and { $micro } micro-batches, filling and draining alone takes { $share } of a step
ev-sharding = per step { $gathers } gathers, { $again } of them a second time for backward, and { $scatters } scatters
ev-device-wait = { $time } per step in which work was queued and the GPU did not start it: events of other streams, other ranks, or work that the trace does not show

## Remedies: the line

fix-data-in-process = Give the DataLoader workers of its own: num_workers 0 → { $workers }.
fix-data-workers = Raise num_workers from { $from } to { $to }.
fix-data-workers-unknown = Give the DataLoader more workers, or make an item cheaper.
fix-data-transfer-pageable = Pin the batches and copy them with non_blocking=True.
fix-data-transfer-pinned = Copy the next batch on a stream of its own while this one computes.
fix-host-launch = Launch more at once: CUDA graphs through torch.compile(mode="reduce-overhead"), or a larger batch.
fix-host-launch-graphs = CUDA graphs are in use; bring what is still launched one by one into them, or use a larger batch.
fix-host-sync = Read values back less often, or not at all.
fix-host-python = Move the Python work between launches out of the step, or onto the GPU.
fix-host-python-at = Move { $function } out of the step, or onto the GPU.
fix-host-gc = Freeze the garbage collector and run it every thousand steps.
fix-host-optimizer = Use the fused optimizer: fused=True.
fix-host-optimizer-8bit = Check what the 8-bit optimizer saves: it quantises per parameter on the way.
fix-memory-allocator = Remove empty_cache() from the step, and keep shapes stable.
fix-memory-allocator-grow = Keep shapes stable, or use expandable_segments, so that memory is not taken anew in every step.
fix-memory-recompute = Turn gradient checkpointing off: memory suffices.
fix-memory-recompute-full = Checkpoint fewer layers if memory can be found elsewhere.
fix-memory-recompute-unknown = Turn gradient checkpointing off if the peak without it fits.
fix-memory-headroom = Try a batch { $factor } times as large.
fix-compile-recompile = Keep the compiler out of the steps: dynamic=True, or a few fixed shapes.
fix-io-checkpoint = Save asynchronously, or less often.
fix-io-logging = Log less often, and buffer what is written.
fix-comm-exposed = Reduce gradients less often: accumulate over micro-batches.
fix-comm-unbucketed = Put the { $count } reductions per step into buckets that overlap with backward.
fix-comm-accumulation = Reduce only in the last of the { $micro } micro-batches: no_sync().
fix-comm-sharding = Keep parameters after forward (reshard_after_forward=False), or shard less.
fix-comm-sharding-less = Shard over fewer ranks, or prefetch earlier.
fix-comm-unsplit = Bring the other ranks' traces: only together do they tell transfer from waiting.
fix-pipeline-bubble = Use more micro-batches: { $micro }.

## Remedies: further steps and traps

fix-data-ahead = If items are tokenised or decoded in the loader, do it once, ahead of training: then loading is reading.
fix-data-main-guard = Workers are processes: guard the script with if __name__ == "__main__", and expect a copy of the dataset's Python objects in each.
fix-data-threads = Keep each worker single-threaded: torch.set_num_threads(1), TOKENIZERS_PARALLELISM=false.
fix-data-cores = Workers that compute share the cores; workers that wait for storage can be many more than there are cores.
fix-data-shards = More workers than a packed dataset has shards do nothing.
fix-transfer-stream = A copy overlaps only on another stream, or when the host runs ahead.
fix-transfer-smaller = Send smaller types: uint8 images and int32 tokens, converted on the GPU.
fix-transfer-trap = Pinning costs host time of its own; where copies are hidden already it brings nothing.
fix-launch-batch = A larger batch makes kernels longer at the same number of launches.
fix-launch-static = CUDA graphs need static shapes and no reads of values inside.
fix-launch-accumulation = Gradient accumulation does not make kernels longer; compiling without graphs may not help.
fix-launch-outside-graph = Gradient accumulation per parameter and the optimizer run outside a graph: fused=True shortens the latter.
fix-sync-where = Look for .item(), .cpu(), .tolist(), print(tensor), tensors in an if, and clip_grad_norm_ results that are read.
fix-sync-masks = nonzero() and boolean masks read a size back: torch.where keeps it on the GPU.
fix-sync-limit = A synchronisation costs only the run-ahead it takes away; in a launch-bound step that is little.
fix-python-stacks = Record with with_stack=True: only stacks name the function.
fix-python-move = Vectorise it, move it to loader workers, or do it every N steps.
fix-gc-freeze = gc.freeze() after set-up keeps long-lived objects out of every later collection.
fix-gc-trap = With the collector off, reference cycles grow: watch host memory, and run it at the same step on all ranks.
fix-optimizer-foreach = foreach=True is the next best where fused is not supported.
fix-optimizer-trap = On a step that the GPU limits, a fused optimizer saves only its own kernels' time.
fix-allocator-shapes = Shapes that change make the caching allocator miss: pad or bucket lengths.
fix-allocator-trap = empty_cache() frees nothing that tensors hold; it only makes the next step ask the driver again.
fix-recompute-selective = Checkpoint every second block, or only attention, if memory is between the two.
fix-recompute-rule = Checkpointing pays when activations take more than about 40 % of memory; keep 10–15 % free.
fix-headroom-rate = A larger batch changes the optimisation: adjust the learning rate and compare at equal samples.
fix-headroom-knee = Beyond the knee, where kernels fill the GPU, more batch brings no more speed.
fix-recompile-logs = TORCH_LOGS=recompiles names the guard that failed.
fix-recompile-buckets = Bucket or pad lengths to a few shapes; each shape compiles once.
fix-recompile-warm-up = Compilation in the first steps is normal: record after the warm-up.
fix-checkpoint-async = torch.distributed.checkpoint.async_save copies to pinned memory and writes in the background.
fix-checkpoint-less = Weigh the interval against the work that a failure loses.
fix-logging-buffer = Write from another thread, and flush at intervals.
fix-logging-values = Keep logged values on the GPU and read them together.
fix-comm-accumulate = Accumulation changes the effective batch; with BatchNorm its statistics stay per micro-batch.
fix-comm-compress = bf16 gradients halve the bytes (bf16_compress_hook).
fix-comm-ranks = Give all ranks' traces to split transfer from waiting for a late rank.
fix-unbucketed-ddp = DistributedDataParallel buckets and overlaps by itself; a hand-written loop over parameters does neither.
fix-unbucketed-foreach = Where the loop must stay, flatten the gradients and reduce once.
fix-no-sync-memory = With FSDP, no_sync() keeps unsharded gradients: check memory.
fix-sharding-memory = Keeping parameters costs their full size in memory between forward and backward.
fix-sharding-prefetch = Larger units mean fewer gathers; prefetching starts them earlier.
fix-sharding-stage = On one node with NVLink, ZeRO-2 (parameters whole) is often faster than ZeRO-3.
fix-unsplit-all-ranks = Record every rank at the same steps, put the traces into one directory, and give the directory.
fix-bubble-interleave = Interleaved schedules shrink the bubble at the price of more transfers.
fix-bubble-balance = Uneven stages wait for the longest; more micro-batches do not cure that.
fix-bubble-memory = GPipe holds activations of all micro-batches; 1F1B only of as many as there are stages.

## Ledger details

det-place = { $name }

## Figures of -v

stat-launches = { $launches } kernels launched per step; median kernel { $kernel }; a launch every { $between } (median, profiler included)
stat-occupancy = whole trace: span { $span }, resident { $resident }, compute { $compute }, communication { $communication }, both at once { $overlap }
stat-latency = an idle stream starts a kernel { $latency } after its launch; queued kernels follow each other after { $gap } (medians)
stat-backlog = { $count } activities ({ $time }) were launched before the trace began; they belong to no step

## Notes on the steps

note-step-no-start = Step { $step } was left out: its start on the GPU lies before the trace.
note-step-profiler-start = Step { $step } was left out: the profiler was just starting.
note-step-no-end = Step { $step } was left out: its end is missing from the trace.
note-backlog = { $count ->
    [one] 1 GPU activity was launched before the trace began and belongs to no step.
   *[other] { $count } GPU activities ({ $time }) were launched before the trace began and belong to no step.
}
note-one-step = Only one whole step could be analysed: its spread is unknown.
note-unexplained = { $share } of the traced steps is explained by nothing in the trace.
note-no-stacks = In { $share } of the step no operator was active: only a trace with_stack=True can name the Python function.
