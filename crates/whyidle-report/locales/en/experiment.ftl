# Experiments: a run (bench), a comparison, the history.

## How steps were told

bench-basis-hook = Steps were timed from one optimizer step to the next, by a start-up hook; the program was not changed.
bench-basis-printed-steps = { $count ->
    [one] Steps were timed by the arrival of printed lines with their number.
   *[other] Steps were timed by the arrival of printed lines with their number: one line every { $count } steps, so single steps are not seen.
}
bench-basis-printed-times = The step times are those that the program prints.
bench-basis-batches = No steps were seen; this is the mean time between batches that loader workers handed over.
bench-basis-whole = No steps were seen; this is the whole program, from its start to its end.
bench-basis-recorded = The step times are those of the recording.

## A run

bench-step = A step takes { $step } (95 %: { $low }–{ $high }; { $count ->
    [one] 1 steady step
   *[other] { $count } steady steps
}).
bench-step-bare = A step takes { $step } ({ $count ->
    [one] 1 steady step
   *[other] { $count } steady steps
}, too few for an interval).
bench-whole = The program takes { $time }.
bench-no-steps = Nothing was measured: in { $time } the program showed no steps. The start-up hook sees PyTorch's optimizers; otherwise print a line per step, as "step 12 loss 2.31".
bench-few-steps = Nothing was measured: in { $time } the program showed too few steps.
bench-rates = That is { $samples } samples and { $tokens } tokens per second.
bench-samples = That is { $samples } samples per second.
bench-tokens = That is { $tokens } tokens per second.
bench-failed = The program failed with status { $status }.
bench-failed-unknown = The program failed.
bench-out-of-memory = The program ran out of GPU memory.
bench-warm-up = { $count ->
    [one] The first step ({ $time }) was warm-up and is left out
   *[other] The first { $count } steps ({ $time }) were warm-up and are left out
} (found by MSER-5).
bench-no-warm-up = No warm-up was found (by MSER-5): every step counts.
bench-stalls = { $count ->
    [one] 1 step of more than three times the median was set aside; it
   *[other] { $count } steps of more than three times the median were set aside; they
} took { $time } beyond the mean.
bench-rhythm = Every { $every } steps a long one comes back: it is the program's own and counts.
bench-unsettled = The step time was still changing: let it run for longer.
bench-interrupted = Interrupted: this is from what there was until then.
bench-time-over = The time was over before there were enough steady steps.
bench-hook-errors = { $count ->
    [one] 1 step or batch
   *[other] { $count } steps or batches
} could not be looked at by the start-up hook.
bench-on-gpu = process { $pid } on GPU { $gpu }
bench-gpu-shared = Others computed on the program's GPUs meanwhile: { $list }.
bench-neighbours = Other programs kept about { $cores } cores busy meanwhile: { $names }.
bench-neighbours-unnamed = Other programs kept about { $cores } cores busy meanwhile.
bench-title-steps = how steady steps differ
bench-least = shortest
bench-p10 = 10th percentile
bench-median = median
bench-p90 = 90th percentile
bench-p99 = 99th percentile
bench-most = longest
bench-title-gpu = the GPU
bench-resident = something on it
bench-util = utilisation (sampled by NVML)
bench-peak = peak memory of tensors
bench-held = The allocator held { $bytes }.
bench-memory = memory in use by anyone
bench-power = power
bench-watts = { $power } W
bench-energy = energy per step
bench-joules = { $energy } J
bench-title-place = measured on
bench-host = host
bench-processor = processor
bench-cores = cores
bench-gpus = GPUs
bench-driver = driver
bench-cuda = CUDA of PyTorch
bench-python = Python
bench-kernel = kernel
bench-folder = folder
bench-commit = commit { $commit }
bench-commit-dirty = commit { $commit } with changes
bench-title-kept = command
bench-kept = Kept as run { $id }: `whyidle history show { $id }`.
bench-log = Its output is in { $path }.

## A comparison

