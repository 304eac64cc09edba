# The jobs of a cluster, from the metrics that agents export.

fleet-head = fleet · { $span } to { $to } UTC · { $server }
fleet-days = { $count ->
    [one] 1 day
   *[other] { $count } days
}
fleet-held = Jobs held { $held }.
fleet-idle = During about { $idle } of that ({ $share }) nothing ran on their GPUs.
fleet-none = Nothing of that was idle.
fleet-first = The first { $count } jobs account for { $share } of the waste.
fleet-defined = Held: cards on which a process of the job has memory × time. Wasted: the part of it with no kernel running. Both are extrapolated from counters, by up to one scrape; whom a job waited for is estimated from samples, as a share of what it held.
fleet-cards = What the { $count ->
    [one] one card counts
   *[other] { $count } cards count
} themselves: { $busy } with a kernel running, { $idle } without one while memory was held.
fleet-matching = Only series with { $matching }.
fleet-unusable = { $count ->
    [one] 1 figure is no usable number and left out
   *[other] { $count } figures are no usable numbers and left out
}.
fleet-title = jobs by wasted GPU time, and its share of what they held
fleet-nodes = { $count ->
    [one] 1 node
   *[other] { $count } nodes
}
fleet-none-of = of { $held }: nothing idle
fleet-waits-of = of { $held }: { $waits }
fleet-healthy-of = healthy; of { $held }: { $waits }
fleet-wait = { $what } { $share }
fleet-step-changes = step time changed for good { $count ->
    [one] once
   *[other] { $count } times
}
fleet-more = { $count ->
    [one] 1 more job
   *[other] { $count } more jobs
}: --limit
fleet-next = next
fleet-family-data = data
fleet-family-host = the host
fleet-family-comm = communication
fleet-family-memory = GPU memory allocation
fleet-family-io = saving and logging
fleet-family-run = phases of the run
fleet-family-compile = compilation
fleet-family-rank = another rank
fleet-family-unknown = not known

cli-fleet-address = "{ $url }" is no address of a server
cli-fleet-address-hint = An address begins with http:// or https://, as http://prometheus.example:9090.
cli-fleet-password = the address holds a user name and a password
cli-fleet-password-hint = Everybody on this machine who lists processes could read them. Give a bearer token by --token-file FILE or WHYIDLE_PROMETHEUS_TOKEN.
cli-fleet-clear = the token would go over the network unencrypted
cli-fleet-clear-hint = Use https://, or ask a server on this machine, for instance through a tunnel.
cli-fleet-file = { $path } cannot be read: { $reason }
cli-fleet-no-token = { $path } holds no token
cli-fleet-token-hint = A token is one word of visible ASCII characters.
cli-fleet-env-token = WHYIDLE_PROMETHEUS_TOKEN holds no token
cli-fleet-no-roots = { $path } holds no certificates
cli-fleet-no-system-roots = this system has no certificates to trust
cli-fleet-roots-hint = --ca FILE names a PEM file with the certificates of whoever signed the server's.
cli-fleet-unreachable = { $server } cannot be reached: { $reason }
cli-fleet-unreachable-hint = Is the address right, and does Prometheus run there? Its port is 9090 unless told otherwise.
cli-fleet-late = { $server } did not answer in time
cli-fleet-late-hint = A shorter --since or a narrower --match asks for less; --timeout waits longer.
cli-fleet-tls = no secure connection to { $server }: { $reason }
cli-fleet-broken = { $server } does not speak HTTP, or broke off: { $reason }
cli-fleet-large = the answer of { $server } is larger than { $most }
cli-fleet-many = the answer of { $server } has more than { $count } series
cli-fleet-unauthorized = { $server } does not let us in (HTTP status { $status })
cli-fleet-unauthorized-hint = Give its token by --token-file FILE or WHYIDLE_PROMETHEUS_TOKEN.
cli-fleet-status = { $server } answered with HTTP status { $status }
cli-fleet-foreign = { $server } did not answer as Prometheus does
cli-fleet-foreign-hint = Give the address up to, not including, /api/v1. Behind a login page a token is needed.
cli-fleet-refused = Prometheus refused the query ({ $kind }): { $text }
cli-fleet-refused-hint = --match takes what stands between the braces of a selector, as namespace="research".
cli-fleet-none = { $server } has no metrics of whyidle in the last { $span }
cli-fleet-none-hint = Agents export them: see the chapter on fleets in the book. Their job has to be scraped, and --match may be too narrow.
cli-fleet-no-jobs = in the last { $span } the agents saw no process that trains on a GPU
cli-fleet-warning = Prometheus says: { $text }
cli-value-span = a time as 90m, 12h, 7d or 4w, from 5m to 400d
