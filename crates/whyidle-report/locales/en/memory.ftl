# What the CUDA caching allocator says of itself: snapshots and memory_summary().

## The head

memory-head = memory snapshot { $path }
memory-head-device = device { $device }
memory-head-events = { $count ->
    [one] 1 event
   *[other] { $count } events
} in { $time }
memory-summary-head = memory summary { $path }

## The answer. Allocated is what tensors hold, reserved what the allocator holds of the GPU.

memory-peak = At its peak the program had { $allocated } allocated; its allocator reserved at most { $reserved }.
memory-peak-about = At its peak the program had about { $allocated } allocated; its allocator reserved at most { $reserved }.
memory-end = When the snapshot was taken, { $allocated } were allocated of { $reserved } reserved. It holds no history, so the peak is not known.
memory-empty = The snapshot holds no memory of any GPU.
memory-made-of = What makes it up: { $parts }.
memory-by-forward = forward { $share }
memory-by-backward = backward { $share }
memory-by-optimizer = the optimizer { $share }
memory-by-other = other code { $share }
memory-by-unknown = allocations without a stack { $share }
memory-by-before = what was there before the history began { $share }
memory-fine = Nothing in it asks for a change.
memory-growth-steps = Memory grows: { $bytes } more stay allocated after every step, over { $count } steps.
memory-growth-slices = Memory seems to grow: each of { $count } stretches of the history leaves about { $bytes } allocated. No steps could be told in it.
memory-growth-part = Memory grows in the last part of the history: { $bytes } more stay allocated after every round, over { $count } rounds.
memory-growth-most = The largest part of it is asked for by { $place }.
memory-growth-graph = It is what forward keeps for backward, of several operators: results are kept together with their graph.
memory-growth-evaluation = It is what forward keeps for a backward that never runs: an evaluation records its graph.
memory-failed = An allocation of { $bytes } failed: { $allocated } were allocated, { $cached } lay free in the allocator, { $free } on the GPU.
memory-failed-pieces = An allocation of { $bytes } failed although { $cached } lay free in the allocator, in pieces: { $allocated } were allocated, and { $free } were free on the GPU.

## What to change

memory-title-change = what to change
memory-do-no-grad = Evaluate under `torch.no_grad()`, or keep outputs with `.detach()`.
memory-do-detach = Keep results without their graph: `.detach()`, or `.item()` for a number.
memory-do-release = Find what keeps these tensors from step to step: a list, a cache, an attribute.
memory-do-keep-cache = Leave `torch.cuda.empty_cache()` out of the steps.
memory-do-expandable = Let segments grow: `expandable_segments:True`.
memory-do-same-sizes = Keep sizes the same from step to step, and ask for what stays (weights, states, caches) first.
memory-do-need-less = The program needs more than there is: a smaller batch, checkpointing, or sharding. `whyidle plan` tells what fits.
memory-if-no-grad = The stacks show no backward where this memory is asked for.
memory-if-detach = One kept result holds everything that its forward saved.
memory-if-expandable = It helps where enough is free in pieces of 20 MiB or more, as with sizes that change from step to step. It frees nothing where tensors hold the memory or sit between smaller pieces, and some ways of sharing memory between processes do not work with it.
memory-if-same-sizes = The free pieces lie between tensors and are too small to be moved elsewhere: `expandable_segments` does not help against that.
memory-if-keep-cache = What it gives back is asked for again in the next step, and giving back waits for the GPU.

## Tables

memory-title-parts = what makes up the peak
memory-part-before = from before the history began
memory-site = { $operator } · { $place }
memory-site-bare = { $place }
memory-site-unknown = without a stack
memory-more = { $count ->
    [one] 1 more: -v shows it
   *[other] { $count } more: -v shows more, JSON all
}
memory-title-growth = what stays from step to step
memory-per-period = { $bytes } each
memory-no-growth = No place keeps memory from every step. { $periods }
memory-periods-marks = Steps are those that the program's profiler or optimizer marked ({ $count }).
memory-periods-repetition = Steps were told by allocations that repeat ({ $count }); the first may set things up and the last is under way, so neither counts.
memory-periods-slices = Nothing repeats, so the history was cut into { $count } stretches of as many allocations each.
memory-periods-part = Rounds were told by an allocation that repeats up to the end of the history and stays ({ $count }); the first and the last do not count.
memory-title-timeline = allocated over time
memory-timeline = { $time } from left to right; the highest is { $top }
memory-title-totals = memory
memory-at-peak = at the peak
memory-at-end = at the end
memory-row-allocated = allocated
memory-row-requested = requested, before rounding
memory-row-active = active: also what streams still use
memory-row-reserved = reserved
memory-row-cached = free in the allocator
memory-row-releasable = of it, in segments wholly free
memory-row-split = of it, between blocks in use
memory-row-largest = largest free block
memory-title-driver = calls of the driver
memory-came = cudaMalloc: { $count ->
    [one] 1 segment
   *[other] { $count } segments
}, { $bytes }
memory-went = cudaFree: { $count ->
    [one] 1 segment
   *[other] { $count } segments
}, { $bytes }
memory-emptied = { $count ->
    [one] 1 of them
   *[other] { $count } of them
} by the program's own `empty_cache()`
memory-grew = { $count ->
    [one] 1 segment ({ $bytes }) was
   *[other] { $count } segments ({ $bytes }) were
} asked for although as much lay free in pieces
memory-gaps = In the trace's gaps: { $calls ->
    [one] 1 such call
   *[other] { $calls } such calls
}, in { $gaps ->
    [one] 1 gap
   *[other] { $gaps } gaps
} with { $share } of the time that the GPU was idle. That both happen together does not prove which causes which.
memory-gaps-apart = The trace is of another time ({ $time } apart): calls and gaps cannot be joined.
memory-gaps-no-clock = The trace says no time of day: calls and gaps cannot be joined.
memory-gaps-no-history = The snapshot holds no history that could be joined with the trace's gaps.
memory-headroom = The GPU has { $capacity }: { $free } ({ $share }) were never reserved. The CUDA context and other programs take some of that.
memory-title-others = other devices: allocated at the peak, reserved
memory-title-evidence = about the evidence

## memory_summary()

memory-summary-peak = Since its start the program had at most { $allocated } allocated and { $reserved } reserved.
memory-summary-none = The table lacks its rows of allocated and reserved memory.
memory-summary-failed = { $count ->
    [one] 1 allocation
   *[other] { $count } allocations
} failed for lack of memory.
memory-summary-retries = { $count ->
    [one] Once
   *[other] { $count } times
} the allocator had to give back what it held and ask again, which waits for the GPU: ask for less, or let segments grow (`expandable_segments:True`).
memory-summary-fine = No allocation failed, and none had to be tried again.
memory-summary-most = at most
memory-summary-now = when printed
memory-summary-rounded = PyTorch rounds these figures down to the unit that it prints. Who asked for the memory, only a snapshot tells: `torch.cuda.memory._dump_snapshot`.

## About the evidence

note-memory-estimated = The peak is an estimate: the history does not lead to what the allocator held at the end, or its settings round sizes otherwise.
note-memory-no-history = The snapshot holds no history: call `torch.cuda.memory._record_memory_history()` before the steps of interest.
note-memory-no-stacks = { $count ->
    [one] 1 allocation has no stack
   *[other] { $count } allocations have no stack
}: `_record_memory_history(stacks="all")` records those of backward too.

## The command line

