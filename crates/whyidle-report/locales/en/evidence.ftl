# What files of every kind contribute to `whyidle diagnose`.

evidence-title = what each file contributed
evidence-trace = { $count ->
    [one] trace of 1 event
   *[other] trace of { $count } events
}: the verdict rests on it
evidence-samples = { $count ->
    [one] 1 sample
   *[other] { $count } samples
} of the run from outside
evidence-snapshot = memory snapshot: the page on memory
evidence-summary = table of torch.cuda.memory_summary(): the page on memory
evidence-kernels = { $count ->
    [one] 1 launch
   *[other] { $count } launches
} measured by Nsight Compute: the page on kernels
evidence-dump = flight recorder of a rank: the page on ranks
evidence-nccl = log of NCCL: over what the ranks talk
evidence-nothing = nothing: { $reason }
