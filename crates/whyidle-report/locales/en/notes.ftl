# What was wrong with the evidence: one entry per note code, `note-<code>`; $count says how often.

note-truncated = The file ends in the middle of an event: what came before it was read, the rest is missing.
note-damaged-compression = The compressed file is damaged or cut short: what came before the damage was read.
note-damaged-database = The database is damaged or cut short: what came before the damage was read, the rest is missing.
note-graphs-whole = { $count ->
    [one] 1 launch of a CUDA graph was
   *[other] { $count } launches of CUDA graphs were
} recorded whole, without the kernels inside: record with --cuda-graph-trace=node to see them.
note-tracer-warning = The tracer itself reported { $count ->
    [one] 1 warning or error
   *[other] { $count } warnings and errors
} while it recorded: records may be missing.
note-other-processes = { $count ->
    [one] The file holds 1 further process that used a GPU
   *[other] The file holds { $count } further processes that used GPUs
}: --device picks the process by its GPU.
note-damaged-columns = { $count ->
    [one] 1 file is damaged or cut short: the rows before the damage were read, the rest is missing.
   *[other] { $count } files are damaged or cut short: the rows before the damage were read, the rest is missing.
}
note-malformed-line = { $count ->
    [one] 1 line is no JSON, or not UTF-8, and was left out.
   *[other] { $count } lines are no JSON, or not UTF-8, and were left out.
}
note-no-text = { $count ->
    [one] 1 record has no text in that field and was left out.
   *[other] { $count } records have no text in that field and were left out.
}
note-long-document = { $count ->
    [one] 1 document is longer than 32 MiB and was left out.
   *[other] { $count } documents are longer than 32 MiB and were left out.
}
note-empty-document = { $count ->
    [one] 1 document is empty.
   *[other] { $count } documents are empty.
}
note-malformed-event = { $count ->
    [one] 1 stretch of the file was no readable event and was skipped.
   *[other] { $count } stretches of the file were no readable events and were skipped.
}
note-mended-name = { $count ->
    [one] 1 name held an unescaped quote or control character and was mended.
   *[other] { $count } names held unescaped quotes or control characters and were mended.
}
note-not-utf8 = { $count ->
    [one] 1 name was not valid UTF-8; the faulty bytes were replaced.
   *[other] { $count } names were not valid UTF-8; the faulty bytes were replaced.
}
note-no-start = { $count ->
    [one] 1 event without a usable start time was left out.
   *[other] { $count } events without a usable start time were left out.
}
note-no-duration = { $count ->
    [one] 1 event without a length counts as having none.
   *[other] { $count } events without a length count as having none.
}
note-negative-duration = { $count ->
    [one] 1 event with a negative length counts as having none.
   *[other] { $count } events with a negative length count as having none.
}
note-zero-time = { $count ->
    [one] 1 GPU activity stands at time 0 – the driver lost its record – and was left out.
   *[other] { $count } GPU activities stand at time 0 – the driver lost their records – and were left out.
}
note-absurd-time = { $count ->
    [one] 1 event has a time that cannot be true and was left out.
   *[other] { $count } events have times that cannot be true and were left out.
}
note-stream-overlap = { $count ->
    [one] 1 pair of GPU activities overlaps on one stream; the time is counted once.
   *[other] { $count } GPU activities overlap another on the same stream; the time is counted once.
}
note-outside-window = { $count ->
    [one] 1 GPU activity lies outside the window that the profiler says it recorded.
   *[other] { $count } GPU activities lie outside the window that the profiler says it recorded.
}
note-no-launch = { $count ->
    [one] 1 GPU activity was launched before the trace began.
   *[other] { $count } GPU activities have no launch in the trace: most were launched before it began.
}
note-no-activity = { $count ->
    [one] The trace holds 1 launch without its GPU activity: it ended before the GPU did.
   *[other] The trace holds { $count } launches without their GPU activity: it ended before the GPU did, or records were lost.
}
note-unused = { $count ->
    [one] 1 event is of a kind that whyidle does not use.
   *[other] { $count } events are of kinds that whyidle does not use.
}
note-foreign-device = { $count ->
    [one] 1 event comes from an accelerator that whyidle does not know.
   *[other] { $count } events come from an accelerator that whyidle does not know.
}
note-untested-device = This trace is of an Ascend device. It is read by the documented form of such files, which was not tried on a file of a real device: check figures against another tool.
note-over-budget = The file costs more than its budget of bytes, nesting, rows or time: what came after that was not read.
note-table-full = The trace is larger than whyidle can hold: { $count ->
    [one] 1 event was left out.
   *[other] { $count } events were left out.
}
note-ranks-duplicate = { $count ->
    [one] 1 dump is of a rank whose dump was read already, and was left out.
   *[other] { $count } dumps are of ranks whose dumps were read already, and were left out.
}
note-ranks-unnumbered = { $count ->
    [one] The name of 1 dump tells no rank: it got the next free number.
   *[other] The names of { $count } dumps tell no rank: they got the next free numbers.
}
note-ranks-untested-version = { $count ->
    [one] 1 dump is of a newer format than any that was tested.
   *[other] { $count } dumps are of a newer format than any that was tested.
}
note-ranks-overwritten = { $count ->
    [one] The ring of 1 rank is full: its older operations were overwritten.
   *[other] The rings of { $count } ranks are full: their older operations were overwritten.
}
