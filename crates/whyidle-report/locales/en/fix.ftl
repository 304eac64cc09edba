# What is tried in a running program: changes, differential runs, the search of remedies.

## Changes

tried-made = Changed in the running program, nothing of it was written: { $list }.
tried-change = { $name } { $from } → { $to }
tried-change-new = { $name } → { $to }
tried-change-at = { $change } ({ $place })
tried-not = { $name } changed nothing: { $reason }.
tried-why-never = the program never came to it
tried-why-iterable-dataset = the data set is read as a stream, and each worker would read all of it
tried-why-already = that is how it is already
tried-why-no-workers = the loader has no workers
tried-why-no-gpu = nothing runs on a GPU
tried-why-raised = PyTorch refused it: { $detail }
tried-why-not-supported = this device or this version of PyTorch does not have it
tried-why-no-convolutions = the model has no convolutions
tried-why-distributed = not below DistributedDataParallel
tried-why-no-layers = the model has no row of alike layers that is longer
tried-why-overridden = the program sets it itself afterwards
tried-why-in-memory-files = its files lie in memory
tried-why-other = { $why }
compare-overhead = B takes { $time } longer until its steps are steady.
compare-overhead-paid = B takes { $time } longer until its steps are steady; that is paid after { $steps ->
    [one] 1 step
   *[other] { $steps } steps
}.

## Differential runs

differential-compute = The program's own computing is the limit: all of its data costs { $share } of a step.
differential-transfer = Waiting for batches on their way to the device is the largest stall: { $time } a step, { $share } of it.
differential-prep = Preparing the data is the largest stall: { $time } a step, { $share } of it. It is what is done to each item, not the reading of files.
differential-fetch = Reading the data is the largest stall when its files are not in the page cache: { $time } a step, { $share } of it. The storage is the limit.
differential-open = Which stall is the largest cannot be told: the one that seems so, { $time } a step, scatters too much from run to run. More steps or rounds would tell.
differential-unknown = What bounds the program cannot be told: { $list }.
differential-unfed = { $feed }: { $reason }
differential-how = { $rounds ->
    [one] One run with each feed, of the program as it is; a start-up hook fed it.
   *[other] { $rounds } runs with each feed, of the program as it is; a start-up hook fed it.
}
differential-interrupted = Interrupted: this is from the runs that were complete.
differential-title = step time, by what it is fed
differential-synthetic = one batch, from the device's memory
differential-cached = batches from the host's memory
differential-warm = its own data
differential-cold = its own data, page cache emptied
differential-adds = { $time } more
differential-adds-unclear = no clear difference
differential-range = { $low }–{ $high }
differential-no-steps = it showed no steps
differential-no-loader = it takes no batch from a DataLoader of PyTorch, so that the hook cannot feed it
differential-no-files = it was not seen to open a file of its data
differential-in-memory = its files lie in memory, below the page cache is nothing
differential-failed = it failed; the program may not take a batch twice, or not from there
differential-out-of-memory = it ran out of GPU memory
differential-other = { $why }

## The search of remedies

fix-gain = With { $list } a step takes { $after } instead of { $before }: { $share } less (95 %: from { $from } to { $to }), { $times } times as fast.
fix-gain-unproven = With { $list } a step takes { $after } instead of { $before }.
fix-nothing = Nothing that was tried makes the program faster: a step takes { $before }.
fix-no-candidates = There is nothing to try: the program leaves no room for a change that can be made from outside. A step takes { $before }.
fix-primary = The verdict on it: { $cause }. `whyidle explain { $cause }` says more.
fix-untouched = No file of the program was written; the changes were made in the running program.
fix-looks = A look is one run; it decides what is worth a proof, and may miss a small gain. What is kept was proven in pairs.
fix-interrupted = Interrupted: this is what there was until then.
fix-failed = The search ended early: { $reason }
fix-title-tried = what was tried
fix-title-keep = what to change
fix-title-patch = as a patch
fix-kept = kept: { $change } (95 %: from { $from } to { $to })
fix-kept-bare = kept
fix-no-gain = left alone: one run took { $change }
fix-not-proven = rolled back: no clear gain in pairs (95 %: from { $from } to { $to })
fix-not-proven-bare = rolled back: no clear gain in pairs
fix-learns-otherwise = rolled back: it is faster, but does not learn alike
fix-not-applied = left alone: { $reason }
fix-attempt-failed = left alone: the program fails with it
fix-attempt-memory = left alone: the program runs out of GPU memory with it
fix-unproven = not proven: one run took { $change }
fix-predicted = predicted { $change }, for { $cause }
fix-for = for { $cause }
fix-unpredicted = nothing speaks for it but that it is cheap to try
fix-decided = { $change }: { $outcome }
fix-place = { $place }: { $setting }
fix-place-given = { $place }: { $setting }; the value there comes from { $given }
fix-kept-as = Kept as { $id }: `whyidle history show { $id }`; each proof is there by its own number.
fix-proof = proof { $id }

history-compute = [bound by computing]
history-transfer = [bound by transfer]
history-prep = [bound by preparing]
history-fetch = [bound by reading]

cli-try-unknown = no such change; known are { $names }, and env:NAME=VALUE
cli-try-flag = give true or false
cli-try-count = give a whole number from { $least } to { $most }
cli-try-megabytes = give megabytes, as 25
cli-try-garbage = give freeze, or every:N
cli-fix-diagnosing = watching the program for a verdict
cli-fix-looking = looking at { $change }
cli-fix-looking-bare = looking at the program as it is
cli-fix-looked = { $time } a step
cli-fix-proving = proving { $change } in pairs
cli-fix-proving-all = proving all that was kept against the program as it is
cli-fix-patched = the patch was written to { $path }
cli-fix-no-patch = there is no patch to write: no place in the source was found for what was kept
cli-fix-exists = { $path } is there already
cli-fix-exists-hint = Name another file; nothing is overwritten.
cli-differential-feed = { $feed }: { $time } a step so far
