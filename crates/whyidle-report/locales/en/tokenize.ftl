# `whyidle tokenize`.

cli-tokenize-written = { $path }: { $tokens } tokens of { $documents ->
    [one] 1 document
   *[other] { $documents } documents
}
cli-tokenize-was-whole = { $path } is whole already, nothing was done: { $tokens } tokens of { $documents ->
    [one] 1 document
   *[other] { $documents } documents
}
cli-tokenize-of = { $bytes } of text, { $ratio } bytes per token; { $files ->
    [one] 1 file
   *[other] { $files } files
} of { $type }
cli-tokenize-read = in Python: { $call }
cli-tokenize-resumed = went on where the last run stood
cli-tokenize-no-input = { $path } holds no files
cli-tokenize-tokenizer = { $path } cannot be used as a tokenizer: { $reason }
cli-tokenize-tokenizer-hint = give the tokenizer.json of the model; a slow tokenizer becomes one with AutoTokenizer.from_pretrained(…).save_pretrained("folder")
cli-tokenize-no-token = { $path } has no token { $token }
cli-tokenize-no-token-hint = its special tokens begin with { $known }
cli-tokenize-encode = the tokenizer fails on a document of { $path }: { $reason }
cli-tokenize-strict = { $path }: { $note }
cli-tokenize-strict-hint = without --strict it is counted and left out, and the run goes on where it stands
cli-tokenize-nothing = no input holds a document with a token
cli-tokenize-nothing-hint = name the field with the text with --field, or the kind of the inputs with --as
cli-tokenize-another = { $path } holds an unfinished run with other settings, or the inputs have changed since
cli-tokenize-another-hint = begin anew with --force, or name another directory
cli-tokenize-lost = { $path } is damaged or missing: the unfinished run cannot go on
cli-tokenize-busy = another process is writing to { $path }
cli-value-field = it must be a name, or names with points between, as text or content.text
cli-value-tokens = it must be a number of tokens, as 500000, 100M or 1G
cli-value-pause = it must be seconds from 0 to 3600

read-not-documents = { $path } holds no documents but { $found }
read-columns = { $path } cannot be read: { $reason }
read-no-column = { $path } has no column { $column } of texts; its columns: { $columns }
hint-json-lines = write one object per line, as `jq -c '.[]' FILE` does
hint-give-documents = give JSON lines, Parquet, Arrow or text, plain or as .gz or .zst
hint-copy-again = copy or make the file again
hint-name-column = name the column with --field
