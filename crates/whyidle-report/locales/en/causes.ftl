# The pages of `whyidle explain CAUSE`. Per cause: -name (in tables and as "next limit"),
# -title, -what, -seen, -remedy, -traps. In -remedy and -traps each line is an item.

## The GPU waits for data

cause-data-in_process-name = data prepared in-process
cause-data-in_process-title = The GPU waits for samples that the training process prepares itself
cause-data-in_process-what = With `num_workers=0` the DataLoader reads, decodes, tokenises and collates in the training process. Meanwhile no kernel is launched, and the GPU waits for all of it that queued work does not cover.
cause-data-in_process-seen = The launching thread is inside `_SingleProcessDataLoaderIter` while the GPU is idle. Whatever runs in there, tensor operations included, belongs to the loader and not to the model. Where the trace has Python stacks, the function is named: a tokenizer, a decoder, a `__getitem__`.
cause-data-in_process-remedy =
    Set `num_workers`: begin with 4 and double it while the step gets shorter. `persistent_workers=True` keeps the workers from epoch to epoch.
    Tokenise, decode or resize once, ahead of training, if the result is the same in every epoch.
    If the work must stay in the process, prepare the next batch after launching this step and before reading its loss.
cause-data-in_process-traps =
    A dataset that opens files, database connections or a CUDA context in its constructor breaks in workers: open them on first use inside the worker.
    On Windows and macOS workers are spawned: the script needs `if __name__ == "__main__":`, and every worker imports it again.
    A large Python list of samples is copied page by page into every worker as reference counts change. Keep samples in one array, or memory-map them.

cause-data-workers-name = loader workers
cause-data-workers-title = The GPU waits for DataLoader workers
cause-data-workers-what = Workers prepare batches in other processes but deliver fewer than the GPU could use. The training process sits in the loader's `next`, launches nothing, and the GPU runs dry.
cause-data-workers-seen = The launching thread is inside `_MultiProcessingDataLoaderIter` while the GPU is idle. A short trace can flatter: the loader's queue fills while the profiler starts, so only some steps show the wait. Give the true step time with `--step-ms`; steps in the trace that are shorter than it reveal a drained queue.
cause-data-workers-remedy =
    Raise `num_workers`. The loader delivers workers ÷ (time per batch); the wait is gone once that exceeds what the GPU takes.
    Make a batch cheaper: tokenise ahead of training, decode to the size that is used, drop needless copies.
    One thread per worker, so that workers do not fight over cores: `torch.set_num_threads(1)`, `cv2.setNumThreads(0)`.
    `prefetch_factor` and `persistent_workers=True` smooth uneven batches and the start of an epoch. They do not raise the rate.
cause-data-workers-traps =
    The number of cores limits workers that compute, not workers that sleep on reads: those pay off far beyond it. A loader that only waits for storage was fastest at eight times the core count.
    `num_workers` counts per rank. 32 workers on each of 8 ranks are 256 processes; on 32 cores that ran at half the speed of 4 per rank.
    When each worker runs one thread per core, more workers and more cores change nothing; one thread each does.
    A packed dataset (WebDataset) is divided by shard: more workers than shards do nothing, or slow it down.
    A worker takes whole batches: with 6 batches in an epoch at most 6 workers have work.
    If the workers are mostly idle and the loader is still late, the pin-memory thread or the main process is the limit, and more workers are the wrong remedy.

cause-data-storage-name = storage
cause-data-storage-title = The GPU waits for reads
cause-data-storage-what = The loader waits for a disk or a network file system: a cold page cache, many small files, random access.
cause-data-storage-seen = Not from a trace alone: it shows that the loader is late, which `whyidle trace` reports as `data.workers` or `data.in_process`, and not what the loader waits for. That takes samples of the running program: worker processes in state D, I/O wait, bytes read per step.
cause-data-storage-remedy =
    Pack small files into large ones and read them in order: tar shards, Parquet, one memory-mapped array.
    Copy the data to a local disk. If it fits into memory, read it once so that it stays in the page cache.
    Over a network, let more workers read at once: they sleep, so they may outnumber the cores.
cause-data-storage-traps =
    A local NVMe disk is rarely the limit. Packing brought 0.92–1.03 × there; on a mounted bucket 2.0 × with 4 workers, 1.2 × with 8, nothing with 16.
    The first epoch is cold, the later ones are warm. Say which one was measured.
    Every rank must read its own part. Eight ranks that each read everything read it eight times.