compare-per-step = per step
compare-per-sample = per sample
compare-per-whole = in all
compare-less = { $share } less
compare-more = { $share } more
compare-faster = B is faster: it takes { $share } less time { $per } (95 %: from { $from } to { $to }).
compare-slower = B is slower: it takes { $share } more time { $per } (95 %: from { $from } to { $to }).
compare-alike = No clear difference: whatever B changes is smaller than the { $counts } that count (95 %: from { $from } to { $to } time { $per }).
compare-small = No clear difference that counts: B takes from { $from } to { $to } time { $per } (95 %), and that may be smaller than the { $counts } that count.
compare-unclear = No clear difference: B may take anything from { $from } to { $to } time { $per } (95 %). More pairs or longer runs would narrow it.
compare-too-few = No answer: { $count ->
    [one] 1 pair was run
   *[other] { $count } pairs were run
}, { $least } are needed.
compare-mixed = No answer: the steps of A and B could not be told in the same way.
compare-apart = B's run took { $change } time { $per }.
compare-apart-unknown = Two single runs do not tell whether that is the program or the machine; `whyidle compare 'A' 'B'` does, with the two commands.
compare-nothing = No answer: one of the two holds no step times.
compare-differences = Beside the commands, this differs: { $list }.
compare-self-passes = The machine passes: A against itself shows no clear difference. With { $count } pairs a difference of about { $share } can be told from none.
compare-self-fails = The machine does not pass: A seems to take { $change } time than itself (95 %: from { $from } to { $to }). Something changes from run to run; find it before you compare.
compare-losses-alike = Both learn alike: their losses are { $distance } apart, where { $allowed } are allowed.
compare-losses-differ = Do not keep B for its speed: the losses are { $distance } apart, where { $allowed } are allowed; at the end { $a } with A and { $b } with B.
compare-losses-nan = Do not keep B: from { $place } on its loss is no number (NaN or infinite).
compare-losses-own-nan = A's own loss is no number (NaN or infinite) from { $place } on: the losses were not compared.
compare-losses-unknown = Whether B learns as A does is not known: too few losses were printed, or not over the same steps.
compare-at-step = step { $count }
compare-at-sample = sample { $count }
compare-how = { $count ->
    [one] 1 pair of runs
   *[other] { $count } pairs of runs
} in alternating order, { $most } at most.
compare-stalls = Steps of more than three times the median were set aside: { $a } with A, { $b } with B.
compare-stalls-kept = Steps of more than three times the median count, since they are frequent or come back: { $a } with A, { $b } with B.
compare-unsettled = { $count ->
    [one] In 1 run
   *[other] In { $count } runs
} the step time was still changing: let them run for longer.
compare-interrupted = Interrupted: this is from the pairs that were complete.
compare-title-steps = step time
compare-title-whole = time of the program
compare-title-pairs = the pairs
compare-rate = { $samples } samples/s
compare-kept = Kept as { $id }: `whyidle history show { $id }`.

## The history

history-empty = Nothing was kept yet: `whyidle bench -- python train.py` begins.
history-faster = [B faster]
history-slower = [B slower]
history-alike = [alike]
history-unclear = [unclear]

## The table in a file

benchmark-title = Benchmarks
benchmark-date = date (UTC)
benchmark-commit = commit
benchmark-step = step
benchmark-interval = 95 %
benchmark-rate = samples or tokens/s
benchmark-busy = GPU busy
benchmark-peak = peak memory
benchmark-energy = J per step
benchmark-on = on
benchmark-command = command

## What the program says meanwhile

cli-turn-taken = an experiment is under way on { $gpu }: { $who }
cli-turn-cores = the cores of this machine
cli-turn-taken-hint = Wait until it is over: two at once would measure each other.
cli-turn-unlocked = no lock could be made at { $path }: { $reason }
cli-bench-progress = { $seconds } s: { $steps ->
    [one] 1 steady step
   *[other] { $steps } steady steps
}
cli-bench-progress-step = { $seconds } s: { $steps ->
    [one] 1 steady step
   *[other] { $steps } steady steps
}, { $step } each
cli-bench-appended = a row was added to { $path }
cli-bench-unmeasured = { $path }: { $reason }
cli-compare-ran = pair { $pair } of at most { $most }: { $side } took { $time }
cli-compare-failed = { $side } showed nothing to compare: { $reason }
cli-compare-failed-hint = Its output is in { $path }.
cli-compare-what = there is nothing to compare
cli-compare-what-hint = Give two commands, whyidle compare 'python a.py' 'python b.py'; a command and a change, whyidle compare --set --workers=8 -- python train.py; or two numbers of whyidle history.
cli-set-form = --set takes NAME=VALUE, not "{ $value }"
cli-set-not-there = --set: the command has no "{ $name }"
cli-set-not-there-hint = Give the option as it is written, --set --{ $name }={ $value }; then it is added. Or a variable, --set env:NAME=VALUE.
cli-set-open = --set: the command leaves { $name } open, so that A has no value for it
cli-set-open-hint = Write A's value into the command, or give two commands.
cli-history-no-home = there is no home directory to keep the history in
cli-history-no-home-hint = Name a file with --db.
cli-history-unusable = the history { $path } cannot be used: { $reason }
cli-history-foreign = { $path } is a database of another program, no history: nothing was written into it
cli-history-newer = the history { $path } was written by a later version of whyidle
cli-history-damaged = entry { $id } of the history is damaged
cli-history-missing = there is no history at { $path }
cli-history-missing-hint = `whyidle bench --db FILE -- python train.py` begins one; without `--db` the history is that of this user.
cli-history-none = the history holds no { $id }
cli-history-none-hint = `whyidle history` lists what it holds.
cli-history-no-run = { $id } is a comparison, no run
cli-compare-no-steps = { $path } holds no step times
cli-value-share = give a share, as 2% or 0.02
