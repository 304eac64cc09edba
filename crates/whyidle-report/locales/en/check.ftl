# The quick look, the triage by symptom, and the list of programs.

## The quick look

mark-ok = ok
mark-suspect = suspect
mark-bad = bad
look-title = The quick look: settings that are known to cost speed
look-no-driver = No NVIDIA driver can be used here ({ $reason }). In a container, start it with GPU access (--gpus all, or the device plugin).
look-driver = Driver { $driver } serves CUDA { $cuda }.
look-cuda = Driver { $driver } serves CUDA { $cuda }; PyTorch was built for { $built }.
look-cuda-older = Driver { $driver } serves CUDA { $cuda } only, but PyTorch was built for { $built }: update the driver, or install a PyTorch for an older CUDA.
look-cpu-build = PyTorch { $torch } has no CUDA part: it computes on the CPU. Install a CUDA build.
look-power = GPU { $gpu }: power limit { $limit } W of { $default } W.
look-power-limited = GPU { $gpu }: the power limit is { $limit } W, below the card's { $default } W: clocks under load are lower.
look-pcie = GPU { $gpu }: PCIe { $now }, at most { $most }.
look-pcie-narrow = GPU { $gpu }: PCIe { $now }, although card and slot allow { $most }: copies are slower. Check the slot and the riser.
look-shared-card = GPU { $gpu } is used by { $count } processes ({ $pids }): they share its time and memory.
look-shm = /dev/shm has { $free } GiB free of { $all } GiB.
look-shm-small = /dev/shm holds { $all } GiB only: loader workers pass tensors on through it. In Docker, add --shm-size=16g or --ipc=host.
look-shm-full = /dev/shm has { $free } GiB left of { $all } GiB: loader workers fail when it is full.
look-memory = { $free } GiB of { $all } GiB memory are free.
look-memory-low = Only { $free } GiB of { $all } GiB memory are free: the page cache shrinks and data is read again.
look-cores = { $cores ->
    [one] 1 core
   *[other] { $cores } cores
} for { $ranks ->
    [one] 1 rank
   *[other] { $ranks } ranks
} with { $workers ->
    [0] no loader workers
    [one] 1 loader worker
   *[other] { $workers } loader workers each
}.
look-cores-few = { $cores ->
    [one] 1 core
   *[other] { $cores } cores
} for { $ranks ->
    [one] 1 rank
   *[other] { $ranks } ranks
} with { $workers ->
    [0] no loader workers
    [one] 1 loader worker
   *[other] { $workers } loader workers each
}: they compete. Fewer workers may be faster.
look-files = Up to { $limit } open files.
look-files-few = Up to { $limit } open files only: many workers with many tensors on their way may run out. ulimit -n 65536.
look-storage = It runs in { $place } ({ $kind }).
look-storage-far = It runs in { $place }, on { $kind }: if the data lies there too, small random reads are slow. Copy it to a local disk, or pack it.
look-ranks-share = { $ranks } ranks drive { $cards } card(s): set the device from LOCAL_RANK.
look-env-blocking = { $name }={ $value }: every launch waits for the one before. For debugging only.
look-env-no-caching = { $name }={ $value }: every tensor asks the driver for memory.
look-env-no-gpu = { $name }={ $value }: the program sees no GPU.
look-env-connections = { $name }={ $value }: helps some launch-bound programs, and keeps communication from overlapping in others.
look-env-nccl = { $name }={ $value }: a fast path between GPUs is switched off.
look-env-nccl-debug = { $name }={ $value }: NCCL writes much into the log.
look-stacks = Its Python stacks can be read.
look-stacks-not = Its Python stacks cannot be read ({ $reason } { $detail }): run whyidle as the same user or as root; in a container, add --cap-add SYS_PTRACE; or sysctl kernel.yama.ptrace_scope=0.
look-gpu-not-given = This kernel has the NVIDIA driver, but no GPU device is visible here ({ $reason }): give the container access (--gpus all, or the device plugin).
look-no-library = GPU devices are here, but NVIDIA's library cannot be used ({ $reason }): reinstall the driver, or start the container with the NVIDIA runtime.
look-no-driver-container = No NVIDIA driver can be used in this container ({ $reason }). Start it with GPU access (--gpus all, or the device plugin), on a machine with a driver.
look-clock = GPU { $gpu }: clocks up to { $most } MHz.
look-clock-set = GPU { $gpu }: the clock is set to { $set } MHz, the card allows { $most } MHz: nvidia-smi -rac undoes it.
look-clock-held = GPU { $gpu }: heat or the hardware holds the clock down now: check cooling and power supply.
look-pcie-slow = GPU { $gpu } is in use at PCIe { $now }, although { $most } is possible: copies are slower. Check the BIOS and power management.
look-p2p = { $gpus } GPUs read each other's memory directly; { $nvlink } of { $pairs } pairs over NVLink.
look-p2p-not = These GPUs cannot read each other's memory ({ $pairs }): transfers between ranks pass through the host. Check IOMMU and ACS, or the card's kind.
look-p2p-far = These GPUs sit on different sockets ({ $pairs }): transfers cross the link between the processors.
look-nvlink-down = GPU { $gpu } has { $active } active NVLinks, the others have { $most }: nvidia-smi nvlink -s; reset the card, or have it looked at.
look-visible = CUDA_VISIBLE_DEVICES={ $value }: the program's GPU 0 is GPU { $first } of this machine.
look-visible-missing = CUDA_VISIBLE_DEVICES={ $value }: there is no GPU { $first } ({ $count } GPUs here); CUDA ignores it and all that follow.
look-threads-many = { $ranks ->
    [one] 1 rank
   *[other] { $ranks } ranks
} with { $threads } threads each on { $cores ->
    [one] 1 core
   *[other] { $cores } cores
}: they compete. Set OMP_NUM_THREADS to the cores that each rank has, or less.
look-threads-unset = OMP_NUM_THREADS is not set: each of { $ranks } ranks starts { $cores } threads. torchrun sets 1; a few are often better.
look-processes-few = Up to { $limit } processes and threads only: many workers may not start. ulimit -u 65536.
look-locked-few = Up to { $limit } KiB of locked memory only: RDMA needs more. ulimit -l unlimited; in Docker, --ulimit memlock=-1.
look-storage-turns = It runs in { $place } ({ $kind }), on a disk that turns: small random reads are slow. Copy the data to an SSD, or pack it.
look-storage-full = { $place } has { $free } GiB left: saving a checkpoint may fail.
look-env-nccl-blocking = { $name }={ $value }: the host waits for every collective.
look-env-nccl-pinned = { $name }={ $value }: replaces NCCL's own choice; measure without it.
look-env-dist-debug = { $name }={ $value }: every collective is checked on all ranks. For debugging only.
look-env-tf32 = { $name }={ $value }: TF32 is off; fp32 matrices run at a fraction of the speed.
look-env-no-compile = { $name }={ $value }: torch.compile does nothing.
look-env-debug = { $name }={ $value }: a debugging aid that slows the host.
look-env-deterministic = { $name }={ $value }: set for exact repetition; deterministic algorithms are slower.
look-source-anomaly = { $place } switches anomaly detection on: every operation is checked. For debugging only.
look-source-deterministic = { $place } asks for deterministic algorithms: some are much slower.

