# What Nsight Compute measured of single kernels.

## The head

ncu-head = { $launches ->
    [one] 1 launch
   *[other] { $launches } launches
} of { $kernels ->
    [one] 1 kernel
   *[other] { $kernels } kernels
}, measured one by one

## The answer. $share is of the kernels' time.

ncu-held-compute = { $share } of these kernels' time, the multiprocessors are the limit.
ncu-held-dram = { $share } of these kernels' time, GPU memory (DRAM) is the limit.
ncu-held-cache = { $share } of these kernels' time, the GPU's caches are the limit, not its memory.
ncu-held-balanced = { $share } of these kernels' time, multiprocessors and memory are the limit alike.
ncu-held-small = { $share } of these kernels' time goes to kernels that are too small for the card: most multiprocessors have nothing to run.
ncu-held-latency = { $share } of these kernels' time, warps wait: neither the multiprocessors nor memory come to 60 % of their peak. They wait mostly for { $stall }.
ncu-held-latency-bare = { $share } of these kernels' time, warps wait: neither the multiprocessors nor memory come to 60 % of their peak.
ncu-no-throughput = The file does not hold what tells what limits a kernel. Record it again with `ncu --set full --csv --page raw`.
ncu-none-in-trace = None of the measured kernels is in the trace: they are of another program, or of another shape.
ncu-change-fuse = Fuse element-wise kernels, norms and reductions with their neighbours (`torch.compile`): they take { $share }.
ncu-change-larger = Give each launch more to do (a larger batch, fewer and larger kernels): those that are too small take { $share }.
ncu-change-precision = Let matrix products run on the tensor cores (bf16, or TF32): those that do not take { $share }.
ncu-change-occupancy = Let more warps fit on a multiprocessor (fewer registers or less shared memory per block) in the kernels that wait for want of them: they take { $share }.
ncu-change-none = No change to a kernel stands out: most of the rest are libraries' kernels that choose their own shape, or near a peak.

## Beside it

ncu-weighted-by-length = Weighted by the length of each launch, { $time } in all, each alone on the card. How often a program launches them, a trace tells: give it too.
ncu-covers = They are { $covered } of the { $working } ({ $share }) that the GPU works per step in { $path }, and are weighted by their time there.
ncu-covers-whole = They are { $covered } of the { $working } ({ $share }) that the GPU works in { $path }, which has no whole step, and are weighted by their time there.

## The three layers

ncu-title-layers = is a kernel there, does it fill the card, does it compute
ncu-layer-resident = a kernel is on the GPU
ncu-layer-filled = multiprocessors hold a warp
ncu-layer-computing = and compute
ncu-layer-resident-none = A step's trace tells that. Here each kernel was run alone.
ncu-layer-resident-remark = Of the step, as traced.
ncu-layer-filled-remark = Of their cycles while the kernel runs.
ncu-layer-computing-remark = Of those cycles: an instruction is issued, or the tensor cores work.
ncu-unknown = ?
ncu-warps-time = Warps' time: { $waits }.
ncu-waits = { $share } for { $stall }

## What limits

ncu-title-bounds = what limits, by time
ncu-bounds-note = Limited: at least 60 % of a peak, as Nsight Compute's own rule has it. Waits: below that for both.
ncu-bound-compute = compute
ncu-bound-dram = memory
ncu-bound-cache = caches
ncu-bound-balanced = both
ncu-bound-latency = waits
ncu-bound-small = too small
ncu-bound-unknown = not told

## Kernels

ncu-title-kernels = kernels, blocks × threads
ncu-more = { $count ->
    [one] and 1 more; --format json holds all
   *[other] and { $count } more; --format json holds all
}
ncu-kernel-throughput = Of the peak: multiprocessors { $sm }, memory { $memory }{ $dram }.
ncu-kernel-dram = {" "}(DRAM { $dram })
ncu-kernel-waves = { $waves } waves of blocks, { $empty } of the places empty.
ncu-kernel-warps = Warps held: { $held } of what fits, where all of it ({ $most }) could be.
ncu-kernel-warps-limited = Warps held: { $held }, where { $limiters } allow { $most }.
ncu-kernel-tensor = Tensor cores { $tensor }.
ncu-limit-registers = registers
ncu-limit-shared = shared memory
ncu-limit-warps = the size of a block
ncu-limit-blocks = the number of blocks
ncu-limit-barriers = barriers

## What warps wait for

ncu-stall-selected = the instruction itself
ncu-stall-not-selected = another warp's turn
ncu-stall-long-scoreboard = GPU memory (long scoreboard)
ncu-stall-short-scoreboard = shared memory or special functions (short scoreboard)
ncu-stall-barrier = other warps at a barrier
ncu-stall-math-pipe = an arithmetic pipe that is taken
ncu-stall-mio = the queue to shared memory and special functions (MIO)
ncu-stall-lg = the queue to GPU memory (LG)
ncu-stall-tex = the queue to the texture unit
ncu-stall-wait = the fixed delay after an instruction
ncu-stall-no-instruction = its next instruction (instruction cache)
ncu-stall-constant = a constant (constant cache)
ncu-stall-branch = the target of a branch
ncu-stall-membar = a memory barrier
ncu-stall-drain = its last stores
ncu-stall-dispatch = the dispatcher
ncu-stall-gmma = matrix products of its warp group (GMMA)
ncu-stall-sleeping = the end of a sleep
ncu-stall-misc = other reasons

## What is not covered, and evidence

ncu-title-missing = kernels of the trace that were not measured
ncu-title-evidence = evidence
ncu-warned = Nsight Compute: { $text }