cause-data-transfer-name = host-to-device copies
cause-data-transfer-title = The GPU waits for copies from host memory
cause-data-transfer-what = A copy from pageable memory goes through a staging buffer, holds up the launching thread for its whole length, and does not overlap with kernels.
cause-data-transfer-seen = `Memcpy HtoD (Pageable -> Device)` with no kernel beside it, and the launching thread blocked in `.to()` or `copy_`.
cause-data-transfer-remedy =
    `pin_memory=True` in the DataLoader together with `.to(device, non_blocking=True)`.
    Send the small type and convert on the GPU: `uint8` images, `int32` tokens.
    Copy the next batch on a stream of its own while this one is computed.
cause-data-transfer-traps =
    Pinning is work, too, done by a single thread. If it cannot keep up, the wait only moves from the copy to the loader: 61 ms became 57 ms in one measured case, although the copies vanished.
    `non_blocking=True` gains nothing as long as the source is pageable.
    Do not overwrite a pinned buffer before its copy has ended.
    Where copies are hidden already, pinning changes nothing, and it can be slower: pinned memory is costly to allocate and cannot be swapped.

## The GPU waits for the host

cause-host-launch-name = kernel launches
cause-host-launch-title = The GPU waits for the next kernel launch
cause-host-launch-what = The kernels are shorter than the time the host needs to launch the next one. The GPU finishes each and waits: launch-bound. Small batches, many small operations and eager mode lead there.
cause-host-launch-seen = Gaps that end with a late launch while an operator is being dispatched: no synchronisation, no loader, no allocation. Thousands of launches per step, many kernels of a few µs.
cause-host-launch-remedy =
    A larger batch: the number of launches stays, each brings more work.
    CUDA graphs, which launch everything at once: `torch.compile(model, mode="reduce-overhead")` or `torch.cuda.make_graphed_callables`.
    Fewer launches: `torch.compile`, fused layers, `fused=True` in the optimizer.
cause-host-launch-traps =
    The profiler doubles the host's work and leaves the kernels as they are: a trace shows launch gaps where there are none. A model whose GPU works 97 % of the time looked 53 % busy in its trace. Judge by the step time without the profiler.
    CUDA graphs need static shapes. With changing padding every shape is captured anew: 9 shapes made one program slower (22 → 25 s), fixed padding made it 1.5 × faster.
    `torch.compile` without graphs may not help: 39.7 → 41.2 ms for a launch-bound model measured here.
    Gradient accumulation does not make kernels longer.
    `CUDA_DEVICE_MAX_CONNECTIONS=1` helps some launch-bound programs and costs others their overlap.

cause-host-sync-name = synchronisation points
cause-host-sync-title = The GPU waits for a host that waited for it
cause-host-sync-what = The host asks for a value that the GPU still computes: `.item()`, `.cpu()`, `.tolist()`, `print(tensor)`, `if tensor:`, `nonzero`, a boolean mask as index. While it waits it launches nothing; afterwards the queue is empty, and the GPU waits in turn.
cause-host-sync-seen = `aten::_local_scalar_dense`, `aten::is_nonzero`, `aten::nonzero`, `cudaStreamSynchronize`, `cudaDeviceSynchronize` or a device-to-host copy into pageable memory inside a step. Charged is only the head start that the host lost, never the length of the call.
cause-host-sync-remedy =
    Read values every 50 or 100 steps. In between, keep sums on the GPU: `total += loss.detach()`.
    `torch.where` or `masked_fill` instead of a boolean mask as index.
    Copy into pinned memory with `non_blocking=True` and read it one step later.
    `torch.cuda.set_sync_debug_mode("warn")` names every place that synchronises.
cause-host-sync-traps =
    When the GPU is the limit, a synchronisation costs nothing: 34.0 ms with `.item()` in every step, 34.2 ms without.
    In a launch-bound step it costs little, because the host has no head start to lose. One case promised 85 % and brought 4 %.
    Moving `.item()` to another line moves the wait with it.
    `torch.cuda.memory_allocated()` does not synchronise.
    `GradScaler` reads a flag from the GPU in every step unless the optimizer is fused. bf16 does not need it.

cause-host-python-name = Python between launches
cause-host-python-title = The GPU waits for Python
cause-host-python-what = The launching thread runs Python between operators: metrics, hooks, list handling, augmentation, plotting.
cause-host-python-seen = Gaps in which the launching thread runs, but no operator, launch or synchronisation is active. Only stacks can name the function: record with `with_stack=True`, or take samples from outside.
cause-host-python-remedy =
    Move it out of the loop, or do it every N steps.
    Replace a loop over items by one tensor operation.
    Do it on the GPU, or in a loader worker.
