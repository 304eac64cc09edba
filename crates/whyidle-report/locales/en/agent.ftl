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
