# Asking, exporting and comparing evidence.

## sql

cli-sql-no-table = there is no table { $name }
cli-sql-no-column = there is no column { $name }
cli-sql-tables = tables: { $tables }; `.schema` shows their columns
cli-sql-no-command = there is no command { $command }
cli-sql-commands = `.tables` lists the tables, `.schema` shows their columns and what they mean
cli-sql-not-read = the query would do more than read
cli-sql-not-read-hint = only a single SELECT is answered; `whyidle export --to sqlite` writes a database of your own
cli-sql-nothing = the query asks for nothing
cli-sql-several = these are several statements; give one at a time
cli-sql-time-up = the query was stopped after { $time }
cli-sql-time-up-hint = --timeout gives it longer; a join without a condition takes forever
cli-sql-too-large = the query takes more memory than it may
cli-sql-fault = { $reason }
cli-sql-no-samples = samples and stacks are of recordings; what was given is none, so these tables are empty

## export

cli-export-written = { $path } written ({ $bytes })
cli-export-there = { $path } is there already: it is not overwritten
cli-export-there-hint = name another one, or say --force
cli-export-no-stream = databases and directories cannot go to standard output
cli-export-no-stream-hint = give a name with -o
cli-export-nothing = there is nothing of that to write
cli-export-nothing-hint = perfetto needs a trace; speedscope and folded need Python stacks of a recording, or a trace

## diff: A is what was given first, B what was given second. Times are per step.

diff-longer = In B a step takes { $b }, { $difference } ({ $share }) more than in A ({ $a }).
diff-shorter = In B a step takes { $b }, { $difference } ({ $share }) less than in A ({ $a }).
diff-same = No clear difference: a step takes { $a } in A and { $b } in B, and the intervals of both meet.
diff-mostly = Most of it: { $lines }.
diff-clearly = Clearly changed: { $lines }.
diff-shifted = But it goes elsewhere: { $lines }.
diff-line-more = { $line } +{ $difference }
diff-line-less = { $line } −{ $difference }
diff-head-rank = rank { $rank }
diff-step = step
diff-title-ledger = where a step goes, A → B
diff-title-kernels = kernels, GPU time per traced step
diff-title-operators = operators, GPU time per traced step
diff-title-host = on the host, time per traced step, profiler included
diff-title-readings = instruments, A → B
diff-title-places = the main thread's stacks, share of samples
diff-only-a = { $what }: only in A
diff-only-b = { $what }: only in B
diff-calls = { $a } → { $b } a step
diff-more = { $count ->
    [one] 1 more row: -v shows it
   *[other] { $count } more rows: -v shows more, --format json all
}
diff-more-still = { $count ->
    [one] 1 more row: --format json shows it
   *[other] { $count } more rows: --format json shows all
}
diff-brackets = In brackets: no larger than what steps and runs of one program differ by.
diff-caveat-basis = The step times are not of one measure: { $a } in A, { $b } in B.
diff-caveat-found-by = Steps are found in different ways: { $a } in A, { $b } in B. They may not be the same stretch of the program.
diff-caveat-gpu = The GPUs differ: { $a } in A, { $b } in B.
diff-caveat-ranks = The numbers of ranks differ: { $a } in A, { $b } in B.
diff-caveat-rank-shown = Different ranks are compared: { $a } in A, { $b } in B. --rank chooses one.
diff-caveat-version = { $name } differs: { $a } in A, { $b } in B.
diff-caveat-one-trace = Only { $side } has a trace: kernels and operators are not compared, and its ledger is read as coarsely as samples tell lines apart.
diff-caveat-one-frames = Only { $side } was traced with Python frames, which slow the host and take over the time of what they enclose.
diff-caveat-one-step = { $side } has a single whole step: how much its steps differ is not known.
cli-diff-refused = { $path } cannot be compared: { $reason }
