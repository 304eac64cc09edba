# A sweep: which value of a setting pays, and several settings as a ladder.

## The answer

sweep-value = { $value }
sweep-as-it-is = as it is
sweep-the-command = the command as it is
sweep-setting = { $name }={ $value }
sweep-took = { $time } { $per }
sweep-knee = Take { $value } for { $name }: { $figure }, { $times } × as fast as { $first } (95 %: { $low }–{ $high } ×).
sweep-knee-bare = Take { $value } for { $name }: { $figure }, { $times } × as fast as { $first }.
sweep-knee-only = Take { $value } for { $name }: { $figure }.
sweep-only = Only { $value } of { $name } could be measured: { $figure }.
sweep-more-same = More does not pay.
sweep-more-slower = More is slower.
sweep-largest = It is the largest value that was tried: a larger one may pay still.
sweep-next-memory = { $value } does not fit into memory.
sweep-smallest = Take { $value }, the smallest, for { $name }: { $figure }, and no other is faster.
sweep-slower = { $value } takes { $share } more time { $per }.
sweep-slower-times = { $value } takes { $times } × the time { $per }.
sweep-flat = It does not matter: no value of { $name } is shown to be slower than another.
sweep-flat-within = All lie within { $share } of the fastest (95 %).
sweep-flat-hidden = A difference of up to { $share } could not have been told (95 %).
sweep-flat-untold = No clear difference: no value of { $name } is shown to be slower than another.
sweep-empty = Nothing was run.
sweep-none = No answer: no value of { $name } could be measured.

## A ladder

sweep-total = { $before } → { $after } { $per }, { $times } × (95 %: { $low }–{ $high } ×), with { $list }.
sweep-total-bare = { $before } → { $after } { $per }, { $times } ×, with { $list }.
sweep-total-losses = But all together it learns otherwise than before: do not keep it for its speed.
sweep-kept-unmeasured = Better with { $list }; how much all together bring was not measured.
sweep-ladder-flat = Nothing is to be changed: no setting brings anything that counts.
sweep-ladder-none = No answer: nothing could be measured.
sweep-rung-kept = Kept: { $before } → { $value }, { $times } × (95 %: { $low }–{ $high } ×).
sweep-rung-kept-bare = Kept: { $before } → { $value }, { $times } ×.
sweep-rung-only = Kept: { $value }; with { $before } it could not be measured.
sweep-rung-flat = It does not matter: { $value } stays.
sweep-rung-untold = No clear difference: { $value } stays.
sweep-rung-back = No value is faster than { $value } by anything that counts: it stays.

## The curve

sweep-title-step = { $name }: step time, shorter is better
sweep-title-sample = { $name }: samples per second, longer is better
sweep-title-whole = { $name }: time of the program, shorter is better
sweep-column-time = time
sweep-column-rate = samples/s
sweep-column-best = vs best
sweep-column-busy = GPU
sweep-column-memory = memory
sweep-column-power = power
sweep-fate-memory = out of memory
sweep-fate-failed = the program failed, status { $status }
sweep-fate-no-steps = no steps were seen
sweep-fate-other-basis = steps were told in another way: not compared
sweep-fate-not-run = not run

## Beside it

sweep-rounds = { $runs ->
    [one] 1 run
   *[other] { $runs } runs
} in { $rounds ->
    [one] 1 round
   *[other] { $rounds } rounds
}, in alternating order.
sweep-rounds-noise = { $runs ->
    [one] 1 run
   *[other] { $runs } runs
} in { $rounds ->
    [one] 1 round
   *[other] { $rounds } rounds
}, in alternating order; a run differs from the next by { $noise }.
sweep-more-than-cores = That is more than the { $cores } cores: workers that wait need none.
sweep-assumed-samples = The program does not tell its samples: a step is taken to hold as many as { $name } says.
sweep-losses-alike = All values learn alike.
sweep-losses-unknown = Whether all values learn alike is not known: too few losses were printed.
sweep-losses-differ = { $name } { $value } is not to be chosen: its loss lies { $distance } from that of { $first }, where { $allowed } are allowed.
sweep-losses-nan = { $name } { $value } is not to be chosen: from { $place } on its loss is no number (NaN or infinite).
sweep-losses-own = The loss with { $value } for { $name } is itself no number (NaN or infinite): losses were not compared.
sweep-failed = With { $value } for { $name } the program failed; its output is in { $path }.
sweep-one-round = Each value of { $name } ran once: this is a first look.
sweep-unsure = { $name }: { $list } may be faster still; more rounds would tell (--rounds).
sweep-unsure-flat = { $name }: a small difference may be there; more rounds would tell (--rounds).
sweep-interrupted = Interrupted: this is from the runs that were complete.
sweep-cut-off = The sweep did not come to its end: this is from the runs that were complete.
sweep-id = Kept as { $id }: `whyidle history show { $id }`.
history-knee = [one value pays]
history-flat = [does not matter]
history-kept = [faster together]

## What the program says meanwhile

cli-sweep-ran = { $value }, round { $round }: { $time }
cli-sweep-ran-without = { $value }, round { $round }: { $reason }
cli-sweep-failed = nothing could be measured: { $reason }
cli-vary-form = --vary takes NAME=VALUE,VALUE or NAME, not "{ $value }"
cli-vary-empty = --vary { $value }: one of the values is empty
cli-vary-twice = --vary: { $name } is given twice
cli-vary-value-twice = --vary: the value "{ $value }" is given twice
cli-vary-many = --vary: more than { $most } values
cli-vary-no-number = --vary: values cannot go on from "{ $value }", which is no whole number
cli-vary-single = --vary: there is only one value of { $name }
cli-vary-no-start = --vary: { $name } has no whole number now from which values could go on
cli-vary-hint = Give values, --vary num_workers=0,2,4; let them double for as long as it pays, --vary num_workers=2,4,...; or name a value in a file, --vary file:config.yaml:data.num_workers=0,2.
cli-vary-not-there = --vary: the command has no "{ $name }"
cli-vary-not-there-hint = Give the option as it is written, --vary --{ $name }=1,2; then it is added. Or put { $open } where the value is to stand, or vary a variable, --vary env:NAME=1,2.
cli-vary-file-form = --vary: "{ $value }" is not file:PATH:NAME.OF.VALUE
cli-vary-no-settings = --vary: { $path } is no TOML, YAML or JSON
cli-vary-not-understood = { $path } cannot be read: { $reason }
cli-vary-no-such-value = { $path } holds no { $name }
cli-vary-no-single-value = { $path }: { $name } is no single value that could be replaced
cli-vary-no-argument = no argument of the command names { $path }
cli-vary-no-argument-hint = The file itself is never written: the command is given a changed copy, and so it has to name the file, as in python train.py --config config.yaml.
