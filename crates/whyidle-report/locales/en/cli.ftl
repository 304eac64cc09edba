# What the program says on standard error.

cli-error = error:{ " " }
cli-hint = hint:{ " " }
cli-unknown-cause = there is no cause "{ $cause }"
cli-did-you-mean = did you mean { $cause }?
cli-for-example = for example: { $command }
cli-list-causes = `whyidle explain` lists all causes

read-io = { $path }: { $reason }
read-empty = { $path } is empty
read-not-a-trace = { $path } is not a profiler trace but { $found }
read-newer-schema = { $path } was recorded by a later version of whyidle ({ $schema })
read-unreadable = { $path } is unreadable from byte { $byte } on, before any event
read-damaged = { $path }: the compressed data is damaged after { $byte } inflated bytes, before any event
read-database = { $path }: the database cannot be read ({ $reason })
read-no-trace = there is no trace in { $path }
read-not-a-digest = { $path } holds no digest of a rank
read-not-a-dump = { $path } is neither a flight recorder's dump nor a log of NCCL but { $found }
read-snapshot-cut = { $path } ends in the middle of a value (byte { $byte }): a memory snapshot is counted from its end, so a cut one says nothing
read-snapshot-code = { $path } asks for code to be run at byte { $byte }; whyidle reads data and runs nothing
read-snapshot-nonsense = { $path } is unreadable from byte { $byte } on
read-no-dump = there is no flight recorder's dump and no log of NCCL in { $path }
read-not-evidence = { $path } is nothing that whyidle reads but { $found }

found-empty = an empty file
found-pickle = a Python pickle
found-sqlite = a SQLite database without the tables of Nsight Systems
found-sqlite-stream = a SQLite database that is compressed or in a pipe
found-nsys-report = an Nsight Systems report
found-zip = a zip archive
found-other-compression = data in another compression than gzip
found-html = a web page
found-json = JSON without a list of events
found-recording = the description of a recording
found-digest = a digest of a rank
found-smi-error = what nvidia-smi says of a field that it does not have
found-no-header = a query of nvidia-smi without the header that names its columns
found-text = text
found-binary = binary data

hint-check-path = check the path
hint-export-again = export the trace again, and let the program finish writing it
hint-record-trace = record one with torch.profiler and export_chrome_trace("trace.json.gz")
hint-give-evidence = whyidle reads traces of PyTorch and Nsight Systems, recordings, CUDA memory snapshots, CSV of Nsight Compute, prints of nvidia-smi, DCGM, iostat and top, stacks, flight recorders and logs of NCCL
hint-query-again = ask again with fields that `nvidia-smi --help-query-gpu` lists, and without `noheader`
hint-dump-flight = set TORCH_NCCL_DUMP_ON_TIMEOUT=1 and TORCH_FR_DUMP_TEMP_FILE=/path/prefix_ before the run; NCCL_DEBUG=INFO and NCCL_DEBUG_FILE for logs
hint-snapshot-again = dump the snapshot again (torch.cuda.memory._dump_snapshot), let the program finish writing it, and copy it whole
hint-plain-snapshot = a snapshot of torch.cuda.memory._dump_snapshot is plain data; do not load this file with Python's pickle either
hint-give-directory = give the directory that holds the traces
hint-export-nsys = export the report of Nsight Systems: nsys export --type sqlite REPORT.nsys-rep
hint-give-file = unpack it and give the file itself
hint-update = read it with that version of whyidle, or a later one
hint-unpack = unpack it first
hint-download-again = download the file again: this is a page about it, perhaps a login
hint-make-digest = `whyidle digest TRACE… -o FILE` makes one, with this version of whyidle.
hint-merge-digests = Digests are judged together by `whyidle merge`.
cli-output = the output could not be written: { $reason }