cause-host-python-traps =
    A debugger or a coverage tool slows every line: 187 ms instead of 6 ms for one optimizer step.
    In compiled programs guards and wrappers run between the graphs; they look like Python and are not yours.
    A pause right after a blocking copy can be the release of the previous host batch: then pinned memory is the remedy.

cause-host-gc-name = garbage collection
cause-host-gc-title = The GPU waits for Python's garbage collector
cause-host-gc-what = The cyclic collector stops the launching thread and visits every object that is alive. In a training program that takes a tenth of a second up to more than a second.
cause-host-gc-seen = `gc.collect` frames (`<built-in function collect>`) or `Python GC` events while the GPU is idle. In a trace without them a collection counts as Python between launches (`host.python`); long gaps at regular intervals then point to it.
cause-host-gc-remedy =
    Remove `gc.collect()` from the loop.
    `gc.freeze()` after the set-up: what is alive then is never visited again.
    `gc.disable()`, and `gc.collect()` every few hundred steps, on all ranks at the same step.
cause-host-gc-traps =
    One rank that collects holds up all others. Collecting everywhere at the same step pays once.
    With the collector off, reference cycles keep what they hold, tensors included. Watch the memory, also that of the loader workers: one project ran out of it.

cause-host-contention-name = busy cores
cause-host-contention-title = The GPU waits for a launching thread that waits for a core
cause-host-contention-what = The launching thread is ready, but all cores are taken: by loader workers and their threads, by other ranks, by other programs.
cause-host-contention-seen = Not from a trace: there the launching thread merely looks slow (`host.launch`, `host.python`). It takes samples of the running program: involuntary context switches, load above the number of cores, CPU time of the main thread below wall time although it waits for nothing.
cause-host-contention-remedy =
    Keep threads × workers × ranks within the cores: `OMP_NUM_THREADS`, `torch.set_num_threads(1)` in workers, fewer workers.
    Bind each rank to cores near its GPU with `numactl` or `taskset`.
cause-host-contention-traps =
    In a container the quota counts. `os.cpu_count()` reports the machine.
    More threads than cores are not always the limit: 12 workers with 16 threads each ran as fast as with one.

cause-host-optimizer-name = the optimizer's loop
cause-host-optimizer-title = The GPU waits for an optimizer that loops over parameters
cause-host-optimizer-what = The optimizer updates one parameter tensor after the other, with several small kernels for each: thousands of launches per step for little work.
cause-host-optimizer-seen = Many short kernels per parameter tensor inside `Optimizer.step`, with the GPU idle between them.
cause-host-optimizer-remedy =
    `fused=True`, for example `torch.optim.AdamW(params, fused=True)`: a few kernels for all parameters.
    `foreach=True` where there is no fused version. It is the default on CUDA unless it was turned off.
cause-host-optimizer-traps =
    `foreach` needs temporary memory, for Adam about as much as the parameters take.
    `fused` was no faster, or slower, in some reports. Measure it.
    A faster optimizer helps only as far as it is not hidden: 22 → 8 ms there gave 3 % of the step.
    8-bit optimizers add kernels that quantise and dequantise. They save memory, not time.

cause-host-gil-name = the GIL
cause-host-gil-title = The GPU waits for a thread that waits for the GIL
cause-host-gil-what = The launching thread could go on, but another Python thread of the same process holds the interpreter lock: a logger, a metrics thread, a prefetcher.
cause-host-gil-seen = Not from a trace: there the launching thread merely looks slow between operators (`host.python`). It takes stack samples of the running program that record who holds the lock, such as those of `py-spy record --gil`.
cause-host-gil-remedy =
    Move the work of that thread into a process of its own.
    Use libraries that release the lock while they compute.
cause-host-gil-traps =
    Backward mostly runs in C++ threads that do not need the lock; hooks written in Python do.
    A thread that prefetches data in Python competes with the launches. DataLoader workers do not.

## Memory

cause-memory-allocator-name = GPU memory allocation
cause-memory-allocator-title = The GPU waits for its memory to be allocated
cause-memory-allocator-what = `cudaMalloc` and `cudaFree` inside steps: the caching allocator was emptied, or finds no block that fits. `cudaFree` also waits until the GPU has finished.
cause-memory-allocator-seen = Calls of the CUDA runtime that take or give back memory inside steps, and `torch.cuda.empty_cache()` frames.
cause-memory-allocator-remedy =
    Remove `torch.cuda.empty_cache()` from the loop.
    `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` where shapes vary.
    Keep to a few shapes: length buckets, a dropped last batch.
