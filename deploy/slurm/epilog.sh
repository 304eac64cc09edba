#!/bin/bash
# Slurm's Epilog on each node, as root: ends the looking that the prolog began, and reports what was seen of the job –
# average busy, what was waited for, waste in GPU-hours, and the one change worth making.
#
# The report goes to a file of the administrators', and to the end of the job's own output. That is written as the job's
# user: with root's rights a link would let a user have anything overwritten. Always returns 0.
set -u
trap 'exit 0' EXIT
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
unset WHYIDLE WHYIDLE_SPOOL
for settings in /etc/whyidle/slurm.conf "$here/whyidle.conf"; do
    # shellcheck source=/dev/null
    [ -r "$settings" ] && . "$settings" && break
done

job=${SLURM_JOB_ID:-}
case $job in '' | *[!0-9]*) exit 0 ;; esac
[ -n "${WHYIDLE_SPOOL:-}" ] || exit 0
spool=$WHYIDLE_SPOOL/$job
[ -d "$spool" ] || exit 0

# The whole session: the loop, and a look that is under way. Its environment tells it from another process that has been
# given its number since.
pid=$(cat "$spool/pid" 2>/dev/null)
case $pid in
    '' | *[!0-9]*) ;;
    *) tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qxF "spool=$spool" && kill -TERM -- "-$pid" 2>/dev/null ;;
esac

report=$(XDG_DATA_HOME=$spool timeout 60 "$WHYIDLE" history --job "$job" --lang "$WHYIDLE_LANG" --color never 2>/dev/null)
if [ -n "$report" ]; then
    node=${SLURMD_NODENAME:-$(uname -n)}
    umask 022
    mkdir -p "$WHYIDLE_REPORTS" && printf '%s\n' "$report" >"$WHYIDLE_REPORTS/$job.$node.txt"
    # The batch script's output, where the job still has one; on one node alone, so that it is written once.
    out=$(scontrol show job "$job" 2>/dev/null | sed -n 's/^ *StdOut=//p' | head -n 1)
    first=$(scontrol show job "$job" 2>/dev/null | sed -n 's/^ *BatchHost=//p' | head -n 1)
    user=${SLURM_JOB_USER:-}
    if [ -n "$out" ] && [ "$out" != /dev/null ] && [ -n "$user" ] && [ "$user" != root ] && [ "$first" = "$node" ]; then
        # shellcheck disable=SC2016 # expanded by the user's shell, not by this one
        printf '\n%s\n' "$report" | timeout 30 runuser -u "$user" -- sh -c '[ -f "$1" ] && cat >>"$1"' sh "$out" 2>/dev/null
    fi
fi
rm -rf -- "$spool"
exit 0
