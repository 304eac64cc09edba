# What is said of a program that was watched from outside: verdicts on samples, and the commands around them.

## Where the figures come from

line-working-resident = kernels and collectives
line-rest-host = the program's own work on the host
report-steps-recorded = { $count ->
    [0] step time as recorded
    [one] 1 step timed without a trace
   *[other] { $count } steps timed without a trace
}
report-steps-batches = { $count ->
    [one] 1 batch counted from outside
   *[other] { $count } batches counted from outside
}
report-steps-second = { $count ->
    [0] sightings without times, no steps found
    [one] watched for 1 second, no steps found
   *[other] watched for { $count } seconds, no steps found
}
report-where-a-second-goes = where a second goes
report-where-the-host-goes = what the main thread does
report-no-gpu = no GPU seen
report-no-steps = no steps were found: figures are of each second watched
report-where-a-run-goes = where the { $time } watched went
report-run-visits = { $count } times, every { $period }
report-run-visits-steps = { $count } times, every { $period } (about { $steps } steps)

phase-training = training steps
phase-run-startup = start-up
phase-run-compile = compiling
phase-run-epoch = borders of epochs
phase-run-eval = evaluation
phase-run-checkpoint = checkpoints
phase-run-stuck = nothing moves
phase-unknown = unknown

## The sentence

say-live-healthy = The GPU is busy { $resident } of each { $step } step; hardly anything holds it up. Whether its work is efficient needs a trace.
say-live-healthy-share = The GPU is busy { $resident } of the time; hardly anything holds it up. Whether its work is efficient needs a trace.
say-live-waits = Of each { $step } step, the GPU is busy { $working } and waits { $waiting } { $because }.
say-live-waits-share = The GPU is busy { $working } of the time and waits { $waiting } of it { $because }.
say-live-unseen = The GPU is busy { $working } of the time and waits { $waiting } of it for the host. What the host does meanwhile needs stacks, or a trace.
say-live-ranks = The GPU looks busy { $resident } of the time, but part of that is waiting { $because }.
say-live-shared = The GPU is busy { $resident } of the time, but not for this program alone: another process uses it too, and whose work that is cannot be told.
say-live-host-waits = No GPU was seen: this is the host's side only. Its main thread waits { $waiting } of the time { $because }.
say-live-host-works = No GPU was seen: this is the host's side only. Its main thread hardly waits for anything.
say-live-do = { $change }
say-live-where = It happens in { $place }.
say-live-change = { $change } At best, that brings the step to { $after }; then { $limit }.
say-run-eval = But { $share } of the time goes into evaluation, not into training steps.

because-data-storage = for data: the loader workers wait for storage
because-host-contention = for a processor core: others use the cores that the host needs
because-rank-straggler = for another rank
because-host-gil = for the host, whose main thread waits for the interpreter's lock (GIL) that another thread holds
because-run-epoch = for data: at each epoch the loader workers start anew
because-run-eval = for training to go on: the program evaluates

## Doubts

doubt-live-host-only = There is no GPU to judge by: only the host's own waits are known.
doubt-live-sampled = This card has no activity counters: how busy it is comes from { $count } samples of its utilisation.
doubt-live-gpu-part = The GPU was sampled for { $share } of the watch only.
doubt-live-half = The largest wait explains { $share } of the idle time, close to the half that decides.
doubt-live-no-stacks = Without stacks nobody can say what the main thread waits for.
doubt-live-few = { $count ->
    [one] The main thread was sampled once.
   *[other] The main thread was sampled { $count } times only.
}
doubt-live-kinds = Samples cannot tell launches from values that are read back, nor the kinds of the GPU's work; a trace can.
doubt-live-shared = Another process uses the same GPU: how busy it is for this program alone is not known.
doubt-live-ranks = One rank was watched; what the others do is not known.
doubt-live-damaged = { $count ->
    [one] One value of the recording makes no sense: the file is damaged.
   *[other] { $count } values of the recording make no sense: its files are damaged.
}
doubt-live-no-counters = There are no counters of the process: whether it waits for a core or for its launch queue is not known.
doubt-live-undescribed = The recording does not say how many ranks the job has, nor which process is which.
doubt-live-cut-short = The watch was cut short.