cause-memory-allocator-traps =
    `empty_cache()` gives this program no more memory: the allocator frees unused blocks by itself before it gives up.
    The first steps always allocate. That is warm-up.

cause-memory-recompute-name = recomputation
cause-memory-recompute-title = The GPU repeats a forward pass that memory does not require
cause-memory-recompute-what = Gradient checkpointing discards activations and computes them again in backward, about a third more work. Here they would fit.
cause-memory-recompute-seen = Forward operators (`linear`, `layer_norm`, attention) on the autograd thread during backward. Whether memory would do without needs a figure for the peak.
cause-memory-recompute-remedy =
    Turn checkpointing off, or checkpoint only every second or third block.
    Recompute selectively: what is cheap to compute and large to keep.
cause-memory-recompute-traps =
    Compare the peak without it to the card first, and keep 10–15 % free.
    It pays when activations take more than about 40 % of the memory. Below that it mostly costs time.
    Fused attention already saves the largest tensors.

cause-memory-headroom-name = a small batch
cause-memory-headroom-title = The batch could be larger
cause-memory-headroom-what = Not a wait in itself: the card has memory to spare and the batch is so small that kernels are short. A larger one gives every launch more work.
cause-memory-headroom-seen = Peak memory far below the card's, in a launch-bound step.
cause-memory-headroom-remedy =
    Double the batch while samples per second grow, and stop at the knee.
    Adapt the learning rate and its schedule; compare the loss by samples, not by steps.
cause-memory-headroom-traps =
    Full memory is no goal. In one report a batch of 256 gave 7000 samples/s, and 384, filling the memory, 4000.
    A larger batch can push a kernel off its fast path.
    Keep 10–15 % of the memory free: sequence lengths vary, and so does the peak.

cause-memory-offload-name = offloaded state
cause-memory-offload-title = The GPU waits for state that lives in host memory
cause-memory-offload-what = Optimizer states, parameters or activations are kept in host memory and cross the bus in every step.
cause-memory-offload-seen = Not from a trace alone: it shows copies and not what they carry. `whyidle trace` reports those that nothing hides as `data.transfer`. Their size tells, if it is that of the parameters or the optimizer states, in both directions and in every step; so do an optimizer that runs on the CPU and the program's own settings.
cause-memory-offload-remedy =
    Keep the state on the GPU if it fits. Sharding (ZeRO-1/2) or 8-bit optimizer states often make it fit.
    If not, use pinned memory and prefetch on a stream of its own.
cause-memory-offload-traps =
    Offloading frees memory and makes nothing faster; a larger batch rarely makes up for it.

## The compiler, files

cause-compile-recompile-name = compilation
cause-compile-recompile-title = The GPU waits for the compiler
cause-compile-recompile-what = `torch.compile` specialises on what it sees. A new shape or a changed flag compiles again, for seconds or minutes, and the GPU waits.
cause-compile-recompile-seen = Dynamo, AOT or Inductor events inside the traced steps. Whether that is warm-up depends on which steps were recorded.
cause-compile-recompile-remedy =
    `TORCH_LOGS=recompiles` names what changed.
    Pad lengths to a few rungs, such as 512, 1024, 2048.
    `dynamic=True`, or `torch._dynamo.mark_dynamic(x, 1)` for the dimension that varies.
cause-compile-recompile-traps =
    After a number of recompilations (8 by default) Dynamo gives up and runs that function uncompiled.
    `mode="reduce-overhead"` also captures a CUDA graph per shape. With 8 shapes the warm-up went from 30 minutes to hours.
    The first compilation is warm-up. A cache on disk spares it in the next run.

cause-io-checkpoint-name = checkpoint saves
cause-io-checkpoint-title = The GPU waits for a checkpoint
cause-io-checkpoint-what = A save stops the loop: the state is copied to the host, serialised and written.
cause-io-checkpoint-seen = Frames of `torch.save`, `torch.distributed.checkpoint` or safetensors on the launching thread while the GPU is idle. That takes a trace recorded `with_stack=True`; without stacks a save looks like Python and synchronisation.
cause-io-checkpoint-remedy =
    Save asynchronously: `torch.distributed.checkpoint.async_save` stops the loop only for the copy. In one project that took 0.54 s instead of 27 s.
    Save less often, and write to a local disk first.
