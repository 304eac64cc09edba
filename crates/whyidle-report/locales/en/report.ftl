# What stands around the figures: headings, columns, the tail of the screen.

## What was looked at

report-unnamed-gpu = GPU (not named in the trace)
report-ranks = { $ranks ->
    [one] 1 rank
   *[other] { $ranks } ranks
}
report-ranks-of = { $ranks } of { $world } ranks
report-rank-shown = rank { $rank } shown
report-steps-profiler-step = { $count ->
    [one] 1 whole step in the trace
   *[other] { $count } whole steps in the trace
}
report-steps-optimizer-step = { $count ->
    [one] 1 whole step, found by optimizer updates
   *[other] { $count } whole steps, found by optimizer updates
}
report-steps-repetition = { $count ->
    [one] 1 step, found by repeating launches
   *[other] { $count } steps, found by repeating launches
}
report-steps-window = no steps found: the whole window counts as one
report-input = { $path }: { $count ->
    [one] 1 event
   *[other] { $count } events
}

## Where a step goes

report-where-a-step-goes = where a step goes
report-gpu-working = GPU working
report-everything-else = everything else
report-group-working = the GPU works
report-group-waiting = the GPU waits
report-group-rest = the rest
report-basis-and-traced = { $basis }; the trace itself shows { $traced }
report-ranks-title = ranks
report-rank-line = rank { $rank } · step { $step } · working { $working }
report-more-ranks = { $count ->
    [one] 1 more rank: -v
   *[other] { $count } more ranks: -v
}

## What to change

report-what-to-change = what to change
report-step = step
report-saved = saved
report-costs = costs { $time } ({ $share })
report-no-gain = gain not known
report-finding-line = step { $step } · saves { $saved } · { $how }
report-more-findings = { $count ->
    [one] 1 more finding: -v
   *[other] { $count } more findings: -v
}
report-on-rank = { $what }, on rank { $rank }
report-at-place = { $text } ({ $place })
report-next-limit = Next limit: { $limit }.
report-then = then { $what }
report-instead = instead: { $what }
report-in-this-order = in this order

## What was asked for

report-what-if = what if
report-critical-path = critical path
report-critical-length = of each replayed step ({ $time }): only what lies on it makes the step longer
report-critical-length-other = of each replayed step ({ $time }; what is missing to the step of { $step } is not in the replay): only what lies on it makes the step longer
report-critical-names = on it, among others
path-gpu = GPU, kernels
path-communication = GPU, collectives
path-copy = GPU, copies from and to the host
path-host = host: launching, Python, synchronising
path-loader = host: waiting for data
path-launch = from a launch to the start of its kernel
path-pause = between kernels

## The tail

report-key-confidence = confidence
report-key-evidence = evidence
report-key-next = next
report-key-hint = what to do
report-confidence-because = { $confidence }: { $doubts }
report-replay = Replay meets the traced steps within { $error }; { $slack } of them is slack that no dependency explains.
report-replay-unusable = Replay misses the traced step by { $error }: no prediction is made from it.
report-no-verdict = No verdict: the evidence does not carry one.

## Tables of -v

report-traced-steps = traced steps
report-step-spread = { $count ->
    [one] 1 step (number { $first }): { $median }.
   *[other] { $count } steps from number { $first } on: shortest { $shortest }, median { $median }, longest { $longest }.
}
report-step-host = On the host a step's mark lasts { $span }; the host ends it { $ahead } ahead of the GPU.
report-kernels = kernels, per traced step
report-operators = operators by their GPU time, per traced step
report-modules = modules by their GPU time, per traced step
report-gaps = longest gaps on the GPU
report-instruments = what each instrument says
report-instruments-gpu = what each instrument says, GPU { $gpu }
report-instrument-detail = { $counts }: { $detail }
report-per-second = { $bytes }/s
report-column-instrument = instrument
report-column-says = says
report-column-counts = what it counts
report-statistics = figures
report-column-time = time
report-column-count = count
report-column-longest = longest
report-column-kind = kind
report-column-name = name
report-more-rows = { $count ->
    [one] 1 more in the JSON report
   *[other] { $count } more in the JSON report
}

## Markdown

report-column-share = share
report-column-detail = detail
report-column-how = how
report-column-why = why
report-input-title = inputs

## A cause's page

report-page-what = What it is
report-page-seen = How whyidle recognises it
report-page-remedy = What to change
report-page-gain = How its gain is predicted
report-page-what-if = Try it: { $command }
report-page-traps = Traps
