# Units, ledger lines, and the words for what has a stable id.

## Units. $value holds the digits.

unit-ns = { $value } ns
unit-us = { $value } µs
unit-ms = { $value } ms
unit-s = { $value } s
unit-percent = { $value } %
unit-byte = { $value } B
unit-kib = { $value } KiB
unit-mib = { $value } MiB
unit-tib = { $value } TiB
unit-gib = { $value } GiB

## Joining

list-comma = { ", " }
clause-comma = { ", " }
list-and = and
sentence-gap = { " " }

## Ledger lines: the GPU works

line-working-matmul = matmul
line-working-attention = attention
line-working-convolution = convolution
line-working-normalisation = normalisation
line-working-elementwise = element-wise
line-working-reduction = reduction
line-working-softmax = softmax
line-working-embedding = embedding
line-working-loss = loss
line-working-optimizer = optimizer
line-working-recompute = recomputation
line-working-copy = copies on the GPU
line-working-other = other

## Ledger lines: the GPU waits

line-data-in_process = data prepared in-process
line-data-workers = waiting for data
line-data-transfer = host-to-device copies
line-host-launch = waiting for launches
line-host-sync = synchronisation
line-host-python = Python between launches
line-host-gc = garbage collection
line-host-optimizer = optimizer on the host
line-memory-allocator = GPU memory allocation
line-compile-recompile = compilation
line-io-checkpoint = saving a checkpoint
line-io-logging = logging and writing
line-gpu-wait = waiting for a GPU event
line-comm-unsplit = collectives
line-host-gil = waiting for the GIL
line-host-contention = waiting for a core
line-run-epoch = starting workers anew

## Ledger lines: the rest

line-rest-latency = pauses between kernels
line-rest-profiler = the profiler itself
line-rest-outside = not in this window
line-rest-unexplained = unexplained

## Where the step time comes from

basis-given = step time as given
basis-given-range = step time as given, { $range }
basis-measured = measured without profiler
basis-measured-range = measured without profiler, { $range }
basis-estimated = estimated from the trace
basis-estimated-range = estimated from the trace, { $range }
basis-traced = as traced, profiler included

## How a gain was found

method-replay = replay
method-model = model
method-bound = upper limit

## Trust

confidence-high = high
confidence-medium = medium
confidence-low = low

## Changes. $setting is "2 → 12" or empty; $cause is the cause's name.

change-workers = num_workers { $setting }
change-pretokenise = tokenise ahead of training
change-removed = without { $cause }
change-deferred = { $cause } deferred
change-pinned = pinned memory and non_blocking copies
change-overlapped = copies beside the computation
change-cuda_graphs = CUDA graphs
change-hip_graphs = HIP graphs
change-compile = torch.compile
change-fused = fused optimizer
change-batch = batch { $setting }, per today's samples
change-autocast = autocast { $setting }
change-tf32 = { $setting }
change-sdpa = scaled_dot_product_attention
change-padded = padded size { $setting }
change-no_recompute = without gradient checkpointing
change-accumulation = gradient accumulation { $setting }
change-no_sync = no_sync() in micro-batches
change-overlap = communication under compute
change-sharding = less sharding { $setting }
change-micro_batches = micro-batches { $setting }
change-straggler = the late rank cured
change-link = a path as fast as usual
change-gc = collector frozen, or run every N steps
change-allocator = stable allocations
change-dynamic_shapes = fixed or dynamic shapes
change-async_checkpoint = asynchronous checkpoint
change-log_interval = log less often { $setting }

# Large counts: powers of ten, and how they are set.

scale-large = 9
scale-middle = 6
unit-large = { $value } B
unit-ones = { $value }
unit-middle = { $value } M
