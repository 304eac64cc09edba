# The gate: new runs held against a baseline.

gate-what-step = time per step
gate-what-sample = time per sample
gate-what-whole = time in all
gate-what-samples = throughput in samples
gate-what-tokens = throughput in tokens
gate-what-memory = peak memory of tensors
gate-what-energy = energy per step
gate-within = Within the limit: { $change } { $what } than the baseline (95 %: from { $from } to { $to }), where { $allowed } is allowed.
gate-regressed = Regression: { $change } { $what } than the baseline (95 %: from { $from } to { $to }), where { $allowed } is allowed.
gate-interval = Cannot tell: { $change } { $what } than the baseline, but it may be anything from { $from } to { $to } (95 %), and what is allowed, { $allowed }, lies in between.
gate-more-runs = About { $count } runs on each side would tell, if they differ as much as these (estimated): --runs { $count }, and a baseline of as many.
gate-too-near = It is too near the limit for more runs to help; another limit would.
gate-few-runs = Cannot tell: with one run on each side nothing says how much runs differ by themselves. Measure several: --runs 5, or a baseline of several runs.
gate-mixed = Cannot tell: the steps of the baseline and of the new runs were not told in the same way.
gate-machine = Not judged: the baseline was measured on another machine. Measure it on this one, or judge all the same with --anyway.
gate-no-baseline = Cannot tell: the baseline does not say this: { $what }.
gate-no-new = Cannot tell: of the new runs, not every one says this: { $what }.
gate-interrupted = Cannot tell: interrupted before all runs were over.
gate-failed = Cannot tell: { $reason }
gate-nothing-seen = The program showed nothing to measure.
gate-losses-nan = Regression: from { $place } on the loss of the new runs is no number (NaN or infinite).
gate-losses-differ = Regression: the new runs learn otherwise. Their losses are { $distance } apart from the baseline's, where { $allowed } are allowed; at the end { $a } in the baseline and { $b } now.
gate-losses-alike = Both learn alike: their losses are { $distance } apart, where { $allowed } are allowed.
gate-losses-apart = The losses are { $distance } apart; whether training differs from itself as much, single runs do not tell.
gate-losses-own = The baseline's own loss is no number (NaN or infinite): losses were not compared.
gate-losses-unknown = Losses were not compared: too few are known, or not over the same steps.
gate-scatter = Runs differ from each other by { $scatter } (standard deviation); the interval comes from that.
gate-scatter-borrowed = Runs differ from each other by { $scatter } (standard deviation of the new ones; the baseline is one run, taken to scatter alike).
gate-differences = Beside the commit, this differs: { $list }.
gate-other-command = The command is not that of the baseline.
gate-old = The baseline was measured { $age } earlier: what changed on the machine since then is in no interval. `whyidle compare` runs both in pairs.
gate-hours = { $count ->
    [one] 1 hour
   *[other] { $count } hours
}
gate-days = { $count } days
gate-baseline = baseline
gate-new = now
gate-runs = { $count ->
    [one] 1 run
   *[other] { $count } runs
}
gate-token-rate = { $tokens } tokens/s
gate-title-runs = the runs
gate-title-within = whyidle: within the limit
gate-title-regressed = whyidle: regression
gate-title-unclear = whyidle: cannot tell

## What the program says meanwhile

cli-gate-no-ref = the baseline "{ $ref }" is no number of the history, no file, and no commit of this repository
cli-gate-no-runs = the history holds no run of this command at { $ref } ({ $commit })
cli-gate-no-runs-hint = It holds runs of other commands there: { $command } was asked for. `whyidle history` lists them.
cli-gate-no-runs-measure = Measure it there: git checkout { $ref }, then whyidle gate --save baseline.json -- { $command }; and give --baseline baseline.json here.
cli-gate-no-last = the history holds no run yet
cli-gate-failed-run = { $ref }: this run failed or was interrupted, and measures nothing
cli-gate-file = { $path } is no baseline: { $reason }
cli-gate-file-hint = whyidle gate --save FILE writes one, and whyidle bench --format json.
cli-gate-file-json = it is no JSON from line { $line } on
cli-gate-file-schema = it is a document of { $schema }
cli-gate-file-other = it is no document of a run
cli-gate-file-damaged = a run in it is damaged: { $reason }
cli-gate-file-empty = it holds no run
cli-gate-file-many = it holds more than { $count } runs
cli-gate-file-large = it is too large
cli-gate-ran = run { $run } of { $most }: { $time }
cli-gate-saved = { $count ->
    [one] 1 run was
   *[other] { $count } runs were
} written to { $path }
cli-gate-no-run = --run takes a number of the history or last, not "{ $value }"
cli-gate-no-baseline-there = { $path } is there and is no baseline: nothing was overwritten
cli-gate-no-page = without --baseline nothing is judged, and there is no page to write
