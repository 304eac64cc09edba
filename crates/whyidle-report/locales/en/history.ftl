# Verdicts in the history, and a job as a whole.

history-verdict = [verdict: the GPU works { $busy }; { $cause }]
history-verdict-bare = [verdict: { $cause }]
bench-added = Set for the program, so that its steps can be seen: { $list }.
bench-losses-from = Its losses are those in { $path }.
job-head = job { $id } · { $from } to { $to } UTC · { $span }
job-working = The GPUs worked { $share } of the time that was seen.
job-resident = There was something on the GPU { $share } of the time that was seen; how much of that was work, only a verdict tells.
job-resident-beside = Where runs were only measured, there was something on the GPU { $share } of the time.
job-nothing = Of this job, no use of a GPU was seen.
job-waste = About { $waste } of { $seen } were wasted (estimated: the share not working × GPUs × the time seen).
job-waste-least = At least { $waste } of { $seen } were wasted (estimated: the share not working × GPUs × the time seen; of measured runs, the share with nothing on the GPU).
job-no-change = No verdict proposes a change that would save anything.
job-seen = This is from { $verdicts } and { $runs }; of the time between them nothing is known.
job-verdicts = { $count ->
    [one] 1 verdict
   *[other] { $count } verdicts
}
job-runs = { $count ->
    [one] 1 measured run
   *[other] { $count } measured runs
}
job-damaged = { $count ->
    [one] 1 entry is damaged and left out
   *[other] { $count } entries are damaged and left out
}.
job-time = { $time }
job-hours = { $hours } h
job-gpu-time = { $time } of one GPU
job-gpu-hours = { $hours } GPU-hours
job-title-waits = what they waited for
job-title-change = the one change worth making
job-change = The step is expected to take { $after } instead of { $before }: it would have saved { $saved } of what was seen.
job-change-of = In full: `whyidle history show { $id }`.
job-title-parts = what this is from
job-verdict = verdict
job-run = run

cli-verdict-kept = kept as { $id }: whyidle history show { $id }
cli-verdict-not-kept = the verdict was not kept in the history: { $reason }
cli-history-no-job = the history holds nothing of a job "{ $job }"
cli-history-no-job-hint = A run belongs to the job that WHYIDLE_JOB or the scheduler names when it starts, as SLURM_JOB_ID.
cli-losses-none = no losses of this run were found in { $paths }: those that it prints count