cause-io-checkpoint-traps =
    An asynchronous save needs host memory for a second copy of the state.
    The disk is not always the limit: one 8B model took 394 s on a disk that writes 2.2 GB/s.
    A short trace rarely holds a save. What it costs per step depends on how often you save.

cause-io-logging-name = logging
cause-io-logging-title = The GPU waits for a log
cause-io-logging-what = Metrics, images or progress are written on the launching thread.
cause-io-logging-seen = Frames of `logging`, TensorBoard, wandb or mlflow, `print`, write, flush or fsync while the GPU is idle. That takes a trace recorded `with_stack=True`; without stacks logging looks like Python between launches.
cause-io-logging-remedy =
    Collect, and write every N steps.
    Let a thread or the tracker's own background process write.
cause-io-logging-traps =
    Usually the `.item()` behind the log line costs more than the line: see `host.sync`.
    Trackers can stall now and then; one halved the rate from 40 to 20 steps/s.

## The GPU works, but not well

cause-compute-precision-name = fp32 matmuls
cause-compute-precision-title = Matmuls run in full fp32
cause-compute-precision-what = Matmuls in fp32 without TF32 do not use the tensor cores' fast formats. On an H200 that is about 50 TFLOP/s where bf16 reaches 770.
cause-compute-precision-seen = Matmuls whose operands are fp32; casts between types; gradient scaling although the type is bf16. It takes a trace recorded with `record_shapes=True`.
cause-compute-precision-remedy =
    `with torch.autocast("cuda", dtype=torch.bfloat16):` around forward and loss.
    Or TF32 alone: `torch.set_float32_matmul_precision("high")`.
cause-compute-precision-traps =
    Matmuls are not the whole step, and autocast adds casts: the gain is less than the ratio of the rates.
    A launch-bound or starved step gains nothing.
    fp16 needs a `GradScaler`, bf16 does not.
    Check the loss over a few hundred steps afterwards.

cause-compute-attention-name = written-out attention
cause-compute-attention-title = Attention is written out
cause-compute-attention-what = The scores, sequence × sequence for every head, are written to memory, masked, put through softmax and read again. Traffic and memory grow with the square of the sequence.
cause-compute-attention-seen = A softmax together with a batched matmul over the same sequence × sequence tensor. It takes a trace recorded with `record_shapes=True`.
cause-compute-attention-remedy =
    `F.scaled_dot_product_attention(q, k, v, is_causal=True)`.
    In transformers: `attn_implementation="sdpa"` or `"flash_attention_2"`.
    `flex_attention` for masks of your own.
cause-compute-attention-traps =
    A mask tensor can keep SDPA from its flash kernels, and fp32 always does. `is_causal=True` needs no mask.
    `output_attentions=True` forces the written-out form.
    Short sequences gain little.

cause-compute-elementwise-name = element-wise operations
cause-compute-elementwise-title = Element-wise operations take too much of the step
cause-compute-elementwise-what = Each of them reads and writes whole tensors. Memory bandwidth is the limit; the arithmetic is nothing.
cause-compute-elementwise-seen = The bytes that element-wise operations, norms, casts and layout copies (`.contiguous()`) between matmuls move now, against those that fused kernels would move. It takes a trace recorded with `record_shapes=True`.
cause-compute-elementwise-remedy =
    `torch.compile` fuses chains of them into one kernel.
    The library's layers instead of hand-written ones: `F.layer_norm`, `F.gelu`, `F.rms_norm`.
    Avoid layout copies: one memory format throughout.
cause-compute-elementwise-traps =
    Compiled fusions reach about 60 % of what counting bytes promises.
    While the GPU waits for something else, fusing brings nothing.
    Compiling takes minutes once, and again for new shapes.

cause-compute-alignment-name = sizes off the tensor-core grid
cause-compute-alignment-title = Matmul sizes do not fit the tensor cores
cause-compute-alignment-what = When a dimension is no multiple of 8 (better 64 or 128), the library falls back to slower kernels. A vocabulary of 50 257 ran at 95–149 TFLOP/s on an H200, where 50 304 reaches several times that.
cause-compute-alignment-seen = Matmul sizes that are no such multiples, with kernels that are slow for their FLOPs. It takes a trace recorded with `record_shapes=True`.
cause-compute-alignment-remedy =
    Pad the vocabulary to a multiple of 64 or 128: 50 257 → 50 304 turned a step of 57.5 ms into 22.8 ms.
    Choose hidden sizes the same way.