## Evidence

ev-live-main = { $share } of { $samples } samples of the main thread (± { $error })
ev-live-place = { $share } of the main thread's time in { $place }
ev-live-source = { $share } of the main thread's time in { $place }: { $source }
ev-live-sync = { $share } of the main thread's time reads values back or synchronises, in { $place }
ev-live-workers-busy = { $count ->
    [one] the one loader worker uses { $busy } of a core
   *[other] each of { $count } loader workers uses { $busy } of a core
}
ev-live-workers-at = { $share } of the workers' time in { $place }
ev-live-disk = the workers wait for a disk in { $share } of the samples
ev-live-pin = the training process uses { $busy } of a core while its main thread waits: its pin-memory thread is what is slow, not the workers
ev-live-hollow = the GPU is resident { $resident } of the time with { $sm } of its multiprocessors at work
ev-live-peer = GPU { $gpu } is resident { $resident } of the time
ev-live-units = the fp32 units are busy { $fp32 }, the tensor cores { $tensor } of the time
ev-live-recomputes = { $share } of the main thread's samples lie inside activation checkpointing
ev-live-recomputes-memory = { $share } of the main thread's samples lie inside activation checkpointing, at a peak of { $memory } of the GPU's memory
ev-live-thermal = the clock was held down for heat in { $share } of the samples
ev-live-brake = the clock was held down by the hardware in { $share } of the samples
ev-live-contention = the training process gets { $busy } of a core while { $cores } of all cores are taken; its main thread loses its core { $switches } times a second
ev-live-shares = process { $pid } computes on the same GPU
ev-live-shares-memory = process { $pid } computes on the same GPU and holds { $memory } of its memory
ev-run-phase = { $time } of the { $watched } watched
ev-run-recurs = { $time } of the { $watched } watched, { $visits } times, every { $period }

## What to change

fix-live-pin-thread = Send smaller batches to the pin-memory thread: it, not the workers, is what is slow.
fix-live-in-process = Let worker processes load the data: num_workers above 0.
fix-live-persistent = If workers start anew at each epoch: persistent_workers=True.
fix-live-bubble = Use more micro-batches per step.
fix-live-precision = Run forward and loss under bf16 autocast.
fix-host-gil = Move what other Python threads do into a process of its own.
fix-host-gil-at = Move what another thread does in { $function } into a process of its own: it holds the GIL.
fix-gil-process = multiprocessing, or a loader worker: a process has a GIL of its own.
fix-gil-native = Code that releases the GIL (NumPy, torch, Rust tokenizers) may stay in a thread; a loop in Python may not.
fix-gpu-shared = Give the job a GPU of its own.
fix-shared-split = Where jobs must share: MIG slices, or MPS.
fix-run-startup = Make the start cheaper: it is paid at each start, also after a crash.
fix-startup-cache = Keep the compiler's cache between runs (TORCHINDUCTOR_CACHE_DIR), and data and weights on a local disk.
fix-run-epoch = Keep the loader workers over epochs: persistent_workers=True.
fix-epoch-sampler = Or make epochs longer: a sampler that repeats the data set.
fix-run-eval = Evaluate less often, on fewer samples, or beside the training.
fix-eval-batch = Evaluation needs no gradients: under torch.inference_mode() a batch can be several times as large.
fix-run-checkpoint = Save less often, or save asynchronously.
fix-data-storage = Bring the data closer: local disk, larger files, or enough memory for the page cache.
fix-data-storage-pack = Many small random reads are slow on any storage: pack samples into few large files.
fix-host-contention = Give the job cores of its own: fewer workers and threads, or a limit on what runs beside it.
fix-rank-straggler = Look at the rank that the others wait for: watch it, or bring all ranks' traces.
fix-power-throttle = Check cooling and power limit: the hardware holds the clock down.

## The table of instruments (-v)

