# The dashboard.

## The first line

top-live = live
top-ended = ended
top-broken = the watch broke off
top-paused = paused
top-playing = { $at } of { $whole } s, { $speed }×
top-window = last { $seconds } s
top-rank = rank { $rank }
top-nothing = nothing sampled yet

## Panels

top-gpus = GPUs
top-ledger = whom the GPU waits for
top-ledger-host = what the main thread waits for
top-stacks = stacks
top-stacks-untimed = stacks (of the whole recording)
top-history = the last { $seconds } s

## The table of GPUs

top-col-gpu = GPU
top-col-busy = busy
top-col-sm = SM
top-col-tensor = tensor
top-col-dram = DRAM
top-col-memory = memory
top-col-power = power
top-col-clock = clock
top-col-throttle = throttle
top-col-program = program
top-throttle-none = no
top-throttle-power = power
top-throttle-heat = heat
top-throttle-hardware = hardware
top-curve-cores = cores

## Whom the GPU waits for

top-waits = waiting for: { $what } { $share }
top-waits-inside = looks busy, but waits inside: { $what }
top-waits-for-nothing = hardly waits for anything
top-wait-data = data
top-wait-host = the host
top-wait-memory = GPU memory
top-wait-compile = the compiler
top-wait-io = saving and writing
top-wait-rank = other ranks
top-wait-pipeline = its neighbours in the pipeline
top-wait-other = something else
top-step = step { $time } · { $found }

## Stacks

top-main = main thread, { $samples ->
    [one] 1 sample
   *[other] { $samples } samples
}
top-main-none = main thread: no stacks
top-workers = { $count ->
    [one] 1 loader worker
   *[other] { $count } loader workers
}
top-workers-busy = { $count ->
    [one] 1 loader worker, { $busy } of a core
   *[other] { $count } loader workers, { $busy } of a core each
}
top-workers-none = no loader workers

## Keys, in the last line

top-key-help = help
top-key-quit = quit
top-key-panel = panel
top-key-choose = choose
top-key-pause = pause
top-key-window = window
top-key-seek = seek
top-key-speed = speed
top-key-zoom = enlarge
top-key-language = 中文

## Help

top-help-title = keys
top-help-quit = quit
top-help-help = show or hide this page
top-help-choose = choose a GPU and the program on it
top-help-panel = the next panel, or the one before
top-help-zoom = let the panel fill the screen
top-help-pause = freeze the picture; the watch goes on
top-help-window = a longer or shorter window to judge
top-help-language = English or Chinese
top-help-suspend = stop; fg goes on
top-help-redraw = draw everything anew
top-help-seek = move by 5 or 30 s (Shift: 30 s)
top-help-ends = go to the beginning or the end
top-help-speed = play slower or faster
top-help-busy = busy: share of the time with something on the GPU; ~ where the driver samples it, as nvidia-smi does, instead of counting.
top-help-ledger = The ledger is that of `whyidle diagnose` for a recording as long as the window.
top-help-absent = –: this machine or this card does not say.

## Errors

cli-top-no-terminal = standard output is no terminal that a dashboard could be drawn on
cli-top-no-terminal-hint = `whyidle top --once` prints one picture as text
cli-top-no-samples = { $dir } holds no samples with times
cli-top-no-samples-hint = record with `whyidle attach PID --out DIR`; `whyidle trace DIR` reads traces
cli-top-nothing = no training program runs on this machine (none that this user may see has loaded PyTorch)
cli-top-nothing-hint = name one, `whyidle top PID`, or play a recording, `whyidle top --replay DIR`
cli-top-failed = the terminal could not be used: { $reason }
cli-top-only-linux-hint = `whyidle top --replay DIR` plays a recording everywhere