cause-compute-alignment-traps =
    Existing checkpoints need their embedding and head padded, too.
    The padded classes are never targets, but they are in the softmax: initialise them low, or mask them.
    batch × sequence is a dimension of these matmuls as well.

cause-compute-padding-name = work on padding
cause-compute-padding-title = The GPU computes on padding
cause-compute-padding-what = Every batch is padded to its longest sample, and the padding is computed like the rest.
cause-compute-padding-seen = Shapes that vary from step to step. How much of a batch is padding cannot be seen from shapes, so no gain is promised. It takes a trace recorded with `record_shapes=True`.
cause-compute-padding-remedy =
    Batch samples of similar length: a bucket sampler, or `group_by_length=True` in transformers.
    Pack several samples into one sequence, with attention for variable lengths.
    A few rungs of length (512, 1024, 2048) keep both padding and the number of shapes low.
cause-compute-padding-traps =
    Packed samples must not attend to each other: use variable-length attention or a block mask, and restart the positions.
    Buckets change the order of the samples: shuffle within and between them.

cause-compute-bound-name = the GPU itself
cause-compute-bound-title = The GPU is the limit
cause-compute-bound-what = Nothing holds the GPU up: it works at least 90 % of the step. The step gets shorter only with less or more efficient work.
cause-compute-bound-seen = The working share of the step without the profiler, collectives excluded.
cause-compute-bound-remedy =
    None is needed.
    If you want more: precision, attention, fusion, sizes (the `compute.*` pages), or another GPU.
cause-compute-bound-traps =
    "GPU-Util 100 %" does not show this: one kernel on one of 132 SMs reads 100 %, and so does a rank that waits inside NCCL.
    Pauses of 1–2 µs between queued kernels, 2–3 % of a step, are normal.
    A busy H200 runs at its power limit, below its top clock. That is no fault.

## Several GPUs

cause-comm-exposed-name = exposed communication
cause-comm-exposed-title = The GPU waits for collectives that nothing hides
cause-comm-exposed-what = Transfers take longer than the computation beside them. What sticks out lengthens the step.
cause-comm-exposed-seen = Time in collectives other than gathers and scatters of shards, with no other kernel beside them. One rank's trace gives an upper limit, because waiting for other ranks is part of it.
cause-comm-exposed-remedy =
    Reduce less often: gradient accumulation with `no_sync()`.
    More work per transfer: a larger batch per GPU.
    Fewer bytes: `ddp_model.register_comm_hook(None, bf16_compress_hook)`.
    Better overlap: `static_graph=True`, `gradient_as_bucket_view=True`, bucket sizes.
cause-comm-exposed-traps =
    The length of a collective is not its transfer: on a rank that comes early, most of it is waiting for the others.
    In a launch-bound step the exposed share is an upper bound; the host sets the pace.
    A kernel beside a waiting collective can take 1.3 × as long.

cause-comm-unbucketed-name = many small collectives
cause-comm-unbucketed-title = Many small collectives, none of them hidden
cause-comm-unbucketed-what = Gradients are reduced one by one, or on the compute stream. Every call pays its latency, and none overlaps with backward.
cause-comm-unbucketed-seen = The number of collectives per step, their sizes, and an overlap of about zero.
cause-comm-unbucketed-remedy =
    `DistributedDataParallel` instead of a loop of your own: it reduces in buckets during backward.
    In DDP: `bucket_cap_mb`, `static_graph=True`, `gradient_as_bucket_view=True`.
    In your own code: flatten before reducing, `async_op=True`, wait at the end.
cause-comm-unbucketed-traps =
    Larger is not always better: a bucket starts when its last gradient is there.
    The last bucket, with the embedding, overlaps with almost nothing.
    `find_unused_parameters=True` costs time in every step (26 % in one report).

cause-comm-accumulation-name = reductions in every micro-batch
cause-comm-accumulation-title = Gradients are reduced in every micro-batch
cause-comm-accumulation-what = With gradient accumulation only the last micro-batch of an update needs the reduction. Here every one does it.
cause-comm-accumulation-seen = Several forward passes through DistributedDataParallel per optimizer update, with the same reductions in every backward.
cause-comm-accumulation-remedy =
    `with model.no_sync():` around all micro-batches but the last; with FSDP2 `model.set_requires_gradient_sync(False)`.
    In Accelerate: `with accelerator.accumulate(model):`.
