# What flight recorders and NCCL's logs say of several ranks.

## Ranks. $list is "0–3, 7".

ranks-one = rank { $list }
ranks-several = ranks { $list }
ranks-one-first = Rank { $list }
ranks-several-first = Ranks { $list }
ranks-number = { $count ->
    [one] 1 rank
   *[other] { $count } ranks
}

## Operations. $name is all_reduce or send 0->1, $seq its number in the group.

ranks-operation = { $name } #{ $seq } ({ $bytes })
ranks-operation-bare = { $name } #{ $seq }
ranks-kind = { $name } of { $what }
ranks-kind-bare = { $name }

## The head

ranks-head-dumps = { $count ->
    [one] 1 dump ({ $ranks })
   *[other] { $count } dumps ({ $ranks })
} with { $entries ->
    [one] 1 operation
   *[other] { $entries } operations
}
ranks-head-nccl = NCCL { $version }
ranks-head-log = { $count ->
    [one] 1 line of NCCL's log
   *[other] { $count } lines of NCCL's log
}

## The answer

ranks-never-entered = { $guilty } never entered { $operation } of group { $group }.
ranks-waits-for = { $waiting } had been waiting in it for { $time } when the dump was written.
ranks-waits-given-up = { $waiting } waited in it until the watchdog gave up.
ranks-waits = { $waiting } had been waiting in it; for how long, the dump does not say.
ranks-last = The last thing { $rank } asked for is { $operation }.
ranks-last-at = The last thing { $rank } asked for is { $operation }, at { $place }.
ranks-no-dump = There is no dump of { $ranks }: gone, or never written.
ranks-mismatch = In group { $group }, collective #{ $seq } is not the same everywhere: { $usual } asked for { $a }, { $others } for { $b }.
ranks-no-message = { $waiting } had been waiting in { $operation } of group { $group } for { $guilty }, where its counterpart was not under way.
ranks-circle = The ranks wait for each other.
ranks-circle-part = { $rank } waits in { $operation } for { $for }.
ranks-circle-end = Which of them is wrong, only the program can tell.
ranks-together = { $waiting } had all entered { $operation } of group { $group }, and it did not end. All asked for the same: look at the link, at the GPUs, and for a rank that died.
ranks-stuck = { $waiting } had entered { $operation } of group { $group }, and it did not end.
ranks-damaged = The dump of { $ranks } is damaged: whether it had entered too is not known.
ranks-no-hang = No hang and no mismatch: { $count ->
    [one] the 1 collective
   *[other] the { $count } collectives
} that { $ranks } all hold agree and are over.
ranks-alone = Only the dump of { $rank } is here, and everything in it is over. What other ranks did, it does not say.
ranks-step = A step takes { $step }, without a profiler (median of { $count }).
ranks-under-way = Nothing shows that this is a hang: the dumps may be of a program that was running.
ranks-next-stack = The recorder says what was asked for, not where a rank is now. While it hangs, `whyidle attach PID` shows where { $rank } is.
ranks-links-none = The log says nothing of paths between ranks: set NCCL_DEBUG=INFO.
ranks-links-fine = { $count ->
    [one] The pair of ranks in the log has no slow path.
   *[other] None of the { $count } pairs of ranks in the log has a slow path.
}
ranks-links-slow = { $all ->
    [one] The pair of ranks in the log takes a slow path. { $what }
   *[other] { $count } of { $all } pairs of ranks take a slow path. { $what }
}

## Stacks

ranks-stack-last = last asked for by { $rank }: { $operation }
ranks-stack-waits = where { $rank } waits: { $operation }
ranks-stack-asks = { $rank } asks for { $operation }
ranks-no-stack = The recorder keeps no stack of what thread { $thread } launches (autograd's has none).

## Tables

ranks-more = { $count ->
    [one] and 1 more; --format json holds all
   *[other] and { $count } more; --format json holds all
}
ranks-title-mismatches = what does not match
ranks-title-groups = process groups
ranks-title-steps = steps, by when each is asked for
ranks-title-lateness = how late each host is at a step's first collective
ranks-title-transfers = collectives, as the GPU timed them
ranks-title-links = who talks over what
ranks-title-warnings = warnings
ranks-title-evidence = evidence
ranks-group-dumps = { $count } of { $all } dumps
ranks-group-matched = { $count } compared
ranks-group-behind = { $rank } came to #{ $seq }, { $other } to #{ $other_seq }.
ranks-group-mismatched = { $count ->
    [one] 1 does not match.
   *[other] { $count } do not match.
}
ranks-group-missing = No dump of { $ranks }.
ranks-group-seen-only = Who is in it, the dumps do not say.
ranks-step-range = { $low }–{ $high }
ranks-step-of = { $count } steps of { $operations } operations; the range is from the 10th to the 90th percentile
ranks-step-note = This is the pace at which hosts ask. Steps that were profiled count too, if the ring holds any.
ranks-pace-short = The recorder holds too few steps to measure one: set TORCH_FR_BUFFER_SIZE higher.
ranks-pace-alike = Every operation in the recorder is the same: where a step begins is not told.
ranks-pace-profiled = The recorder holds only steps that were profiled.
ranks-pace-irregular = What is asked for does not repeat from step to step: no step is measured.
ranks-late-last = last in { $count } of { $all }
ranks-late-note = By the hosts' clocks. It means arrival only where hosts do not run ahead of their GPUs.
ranks-transfer-waits = waits { $time }
ranks-transfer-last = { $rank } is last in { $count } of { $all }
ranks-link-channels = { $count ->
    [one] 1 channel
   *[other] { $count } channels
}
ranks-slow-host-memory = Through the host's memory, not from GPU to GPU.
ranks-slow-network-inside = Over the network inside one host.
ranks-slow-tcp = Over TCP between hosts, no RDMA.
ranks-slow-no-direct = Network cards copy through the host's memory: no GPUDirect RDMA.
ranks-why-setting = { $name } is set to { $value }.
ranks-why-said = NCCL says: { $text }
ranks-why-no-card = NCCL found no network card that does RDMA.
ranks-why-unknown = The log does not say why.
ranks-links-found = Paths that NCCL found: { $inside } inside a host, { $between } to the network.
ranks-links-cards = Network cards: { $cards }.
ranks-links-network = Network between hosts, if there are several: { $network }.
ranks-links-settings = Set: { $settings }

## Refusals

cli-ranks-empty = The dumps hold no operation.
cli-ranks-apart = The dumps have no collective in common that could be compared: they are of different runs, or of moments too far apart.
cli-ranks-runs = The dumps are of different runs: more than a minute lies between the last entry of one and the first of another.
cli-ranks-empty-hint = the recorder must be on before the first collective: set TORCH_FR_BUFFER_SIZE=2000
cli-ranks-apart-hint = give dumps that the ranks of one run wrote at about the same time