instrument-gpu-util = nvidia-smi utilisation
instrument-gpu-util-counts = time with any kernel, by windows
instrument-gpu-util-memory = memory utilisation
instrument-gpu-util-memory-counts = time with an access to memory
instrument-gpu-resident = resident
instrument-gpu-resident-counts = time with a kernel, by counters
instrument-gpu-sm = multiprocessors
instrument-gpu-sm-counts = SMs with work
instrument-gpu-warps = warps
instrument-gpu-warps-counts = warps in use, of all
instrument-gpu-tensor = tensor cores
instrument-gpu-tensor-counts = cycles in use
instrument-gpu-fp32 = fp32
instrument-gpu-fp32-counts = cycles in use
instrument-gpu-dram = memory bandwidth
instrument-gpu-dram-counts = bytes moved, of the peak
instrument-gpu-power = power
instrument-gpu-power-counts = of the limit
instrument-gpu-memory = GPU memory
instrument-gpu-memory-counts = the most in use
instrument-gpu-pcie = from the host
instrument-gpu-pcie-counts = bytes over PCIe
instrument-step-working = working share
instrument-step-working-counts = of the step
instrument-cpu-program = CPU, training process
instrument-cpu-program-counts = of one core
instrument-cpu-worker = CPU, loader worker
instrument-cpu-worker-counts = of one core, the mean
instrument-cpu-cores = CPU, all cores
instrument-cpu-cores-counts = of the machine, whoever uses them
instrument-disk-wait = disk wait
instrument-disk-wait-counts = cores that wait for a disk
instrument-disk-read = disk reads
instrument-disk-read-counts = of the program, from storage
stat-live-power = { $power } W of { $limit } W
stat-live-power-alone = { $power } W, limit unknown
stat-live-memory = { $used } of { $all }
stat-live-cpu = own code { $user }, kernel { $system }
stat-live-workers = { $count ->
    [one] 1 worker
   *[other] { $count } workers
}
stat-live-working-traced = from the trace
stat-live-working-sampled = from the GPU's samples
stat-live-why-util = nvidia-smi says { $util }, the card's counters { $resident }: nvidia-smi asks whether any kernel ran within its sampling window, the counters add up the time.
stat-live-why-util-step = nvidia-smi says { $util }, the card's counters { $resident }: nvidia-smi asks whether any kernel ran within a window of up to a second, against a step of { $step }; the counters add up the time.
stat-live-why-hollow = Busy { $busy } of the time, with { $sm } of the multiprocessors at work and { $power } of the power limit: one small kernel at a time, or a collective that waits; busy says that a kernel is there, not how much of the GPU it fills.
stat-live-why-few = Busy { $busy } of the time, with { $sm } of the multiprocessors at work: one small kernel at a time, or a collective that waits.
stat-live-why-cool = Busy { $busy } of the time at { $power } of the power limit: its kernels neither fill the arithmetic units nor the memory bandwidth.
stat-live-why-memory = Memory utilisation says { $time }, memory bandwidth { $bytes }: the one counts time with an access, the other bytes against the peak.
stat-live-why-copies = { $rate } a second arrive from the host while the GPU is busy { $resident } of the time: copies keep neither multiprocessors nor nvidia-smi busy.
stat-live-why-core = A process uses { $one } of a core while all cores together are { $all } busy: Python runs on one core at a time, and the average over cores hides a full one.
stat-live-flat = The busy share hardly changes from sample to sample: no dips.
stat-live-dips = The busy share dips every { $period }: periodic dips point to data, or to something that comes every few steps.
stat-live-irregular = The busy share changes without a period.
stat-live-workers-memory = { $count ->
    [one] 1 loader worker holds
   *[other] { $count } loader workers hold
} { $memory } of memory, shared pages counted in each.
stat-live-host-memory = Memory of the machine: { $used } in use at most ({ $share }).
stat-live-shm = /dev/shm: { $used } in use at most ({ $share }).
stat-live-files = Open files of the training process: { $open } of { $limit } allowed.
stat-live-main = Main thread, { $samples } samples: { $values }
stat-live-do-waits = waiting for workers { $value }
stat-live-do-prepares = preparing data { $value }
stat-live-do-starts = starting workers { $value }
stat-live-do-saves = saving { $value }
stat-live-do-imports = importing { $value }
stat-live-do-compiles = compiling { $value }
stat-live-do-collects = garbage collection { $value }
stat-live-do-gil = waiting for the GIL { $value }
stat-live-do-empties = empty_cache { $value }
stat-live-do-copies = copies { $value }
stat-live-do-syncs = reading back { $value }
stat-live-do-logs = logging { $value }
stat-live-do-communicates = communication { $value }
stat-live-do-evaluates = evaluation { $value }
stat-live-do-optimizes = optimizer { $value }
stat-live-do-backward = backward { $value }
stat-live-do-launches = model { $value }
stat-live-do-user = own functions { $value }
stat-live-do-unknown = unknown { $value }