cause-comm-accumulation-traps =
    `no_sync()` must enclose the forward pass as well as backward.
    With FSDP the unsharded gradients then stay in memory.
    ZeRO-2 and ZeRO-3 reduce in every micro-batch by design.

cause-comm-sharding-name = gathering shards
cause-comm-sharding-title = The GPU waits for sharded parameters
cause-comm-sharding-what = FSDP and ZeRO-3 gather every layer's parameters before forward and again before backward. What computation does not hide is waited for.
cause-comm-sharding-seen = All-gathers in forward and in backward, and how much of them is exposed.
cause-comm-sharding-remedy =
    Keep the parameters after forward: `reshard_after_forward=False` (2 more bytes per parameter in bf16).
    Shard less: ZeRO-2 on one node with NVLink, ZeRO-1 over PCIe; shard within a node and replicate across nodes (HSDP).
    Prefetch the next layer; a larger batch per GPU hides more.
cause-comm-sharding-traps =
    ZeRO-3 moves 1.5 × the bytes of DDP, and with accumulation that again for every micro-batch.
    If the model fits unsharded, sharding buys memory with time.

cause-comm-link-name = a slow link
cause-comm-link-title = Collectives take a slow path
cause-comm-link-what = Data goes through host memory or TCP instead of NVLink, peer-to-peer or the fast network.
cause-comm-link-seen = From the traces of all ranks over the same steps: collectives of 16 MiB and more stay below half of the bus bandwidth that their GPU's links usually give, or take 1.5 times as long as the same ones in another group. One rank's trace gives a lower bound only: there the length of a collective includes waiting. A log of NCCL (`NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log`) that lies beside the traces or is given with them is read too: it says which pairs of ranks take a slow path, and why.
cause-comm-link-remedy =
    Unset `NCCL_P2P_DISABLE`, `NCCL_IB_DISABLE` and `NCCL_SHM_DISABLE`, and read `nvidia-smi topo -m`.
    Across nodes: an InfiniBand or RoCE adapter visible in the container, the right `NCCL_SOCKET_IFNAME`, GPUDirect RDMA.
    `NCCL_DEBUG=INFO` shows the path that is taken.
cause-comm-link-traps =
    Every GPU shows 100 % meanwhile: a waiting collective counts as busy.
    Small messages are bound by latency; they say nothing about the link.
    `NET/IB : No device found` is normal on a single host, and `GDR 1` means nothing without an adapter.
    If the transfers are hidden, a faster link gains little.

cause-comm-unsplit-name = collectives
cause-comm-unsplit-title = Collectives, seen from one rank only
cause-comm-unsplit-what = Time in a collective is transfer, or waiting for the last rank to arrive. One rank's trace cannot tell them apart.
cause-comm-unsplit-seen = NCCL or RCCL kernels, without the traces of the other ranks.
cause-comm-unsplit-remedy =
    Bring the traces of all ranks, recorded over the same steps: `whyidle trace DIR`.
cause-comm-unsplit-traps =
    A rank that seems 99 % busy may be waiting inside a collective.
    Do not tune buckets or links on the evidence of one rank.

cause-rank-straggler-name = a late rank
cause-rank-straggler-title = The GPUs wait for a late rank
cause-rank-straggler-what = One rank reaches the collectives later than the others, and all of them wait inside.
cause-rank-straggler-seen = From the traces of all ranks over the same steps (`whyidle trace DIR`): one rank comes last in most collectives, the others wait there, and by itself it would take longer for a step than they would. Its own ledger says why. From one rank's trace the wait is only part of `comm.unsplit`.
cause-rank-straggler-remedy =
    Cure what holds that rank up: its loader, its host, its share of the work.
    Balance by tokens, not by samples.
cause-rank-straggler-traps =
    The time the others wait is not what the rank costs. If all are launch-bound, a slightly slower host keeps a peer's queue full, and curing it gains nothing.
    The late rank is the one whose GPU looks emptiest; the waiting ones show 100 %.
    Typical reasons are uneven sequence lengths, the last pipeline stage, the garbage collector. Hardware is rare.

cause-pipeline-bubble-name = the pipeline bubble
cause-pipeline-bubble-title = The GPUs wait while the pipeline fills and drains
cause-pipeline-bubble-what = With p stages and m micro-batches each stage idles for (p − 1) ÷ (m + p − 1) of the step: 3/7 for p = m = 4.
cause-pipeline-bubble-seen = Send and receive kernels with no other kernel beside them; the number of stages and micro-batches then gives the least that the schedule costs.
cause-pipeline-bubble-remedy =
    More micro-batches per step.
    An interleaved schedule (v chunks per stage divide the bubble by v), or zero-bubble.
    Stages of equal length.