what-if-unknown = --what-if: there is no cause "{ $cause }"
what-if-no-lever = --what-if: { $cause } has no remedy that can be replayed
what-if-causes = one of { $causes }; join several with +
what-if-bad-value = --what-if: { $cause } does not take "{ $value }"
what-if-takes-nothing = give { $cause } alone, without =
what-if-takes-count = give a whole number from 1 to { $most }, as { $cause }=4
what-if-takes-word = give one of { $words }
what-if-takes-name = give part of a function's name, as { $cause }=validate
what-if-nothing-there = The trace holds nothing of { $cause }: nothing to change.
what-if-other-device = What is known of { $cause } is not known to hold on this device ({ $vendor }): nothing is predicted.
what-if-no-replay = No prediction: the replay does not reproduce this trace well enough.
what-if-twice = --what-if: { $cause } is asked for twice
what-if-twice-hint = give each cause once; ask for another value with another --what-if
what-if-fewer-workers = Fewer than today's { $now } workers, which keep up: how few would, this trace does not tell.
what-if-workers-unknown = How many workers there are today is not known, so the number asked for is not used: at most the whole wait goes. A recording beside the trace says it ("workers").
what-if-no-such-name = Nothing of that name ("{ $name }") runs on the threads that feed the GPU.
what-if-per-sample = Per today's samples: a step of the new size takes longer and holds more.
what-if-memory = Per today's samples. By proportion that batch does not fit: today's peak is { $bytes }. `whyidle plan --calibrate` says it exactly.
what-if-memory-unknown = Per today's samples. Whether that batch fits is not known: the trace holds no peak of memory.
what-if-batch-norm = Batch norm sees smaller batches when gradients are accumulated: its statistics change, and with them the training.

## Digests of ranks
cli-digest-written = { $count ->
    [one] Digest of 1 rank
   *[other] Digests of { $count } ranks
} written to { $path } ({ $bytes })
cli-digest-left-out = { $path } is left out: { $reason }
cli-digest-not-one-job = These digests are not of one job: their numbers of ranks differ.
cli-digest-not-one-job-hint = Give the digests of one job's ranks.
cli-no-such-rank = None of the digests is of that rank.
cli-not-overwritten = { $path } is there already and is no digest: it is not overwritten
cli-not-overwritten-hint = Name another file with -o.
cli-not-written = { $path } could not be written: { $reason }

# A command line that is not understood.

cli-usage = usage:
cli-usage-help = Add --help to the command to see all of its options.
cli-usage-unknown-argument = there is no option or argument { $argument } here
cli-usage-unknown-command = there is no command { $command }
cli-usage-not-built = this whyidle was built without the command { $command }
cli-usage-not-built-hint = Build it in: cargo install --locked --path crates/whyidle --features { $feature }
cli-usage-missing = something is missing: { $arguments }
cli-usage-conflict = { $argument } does not go together with { $others }
cli-usage-twice = { $argument } is given twice
cli-usage-no-value = { $argument } needs a value
cli-usage-bad-value = { $argument } cannot be "{ $value }": { $reason }
cli-usage-values = { $argument } takes another number of values
cli-usage-not-utf8 = an argument is no valid UTF-8
cli-usage-not-understood = this command line is not understood
cli-value-one-of = take one of { $known }
cli-value-whole = give a whole number from { $least } to { $most }
cli-value-number = give a number from { $least } to { $most }, as { $example }
cli-value-duration = give seconds or minutes from 1s to a day, as 30s or 5m
cli-value-steps = give a step or a range, as 5 or 3..7 (both ends are included)
cli-value-steps-empty = the range is empty: give its lower end first
cli-value-checkpoint = give none, selective, full or every:K
cli-value-every = give every:K with a K from 2 to 10,000
cli-value-schedule = give gpipe, 1f1b, interleaved:V or zero-bubble
cli-value-interleaved = give interleaved:V with a V from 2 to 10,000
cli-value-address = give an address as a number, and a port, as 127.0.0.1:9401, [::1]:9401 or localhost:9401; names of other machines are not looked up
cli-value-unfit = this is no such value

cli-several-recordings = several directories: a verdict is of one recording
cli-several-recordings-hint = give one directory; traces of several ranks go to `whyidle trace`
