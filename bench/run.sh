#!/bin/sh
# Speed and memory of `whyidle trace`, its ratios to other tools, and how its cost grows with the trace.
# Everything it makes lies under Cargo's target directory; results go to bench/results.
# Arguments go to bench/speed.py (--help lists them).
set -eu
cd "$(dirname "$0")/.."
: "${CARGO:=cargo}" "${PYTHON:=python3}"
"$CARGO" build --locked --release --package whyidle
"$CARGO" build --locked --release --package whyidle-readers --example inflate
exec "$PYTHON" bench/speed.py --target "${CARGO_TARGET_DIR:-target}" "$@"
