# The page that `--report` writes: its headings, its definitions, the words of its scripts.

## The frame

html-skip = To the answer
html-language = Language
html-theme = Theme
html-theme-auto = as the system
html-theme-light = light
html-theme-dark = dark
html-made-by = Made by whyidle { $version }. Nothing on this page was fetched, and nothing of it is sent anywhere.
html-no-script = Pictures need JavaScript; sentences, figures and tables do not.

## Headings

html-title-change = What to change
html-title-findings = Findings
html-title-timeline = One step in time
html-title-ranks = Ranks
html-title-signals = Signals over time
html-title-stacks = Python stacks
html-title-steps = Steps
html-title-tables = Kernels, operators, gaps
html-title-trust = How far to trust it
html-title-next = What next
html-title-definitions = What each figure counts
html-title-fields = Every field
html-title-memory = GPU memory
html-title-machine = The machine
html-title-ncu = Kernels that Nsight Compute measured
html-title-flight = Collectives, by flight recorder and NCCL's log
html-title-evidence = What was recorded
html-title-pairs = The pairs
html-title-series = The steps of each side
html-title-history = The runs
html-title-effect = The effect, with its interval
html-title-attempts = What each change did
html-title-fed = A step with each feed
html-title-gate = The change, and what is allowed
html-title-jobs = GPU time without a kernel, by job
html-title-lines = Where the difference lies
html-effect-of-b = B against A
html-gate-change = new against baseline
html-interval = 95 %: { $low } to { $high }
html-unclear = no more than chance explains
html-sweep-chosen = this one
html-title-inputs = What was read

## The head

html-fact-step = a step takes
html-fact-working = the GPU works
html-fact-resident = anything on the GPU
html-fact-confidence = confidence
html-true-step = step without profiler
html-traced-step = traced step { $number }
html-today = today

## The ledger

html-column-line = line
html-column-interval = interval
html-column-traced = in the trace, per step
html-ledger-note = Lines exclude each other and add up to the step. A long bar is a long time; all bars have one scale.

## Findings

html-ladder-note = One change after the other: the step that each is expected to leave. The thin line is the interval.
html-expected-step = expected step
html-why = Why
html-cause = What it is
html-copy = Copy

## The timeline

html-timeline-of = Step { $step } of the trace on GPU { $gpu }, { $time }: the traced step nearest the median, with the profiler's cost in it.
html-timeline-how = Drag or use the arrow keys to move, the wheel or + and − to zoom, 0 to see all, n and p for the next and the previous gap. Click a gap for what the GPU waited for.
html-timeline-label = Timeline of one step: what the GPU did, whom it waited for, and what the host did meanwhile
html-timeline-none = The trace came from standard input and cannot be read again for a timeline: give a file.
html-timeline-merged = Where there is more than can be seen, neighbours are drawn as one block that says how many it stands for; the height that a block leaves free is its pauses. Gaps of a thousandth of the step or more are always drawn by themselves.
html-zoom-in = Closer
html-zoom-out = Farther
html-zoom-all = All
html-gap-next = Next gap
html-gap-previous = Previous gap
html-gap-longest = Longest gap
html-gap-hint = Click a gap, or choose one of the buttons.

## The other pictures

html-signals-note = Each point is the mean of a column of time; a silence of the sampler is a hole in the line.
html-cores-note = Cores that the training process and its loader workers used.
html-stacks-note = Width is how often a frame was seen. Click a frame, or move with the arrow keys and press Enter, to see it alone.
html-stacks-label = Stacks as an icicle: outer frames above, inner ones below
html-stacks-reset = Show all
html-ranks-note = Share of each rank's step on each line. The darker, the more.
html-steps-note = Left in the order of the run, right how often each length came.
html-outliers = { $count ->
    [one] 1 step takes more than 1.5 times the median: { $named }.
   *[other] { $count } steps take more than 1.5 times the median: { $named }.
}
html-outlier = { $number } ({ $time })
html-outliers-period = They come back every { $period } steps.
html-memory-parts = What makes up the peak
html-memory-time = Memory over time

## Trust

html-severity-loss = lost
html-severity-suspect = doubtful
html-severity-info = for information

## Next

html-next-command = The one command to type next
html-again-command = This page anew
html-perfetto = The whole trace, explained, in Perfetto: write it with
html-perfetto-open = Then open the file there; Perfetto reads it in your browser and uploads nothing:

## Every field

html-fields-note = The verdict as --format json prints it (schema whyidle.verdict/1). A name shows its definition when you point at it.

## What each figure counts

