# What the program says on standard error.

cli-error = error:{ " " }
cli-hint = hint:{ " " }
cli-unknown-cause = there is no cause "{ $cause }"
cli-did-you-mean = did you mean { $cause }?
cli-list-causes = `whyidle explain` lists all causes

read-io = { $path }: { $reason }
read-empty = { $path } is empty
read-not-a-trace = { $path } is not a profiler trace but { $found }
read-unreadable = { $path } is unreadable from byte { $byte } on, before any event
read-damaged = { $path }: the compressed data is damaged after { $byte } inflated bytes, before any event
read-no-trace = there is no trace in { $path }
read-not-a-dump = { $path } is neither a flight recorder's dump nor a log of NCCL but { $found }
read-no-dump = there is no flight recorder's dump and no log of NCCL in { $path }

found-empty = an empty file
found-pickle = a Python pickle
found-sqlite = a SQLite database
found-nsys-report = an Nsight Systems report
found-zip = a zip archive
found-other-compression = data in another compression than gzip
found-html = a web page
found-json = JSON without a list of events
found-recording = the description of a recording
found-text = text
found-binary = binary data

hint-check-path = check the path
hint-export-again = export the trace again, and let the program finish writing it
hint-record-trace = record one with torch.profiler and export_chrome_trace("trace.json.gz")
hint-dump-flight = set TORCH_NCCL_DUMP_ON_TIMEOUT=1 and TORCH_FR_DUMP_TEMP_FILE=/path/prefix_ before the run; NCCL_DEBUG=INFO and NCCL_DEBUG_FILE for logs
hint-give-directory = give the directory that holds the traces
hint-use-pytorch-profiler = record with torch.profiler instead
hint-unpack = unpack it first
hint-download-again = download the file again: this is a page about it, perhaps a login
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
