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