## What could not be had

note-live-no-gpu = No NVIDIA GPU or driver was found on this machine.
note-live-gpu-vanished = The driver stopped answering while the program was watched: GPU samples end there.
note-live-gpu-failed = The GPUs could not be read: { $detail }
note-live-no-gpm = { $detail } has no activity counters (Hopper and later have them): utilisation is sampled.
note-live-ptrace-scope = Stacks could not be read: kernel.yama.ptrace_scope is { $detail }. Start the program with `whyidle run`, run whyidle as root, or `sysctl kernel.yama.ptrace_scope=0`; in a container, add `--cap-add SYS_PTRACE`.
note-live-other-user = Stacks could not be read: the program belongs to user { $detail }. Run whyidle as that user, or as root.
note-live-stacks-off = Stacks were not wanted: functions cannot be named.
note-live-no-stacks = Stacks could not be read: { $detail }
note-live-no-python = Stacks could not be read: no Python process that trains was seen.
note-live-missing = Something could not be recorded: { $detail }
note-live-trace-no-torch = No trace: the program has not loaded PyTorch.
note-live-trace-old-torch = No trace: PyTorch { $detail } cannot be asked for one safely; 2.10 and later can.
note-live-trace-not-polled = No trace: the program's profiler never asked for instructions. A process that was forked after PyTorch was loaded does not ask.
note-live-trace-not-written = No trace: the request was taken, but nothing was written within { $detail } s. The program may run its own profiler.
note-live-trace-ended = No trace: the program ended before one was whole.
note-live-trace-off = No trace was wanted.
note-live-rank = { $ranks } ranks were watched. Rank { $rank } is judged: its GPU is idle most, and the others wait for it inside collectives, where their GPUs look busy.
note-live-ended = The program ended after { $time } of watching: the verdict is on what was seen until then.
note-live-cut-short = The watch was interrupted after { $time }: the verdict is on what was seen until then.
note-live-memory-tight = { $share } of the machine's memory is in use: the system may end a loader worker, or the program.
note-live-shm-tight = { $share } of /dev/shm is in use: loader workers hand batches over through it and end with a bus error when it is full. In a container: --shm-size or --ipc=host.
note-live-files-tight = The training process has { $share } of the files open that it may: raise `ulimit -n`.
note-live-undescribed = The recording's description (recording.json) makes no sense: the verdict rests on its tables alone.
note-live-unread = { $name } is there but is no file: nothing of it was read.
note-live-dropped = { $count ->
    [one] 1 line of the recording was cut off or made no sense
   *[other] { $count } lines of the recording were cut off or made no sense
}
note-live-hollow = nvidia-smi shows { $util }, but only { $sm } of the multiprocessors have work: utilisation counts whether a kernel is there, not how much of the GPU it fills.
note-trace-and-samples = The trace shows the GPU busy { $trace } of the step, the samples of the whole run { $samples } (idle { $idle }): the traced window is not typical of the run.
note-trace-refused = The trace carries no verdict ({ $reason }); this one rests on the samples.

## No verdict