cause-pipeline-bubble-traps =
    Smaller micro-batches make shorter kernels, until launches are the limit.
    GPipe keeps the activations of all m micro-batches, 1F1B those of at most p.
    With uneven stages the slowest sets the pace; often the last, which holds the head and the loss.

cause-gpu-shared-name = another process on the card
cause-gpu-shared-title = Another process uses the GPU
cause-gpu-shared-what = Two processes on one card take turns. Each sees its kernels start late or take longer.
cause-gpu-shared-seen = Not from a trace: it holds the activities of one process, whose kernels start late or take longer. It takes the use of the card per process, from NVML or `nvidia-smi pmon`.
cause-gpu-shared-remedy =
    One job per card.
    For small jobs: MIG slices, or MPS.
cause-gpu-shared-traps =
    Look for left-over processes and notebooks. In a container those of others are hidden.
    `CUDA_VISIBLE_DEVICES` renumbers the cards; a wrong mapping puts every rank on card 0.

cause-run-startup-name = start-up
cause-run-startup-title = The run spends long before its first step
cause-run-startup-what = Imports, building the model, loading weights, the first compilation. It comes once per start, and again after each crash or preemption.
cause-run-startup-seen = Not from a trace, which covers a few steps. `whyidle run` sees it: stacks with times from the first import to the first forward pass, and the frames of the compiler.
cause-run-startup-remedy =
    Keep the compiler's cache between runs (`TORCHINDUCTOR_CACHE_DIR`).
    Keep weights and data on a local disk; load weights with `mmap=True`.
    Import lazily what only evaluation needs.
cause-run-startup-traps =
    Minutes do not matter for a run of days; they do for a sweep of short runs.
    The first steps are slow too: allocator, autotuning, page cache.

cause-run-epoch-name = borders of epochs
cause-run-epoch-title = At each epoch the loader workers start anew
cause-run-epoch-what = Without `persistent_workers` the workers end with the epoch. New ones are started, each imports or forks, opens the data set, and the first batch takes as long as it takes.
cause-run-epoch-seen = Not from a trace, which covers a few steps. `attach` and `run` see it: the main thread in the loader's `__init__` or shutting workers down, worker processes that are born, and the wait for the first of their batches.
cause-run-epoch-remedy =
    `persistent_workers=True`.
    Longer epochs: a sampler that repeats the data set.
    Open files and build indices in the main process, not in each worker's `__init__`.
cause-run-epoch-traps =
    With persistent workers, a data set that changes between epochs must be told by other means: they keep their copy.
    Short epochs of a small data set pay most.

cause-run-eval-name = evaluation
cause-run-eval-title = Evaluation takes time from training
cause-run-eval-what = While the model is evaluated no training step is taken, however busy the GPU is.
cause-run-eval-seen = Not from a trace, which covers a few steps. `attach` and `run` see it: a function under which the loader and forward passes were met and never backward or the optimizer, or the evaluation loops of transformers and Lightning.
cause-run-eval-remedy =
    Evaluate less often, or on a part of the set.
    `torch.inference_mode()` and a larger batch: there are no activations to keep.
    Evaluate saved checkpoints on another GPU.
cause-run-eval-traps =
    An evaluation may be starved by its own loader: its `num_workers` is a setting of its own.
    Metrics on the host, batch by batch, often cost more than the model.

cause-run-checkpoint-name = checkpoints
cause-run-checkpoint-title = Saving checkpoints stops the training
cause-run-checkpoint-what = While the main thread saves, no step is launched. A trace of a few steps rarely meets it.
cause-run-checkpoint-seen = Not from a trace, which covers a few steps; one that meets a save says `io.checkpoint`. `attach` and `run` see it: the main thread in `torch.save`, a distributed checkpoint or safetensors, at least twice while watched.
cause-run-checkpoint-remedy =
    Save less often: what a crash costs on average is half the interval.
    Save asynchronously: `torch.distributed.checkpoint.async_save`, or a copy to the host and a thread that writes.
    Write to a local disk, and upload from there.
cause-run-checkpoint-traps =
    The first copy to the host still stops the training; only writing is hidden.
    All ranks wait for the one that saves.
