# Several ranks together.

## The table of ranks
report-rank-rank = rank
report-rank-step = step
report-rank-working = working
report-rank-last = last in
report-rank-waits = waits
report-rank-caused = waited for
report-rank-pace = own pace
report-rank-last-of = { $last } of { $of }
report-together-matched = { $share } of the collectives matched, by { $how ->
    [sequence] their sequence numbers
    [order] their order
   *[step] step and order
}
report-clocks-unknown = clocks not compared
report-clocks-agree = clocks agree within { $error }
report-clocks-apart = clocks are up to { $apart } apart (± { $error })
report-clocks = clocks
report-clock = ranks { $first }–{ $last }: { $ahead } ahead of the first (± { $error }), drift { $drift } ppm
report-group = { $name }: { $count } ranks, { $from }–{ $to }
report-pair = rank { $from } to rank { $to }
report-transfer = { $kind } { $bytes } × { $count } · { $time } · { $speed } GB/s on the bus · { $hidden } hidden
report-strategy = how the job is parallel

strategy-data-parallel = DistributedDataParallel: { $forwards ->
    [one] 1 forward pass
   *[other] { $forwards } forward passes
} and { $count ->
    [one] 1 reduction
   *[other] { $count } reductions
} per optimizer step
strategy-no-sync = gradients are reduced in the last micro-batch only (no_sync)
strategy-find-unused = find_unused_parameters=True: a bitmap is reduced in every step; leave it off where all parameters are used
strategy-copied-gradients = { $count ->
    [one] 1 gradient is copied
   *[other] { $count } gradients are copied
} out of buckets per step: gradient_as_bucket_view=True saves that
strategy-broadcast-buffers = { $count ->
    [one] 1 broadcast of buffers
   *[other] { $count } broadcasts of buffers
} per step: broadcast_buffers=False where they need not agree
strategy-sharded = FSDP{ $generation }: parameters are gathered { $forward } times per step for forward and { $backward } times for backward
strategy-zero = DeepSpeed ZeRO
strategy-replicated = torch.nn.DataParallel copies the model to every GPU in every step: use DistributedDataParallel
strategy-tensor-parallel = { $count ->
    [one] 1 all-reduce
   *[other] { $count } all-reduces
} in forward per step: tensor parallel
strategy-pipeline = stages that send to and receive from each other
strategy-synced = the host waits for the GPU before { $count ->
    [one] 1 collective
   *[other] { $count } collectives
} per step

## Lines, waits, limits
line-comm-exposed = transfers that nothing hides
line-comm-wait = waiting for other ranks
because-comm-link = for transfers over a slow link
limit-comm-link = communication is the limit
limit-rank-straggler = the late rank is the limit
det-ranks = { $count ->
    [one] rank { $ranks }
   *[other] ranks { $ranks }
}

## What is said
say-late = Rank { $rank } is late: of each { $step } step, the others wait { $waiting } for it, because { $why }.
late-waits = it itself waits { $because }
late-works = it does { $factor } times the mean work
late-slower = the same kernels take it longer
late-host = its host launches more slowly

doubt-unmatched = Only { $share } of the collectives were found on all their ranks: what is left may be waiting for a rank whose part is not there.
doubt-ranks-missing = { $count ->
    [one] 1 rank of the job is missing
   *[other] { $count } ranks of the job are missing
}: waiting for one of them cannot be told from transfer.
doubt-ranks-apart = The ranks' traced steps take { $least } to { $most }: ranks of one job that wait for each other take equally long. These are traces of different runs or of different steps.

## Evidence
ev-straggler-last = rank { $rank } came last in { $last } of { $of } collectives, in { $steps } of { $all } steps traced; whether that stays so, a few steps cannot tell
ev-straggler-first = { $share } of that in the first collective of a step: there the delay arose before it, elsewhere between collectives
ev-straggler-paces = by itself, rank { $rank } would take { $own } per step, the slowest other { $others }
ev-straggler-because = rank { $rank } itself waits { $because }: { $time } per traced step
ev-straggler-work = rank { $rank } does { $factor } times the mean work of all ranks, every kernel counted alike
ev-straggler-slower = the same kernels take longer on rank { $rank } than on any other: clocks, heat, or a shared card
ev-straggler-host = rank { $rank } does the same work; its host is slower at launching it
ev-stage-idle = rank { $rank } does not work for { $share } of its traced steps
ev-stage-slowest = the slowest stage is rank { $rank }, { $share } above the mean; balanced, today's micro-batches would take { $balanced }
ev-schedule = the schedule recorded is { $schedule ->
    [gpipe] GPipe: all forwards, then all backwards
   *[other] 1F1B: one forward, one backward
}
ev-link-speed = { $kind } of { $bytes } over { $ranks } ranks: { $speed } GB/s on the bus, where { $usual } GB/s are usual
ev-link-path = by NCCL's log, { $count ->
    [one] 1 pair of ranks takes
   *[other] { $count } pairs of ranks take
} a slow path; ranks { $a } and { $b }: { $what }
ev-link-hidden = other work hides { $share } of these transfers

## Remedies
fix-straggler-own = On rank { $rank }: { $remedy }
fix-straggler-work = Share the work out evenly: by tokens, not by samples.
fix-straggler-slower = Look at the GPU of rank { $rank }: clocks, temperature, other processes on it.
fix-straggler-host = Look at the host of rank { $rank }: cores, other processes, NUMA placement.
fix-comm-link = Find out why the path is slow: peer-to-peer, the NIC, or a fallback.
fix-link-p2p = NCCL_P2P_DISABLE and NCCL_SHM_DISABLE must not be set; `nvidia-smi topo -m` shows NVLink as NV#.
fix-link-p2p-amd = NCCL_P2P_DISABLE and NCCL_SHM_DISABLE must not be set; `rocm-smi --showtopo` shows which GPUs XGMI links.
fix-link-nic = Between hosts: the right interface (NCCL_SOCKET_IFNAME, NCCL_IB_HCA), and GPUDirect RDMA.
fix-link-log = The log names the transport of every channel: P2P, SHM or NET.

## The evidence itself
note-rank-twice = { $count ->
    [one] Rank { $ranks } was given twice
   *[other] Ranks { $ranks } were given twice
}: the first trace of each was taken.
note-rank-missing = { $count ->
    [one] Rank { $ranks } of the job is missing
   *[other] { $count } ranks of the job are missing ({ $ranks }, …)
}: waiting for what is not there cannot be told from transfer.
note-matched-by-order = Steps carry no numbers: collectives were matched by the order of their kinds and sizes.
note-collectives-differ = { $count ->
    [one] In 1 place ranks run different collectives
   *[other] In { $count } places ranks run different collectives
}: uneven inputs, or a hang to come.
note-collectives-unknown = { $count ->
    [one] 1 collective does
   *[other] { $count } collectives do
} not say between which ranks, and { $count ->
    [one] was
   *[other] were
} not compared.
note-no-straggler = Rank { $rank } waits in collectives for { $share } of its traced steps, but nobody is late: by themselves, rank { $shown } would take { $own } and rank { $rank } { $other } per step. Under the profiler a host that is a little slower fills the others' queues.
note-windows-apart = { $count ->
    [one] Rank { $rank } seems to be { $time } off
   *[other] { $count } ranks seem to be off, rank { $rank } by { $time },
} where a step takes { $step }: its clock is off, or it recorded other steps than the rest; then who is late is not known.