refusal-no-samples = There is neither a trace nor samples of a GPU or of a program's stacks.
refusal-no-samples-hint = Record with `whyidle attach PID` or `whyidle run -- COMMAND`, or give a directory with a profiler trace.
refusal-several-programs = This is a recording of { $count } programs that have nothing to do with each other: { $pids }.
refusal-several-programs-hint = Pick one: `{ $command }`
refusal-too-few-samples = The program was watched too briefly to say anything about shares of its time.
refusal-too-few-samples-hint = Watch it longer: `--for 30s`. Stacks at the default rate take some ten seconds.
refusal-ended = The program ended after { $time }: too little was seen of it for a verdict.
refusal-ended-hint = Stacks at the default rate take some ten seconds of training. `whyidle run -- COMMAND` watches a program from its start and shows how it ends.
refusal-ended-hint-run = Stacks at the default rate take some ten seconds of training: give the program more steps.
refusal-stuck = The program stands still: for { $time } its main thread has not moved from { $place }, and nothing it started uses CPU or moves data.
refusal-stuck-hint = Look at all threads (`py-spy dump --pid PID`): a lock, a queue nobody fills, a collective that one rank does not reach, a worker that died.
refusal-starting-up = The program is still starting up: { $time } were watched, and no training step was among them. Its main thread was mostly in { $place }.
refusal-starting-up-hint = Watch it once it trains, or longer: `--for 5m`.
refusal-no-loop = No training loop was seen: no forward pass, backward pass, optimizer or loader. The main thread was mostly in { $place }.
refusal-no-loop-anywhere = No training loop was seen: no forward pass, backward pass, optimizer or loader.
refusal-no-loop-hint = Give the process that trains (`whyidle` alone lists them), or watch it once it trains.
refusal-idle-process = Neither the process ({ $busy } of a core) nor its GPU does anything, and without stacks nobody can say what it waits for.
refusal-step-timed = A step of { $given } contradicts the recording: the program itself timed { $measured } a step.
refusal-step-batches = A step of { $given } contradicts the recording: its batches come every { $measured }, and no step takes less than one batch.
refusal-step-hint = Give the mean time of one optimizer step, without a profiler; or leave --step-ms out.
refusal-no-gpu-samples = The main thread hardly waits for anything, and there are no samples of the GPU: whether it waits is not known.
refusal-no-gpu-ranks = There are no samples of the GPUs: which of the ranks the others wait for is not known.
refusal-no-gpu-samples-hint = Record where NVML can be read (`whyidle check` says what is in the way), or bring a trace.

## What the commands say

cli-live-no-process = there is no process { $pid }
cli-live-no-training = process { $pid } and what it started have not loaded PyTorch
cli-live-zombie = process { $pid } has ended already: it is a zombie, kept until its parent asks for its status
cli-live-no-such-gpu = there is no GPU { $gpu } that could be sampled
cli-live-gpus = GPUs of this machine: { $gpus }
cli-live-no-gpus = no GPU of this machine can be read; `whyidle check` says what is in the way
cli-live-list = `whyidle` alone lists the training programs of this machine
cli-live-watching = watching process { $pid } ({ $command }){ $ranks ->
    [one] {""}
   *[other] {" "}and { $ranks } ranks in all
}, { $workers ->
    [0] no loader workers
    [one] 1 loader worker
   *[other] { $workers } loader workers
}, for { $seconds } s; Ctrl-C ends it early
cli-live-progress = { $seconds } of about { $whole } s, { $samples ->
    [one] 1 sample
   *[other] { $samples } samples
} of the main thread
cli-live-only-linux = programs can be watched on Linux only; recordings and traces are read everywhere
cli-live-other-user = process { $pid } belongs to user { $detail }: it cannot be watched from here
cli-live-no-permission = process { $pid } cannot be watched from here (kernel.yama.ptrace_scope { $detail })
cli-live-permission-hint = run whyidle as the same user or as root; in a container, add --cap-add SYS_PTRACE; or start the program with `whyidle run`
cli-live-kept = the recording is in { $dir }
cli-live-unwritten = the recording could not be written to { $dir }: { $reason }
cli-live-not-empty = { $dir } is not empty: what lies there would be taken for a part of this recording
cli-live-not-empty-hint = give a new directory, or empty this one
io-not-found = there is no such file or directory
io-is-a-directory = it is a directory
io-not-permitted = permission denied
io-not-a-directory = a file is in the way
io-full = no space is left
io-read-only = the file system is read-only
io-other = { $reason }
cli-live-not-started = { $program } could not be started: { $reason }
cli-live-goes-on = the program goes on; whyidle ends with it
