# Facts of a machine, as its tools print them, and what each file of logs gave.

machine-head = { $count ->
    [one] 1 GPU
   *[other] { $count } GPUs
}
machine-driver = driver { $version }
machine-fine = Nothing in the settings and links of this machine holds its GPUs back.
machine-nothing = These files do not say what could hold the GPUs of this machine back: clocks, limits and what held them down.
machine-no-verdict = No verdict on a program: { $reason }

## Facts. $gpu is the physical number.

machine-throttled = GPU { $gpu } holds its clocks down: { $reasons }.
machine-bit-slowdown = hardware slow-down
machine-bit-thermal = temperature
machine-bit-thermal-hardware = temperature (hardware)
machine-bit-brake = the power brake
machine-limit-lowered = GPU { $gpu } may draw { $limit } W, though it is made for { $default } W.
machine-was-throttled = GPU { $gpu } held its clocks down for { $time } by temperature or the power brake since its driver was loaded; when, is not told.
machine-shared = { $count } processes compute on GPU { $gpu }: { $processes }.
machine-slow-links = { $pairs } of { $all } pairs of GPUs have no NVLink; { $a } and { $b } meet over { $joined }.
machine-joined-nvlink = NVLink
machine-joined-pix = a PCIe bridge
machine-joined-pxb = several PCIe bridges
machine-joined-phb = the CPU's PCIe host bridge
machine-joined-node = PCIe host bridges of one NUMA node
machine-joined-sys = the link between NUMA nodes
machine-all-nvlink = { $pairs ->
    [one] The pair of GPUs is joined by NVLink
   *[other] All { $pairs } pairs of GPUs are joined by NVLink
}, { $links ->
    [one] 1 link
   *[other] { $links } links
} at least.
machine-narrow-slot = GPU { $gpu } uses { $width } of its { $most } PCIe lanes.
machine-not-persistent = GPU { $gpu } is not in persistence mode: its driver is loaded anew for each program.
machine-mig = GPU { $gpu } is cut into MIG instances: its utilisation as a whole says nothing of one.
machine-memory-errors = GPU { $gpu } has had { $count ->
    [one] 1 memory error
   *[other] { $count } memory errors
} that could not be corrected.
machine-remap-pending = GPU { $gpu } waits for a reset to replace faulty rows of its memory.

## What a file gave

log-gave-gpu = { $rows ->
    [one] 1 sample
   *[other] { $rows } samples
} of { $gpus ->
    [one] 1 GPU
   *[other] { $gpus } GPUs
} over { $time }.
log-gave-gpu-untimed = { $rows ->
    [one] 1 sample
   *[other] { $rows } samples
} of { $gpus ->
    [one] 1 GPU
   *[other] { $gpus } GPUs
} without times: taken together as one a second, joined with nothing in time.
log-gave-moment = { $rows ->
    [one] 1 sample
   *[other] { $rows } samples
} of { $gpus ->
    [one] 1 GPU
   *[other] { $gpus } GPUs
}: a moment, from which no shares follow.
log-gave-system = Cores and disks of the machine, { $rows ->
    [one] 1 row
   *[other] { $rows } rows
}.
log-gave-system-untimed = Cores and disks of the machine, { $rows ->
    [one] 1 row
   *[other] { $rows } rows
} without times: taken together as one a second, joined with nothing in time.
log-gave-processes = CPU time and memory of { $count ->
    [one] 1 process
   *[other] { $count } processes
}.
log-gave-stacks = { $count ->
    [one] 1 sighting of a stack
   *[other] { $count } sightings of stacks
}, counted: they have no times, so no phases follow from them.
log-gave-few-stacks = { $count ->
    [one] 1 stack
   *[other] { $count } stacks
} of a moment: what runs then, not where the time goes.
log-gave-cards = Settings of { $count ->
    [one] 1 GPU
   *[other] { $count } GPUs
}.
log-gave-links = Links of { $count ->
    [one] 1 pair of devices
   *[other] { $count } pairs of devices
}.
log-gave-card-processes = { $count ->
    [one] 1 process on the GPUs
   *[other] { $count } processes on the GPUs
}.
log-day-of-others = Its times have no date: the day of the other files is taken.
log-day-unknown = Its times have no date: it is joined with nothing else in time.
log-zone = Its times are the machine's own; they fit the others { $hours } hours off.
log-local = Its times are of a clock whose zone is not told, and meet none of the others: joined with nothing else in time.
log-left-out-untimed = Not used: its rows have no times, and others with times are here.
log-left-out-second = Not used: another file without times is here, and rows of two such cannot be brought together.
log-left-out-weighted = Stacks by the time that operators took themselves, not by samples: no waits can be seen in them, and they are not judged.
log-nothing = Nothing that is used.
log-dropped = { $count ->
    [one] 1 line makes no sense.
   *[other] { $count } lines make no sense.
}

## Sentences one after the other; a file and what it gave

log-then = { $a } { $b }

note-idle-cards = { $count ->
    [one] 1 of the { $all } GPUs is idle
   *[other] { $count } of the { $all } GPUs are idle
}: the verdict is of the busiest alone.