## Triage by symptom

mark-unknown = –
symptom-title = Triage by symptom: what the instruments show, and what it points to
symptom-not = { $name }: no. { $measured }
symptom-seen = { $name }: { $measured } { $points } → { $next }
symptom-not-measured = { $name }: { $measured }
symptom-util-zero = GPU at 0 %
symptom-swinging = GPU swings
symptom-flat-low = GPU flat and low
symptom-cpu-full = CPU full
symptom-memory-full = GPU memory full
symptom-ranks-uneven = Ranks uneven
symptom-no-gpu = no GPU was sampled.
symptom-few-samples = too few samples; watch longer.
symptom-no-process = the process was not sampled.
symptom-no-memory = its memory was not sampled.
symptom-one-rank = one rank, or only one was watched.
symptom-busy-mean = Busy { $mean } on average.
symptom-busy-ends = Mostly { $low } to { $high } ({ $count } samples, one every { $every }).
symptom-busy-level = Busy { $mean } on average, mostly { $low } to { $high }.
symptom-zero-starts = The program still imports its modules.
symptom-zero-compiles = The program compiles.
symptom-zero-data = The main thread waits for the loader all the time: it is blocked, or very slow.
symptom-zero-stuck = The program uses no processor either: it is stuck, in a lock or a collective; look at its stacks.
symptom-zero-elsewhere = The program works elsewhere: on the CPU, or on another GPU.
symptom-swing = It is fed in bursts: mostly data, or a pause that comes back.
symptom-swing-data = The main thread waits for data { $share } of the time: it is fed in bursts.
symptom-swing-pause = The main thread waits for data only { $share } of the time: a pause that comes back, as saving, logging, or garbage collection.
symptom-flat-data = The main thread waits for data { $share } of the time, in steps shorter than the pace of sampling.
symptom-flat-launch = Launches are too slow for it, or kernels too small, or values are read back: a trace tells which.
symptom-flat-ranks = Launches, or communication between the ranks: a trace tells which.
symptom-cpu-own = The training process uses { $own } cores.
symptom-cpu-machine = The training process uses { $own } cores; all cores together are busy { $machine }.
symptom-cpu-workers = The training process uses { $own } cores, each of { $count } workers { $busy } of one; all cores together are busy { $machine }.
symptom-cpu-workers-alone = The training process uses { $own } cores, each of { $count } workers { $busy } of one.
symptom-cpu-points-workers = The workers never pause: loading or pre-processing is the limit.
symptom-cpu-points-fed = The GPU is kept busy all the same: nothing waits for it.
symptom-cpu-points-machine = No core is free: workers, threads and other programs compete.
symptom-memory = { $used } of { $all } ({ $share }).
symptom-memory-points = Keep 10 to 15 % free: a longer batch fails, and the allocator may already give back and ask again.
symptom-memory-points-idle = Full memory is no full GPU: reserved memory may be cache; a smaller share kept free fails on a longer batch.
symptom-rank = { $rank }: { $share }
symptom-ranks = Busy, by rank: { $each }.
symptom-ranks-points = The others wait for rank { $rank } inside collectives, where they look busy: look at that one.

## The list of programs

list-title = Training programs on this machine
list-nothing = No training program runs on this machine (none that this user may see has loaded PyTorch).
list-program = whyidle attach { $pid } # { $about }
list-job = whyidle attach { $pid } # all { $ranks } ranks that it started
list-gpus = GPU { $gpus }
list-rank = rank { $rank }

## Errors

cli-check-no-samples = { $dir } holds no samples of a program
