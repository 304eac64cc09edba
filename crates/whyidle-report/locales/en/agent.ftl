# `whyidle agent`, and the server that it and others answer with.

## Listening

http-open = { $address } can be reached from other machines, and no token is set
http-open-hint = set one with --token-file FILE, or listen on 127.0.0.1 alone
http-address = cannot listen on { $address }: { $reason }
http-address-hint = something listens there already: choose another port with --listen 127.0.0.1:PORT
http-short-token = a token has at least { $least } characters
http-odd-token = a token is one word of printable ASCII characters
http-token-hint = make one with: openssl rand -hex 32 > FILE
http-file = { $path }: { $reason }
http-certificate = { $path } cannot be used for TLS: { $reason }
http-certificate-hint = both files are PEM: the certificate with those that vouch for it, and its private key

## What the agent says while it runs

agent-listening = metrics are at { $address }
agent-ended = ended
agent-reloaded = the settings were read anew
agent-not-reloaded = the settings were not read anew, what held before holds on: { $reason }
agent-settings-odd = { $path }: { $reason }
agent-settings-hint = see docs/en/src/agent.md for what can be set
agent-half-tls = a certificate and its key belong together: set both, or neither
agent-ring-taken = another agent writes into { $dir }
agent-ring-failed = recordings can no longer be written ({ $reason }); metrics go on, and the next recording is tried
agent-ring-recovered = recordings can be written again
agent-clock = the clock was set by { $time }: a new recording begins
agent-replay-empty = these recordings hold no samples with times
agent-replay-hint = make one with: whyidle attach PID --out DIR

## When the time of a run's steps changes

agent-changed = job { $job }, process { $pid }: steps went from { $before } to { $after }. { $what }
agent-change-waiting = it waited { $before } of the time, now { $after }, { $cause }
agent-change-throttled = the clock was held down { $before } of the time, now { $after }
agent-change-clock = the GPU's clock went from { $before } to { $after } MHz
agent-change-cores = the machine's cores were { $before } busy, now { $after }
agent-change-busy = the GPU was busy { $before } of the time, now { $after }
agent-change-workers = loader workers went from { $before } to { $after }
agent-change-neighbour = process { $pid } came onto its GPU
agent-change-nothing = nothing else that was sampled is different

## Looking back

agent-no-ring = which recordings?
agent-no-ring-hint = name their folder with --ring DIR
agent-ring-title = recordings of this node
agent-ring-empty = no recordings yet
agent-ring-entry = { $from }   { $length }   { $bytes }   { $runs ->
    [one] 1 program
   *[other] { $runs } programs
}
agent-ring-runs = the programs at that time
agent-ring-run = { $pid }   { $command }
agent-ring-changes = what changed
agent-not-covered = no recording covers { $time }
agent-not-covered-hint = whyidle agent --ring { $dir } --list shows those there are
agent-no-time = { $text } is no time
agent-no-time-hint = times are in UTC: 03:12, 2026-11-30T03:12, or the name of a recording