html-term-step = step
html-def-step = Wall time from one optimizer update to the next, without a profiler. All shares are of this step unless a line says otherwise.
html-term-basis = where the step time comes from
html-def-basis = Given with --step-ms; measured, by the recording's own step times; estimated from the trace, the profiler's cost removed; or as traced, where none of these is possible.
html-term-interval = interval
html-def-interval = The range in which the figure is expected to lie. No interval is shown where both ends read alike.
html-term-working = the GPU works
html-def-working = Union of the time in which a kernel or a copy within the GPU ran, collectives left out. A union, not a sum: two kernels at once count once.
html-term-resident = anything on the GPU
html-def-resident = Union of all that ran on the GPU, collectives and copies too. This is what nvidia-smi's GPU-Util sees.
html-term-ledger = ledger line
html-def-ledger = Every nanosecond of a step on exactly one line: work by its kind; waiting by whom the GPU waited for; the rest. A gap is charged to what the host did in it, by the launch that ended it.
html-term-share = share
html-def-share = Time on the line, divided by the step without profiler.
html-term-traced = in the trace
html-def-traced = Time on the line in the traced steps, divided by their number. The profiler's cost is in it.
html-term-waiting = the GPU waits
html-def-waiting = Nothing ran on the GPU, or only a copy or a collective that no work hides.
html-term-rest = the rest
html-def-rest = Pauses between queued kernels, the profiler itself, and what nothing explains.
html-term-cost = costs
html-def-cost = What the cause takes of each step without profiler.
html-term-after = step after a change
html-def-after = The step that is left when the change is made, for the samples of today's step.
html-term-method = replay, model, upper limit
html-def-method = Replay: the trace's dependencies played again without the wait. Model: a stated model of the kernels. Upper limit: what the wait costs, down to the next limit; the true gain is at most that.
html-term-confidence = confidence
html-def-confidence = High: sound. Medium: sound, with an estimate in it. Low: a decision lies within 10 % of its threshold, or evidence is missing.
html-term-replay = replay error, slack
html-def-replay = How far the replayed step is from the traced one without any slack, and how much of the time no dependency explains. Above 10 % nothing is predicted.
html-term-ranks = ranks: last, waits, caused, own pace
html-def-ranks = How often a rank came last to a collective; how long it waits for others and makes others wait, where no work hides that, per step; and the step it would take if it never waited.
html-term-signals = signals
html-def-signals = The GPU's own counters (SM, tensor cores, DRAM, power) as shares of their highest value; CPU time of processes in cores.

## Words of the scripts

html-js-copied = Copied
html-js-copy-failed = Press Ctrl+C to copy
html-js-device = GPU
html-js-waited = Gap: { $line }
html-js-host = The host was in: { $events }
html-js-nothing-recorded = nothing that was recorded
html-js-step-number = step
html-js-step-time = step time
html-js-steps = steps
html-js-seconds = s
html-js-share = share
html-js-cores = cores
html-js-allocated = allocated
html-js-reserved = reserved
html-js-pair = pair
html-js-samples = samples
html-js-run = run
html-js-outlier = stands out
html-js-merged = several
html-js-no-match = There is no gap in this step.
html-js-value = value
html-js-chosen = this one
html-js-plateau = as good as the best
html-js-rate = samples per second
html-js-stream = stream { $number }
html-js-thread = host: { $name }
html-js-count = { $count } in { $time }
html-js-idle = of which { $time } idle ({ $line })
html-js-gap-of = { $time }, { $share } of this step, from { $at }
html-js-ended-by = Ended by { $name }
html-js-launched-by = launched by { $name }
html-js-from = from { $name }
html-js-view = { $from } to { $to }

## Said while a page is written

cli-report-no-stream = a page cannot go to standard output: the verdict is printed there
cli-report-no-stream-hint = name a file
cli-report-not-opened = { $path } could not be opened in a browser: { $reason }

## What `serve` shows

html-site-title = Recordings and runs
html-site-programs = Running now
html-site-no-programs = No training program runs on this machine, or none that may be seen.
html-site-recordings = Recordings
html-site-no-recordings = Nothing here that whyidle reads.
html-site-more = There is more than is listed: serve a folder further down.
html-site-history = History
html-site-not-found = There is nothing of that name
html-site-busy = { $count } programs are being watched already
html-site-busy-hint = Close the page of one of them.
html-live-title = process { $pid }
html-live-begins = Watching …
html-live-too-early = Nothing to say yet
html-live-seen = From the last { $time }.
html-live-ended = The program ended.
html-live-broken = The watch broke off.

## serve

cli-serve-at = { $address } – Ctrl+C ends it
cli-serve-no-folder = { $path } cannot be served: { $reason }
cli-report-no-page-there = { $path } is no page: it is not replaced
