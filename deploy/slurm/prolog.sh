#!/bin/bash
# Slurm's Prolog on each node, as root: looks at the job from outside now and then, so that the epilog can report on it.
#
#   slurm.conf:  Prolog=/etc/slurm/whyidle/prolog.sh  Epilog=/etc/slurm/whyidle/epilog.sh
#
# It returns at once, and always with 0: a node is never drained, nor a job held up, because of this. A look is
# `whyidle attach` for a minute: the program is neither stopped nor changed. What was seen goes into a history of its own
# for each job. Nothing of the job's is executed or written to, and nothing is taken from it but numbers.
set -u
trap 'exit 0' EXIT
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
unset WHYIDLE WHYIDLE_SPOOL
for settings in /etc/whyidle/slurm.conf "$here/whyidle.conf"; do
    # shellcheck source=/dev/null
    [ -r "$settings" ] && . "$settings" && break
done

job=${SLURM_JOB_ID:-}
# Digits alone: it becomes part of a path.
case $job in '' | *[!0-9]*) exit 0 ;; esac
[ -n "${WHYIDLE_SPOOL:-}" ] || exit 0
[ -x "${WHYIDLE:-}" ] || exit 0

# A job without GPUs wastes none.
gpus() { scontrol show job "$1" 2>/dev/null | grep -Eq 'gres/gpu|Gres=gpu|gres:gpu'; }
[ -n "${SLURM_JOB_GPUS:-}" ] || gpus "$job" || exit 0

spool=$WHYIDLE_SPOOL/$job
umask 077
mkdir -p "$spool" || exit 0

# Whatever started the job's steps: `whyidle attach` finds the training processes below them by itself.
roots() { scontrol listpids "$job" 2>/dev/null | awk 'NR > 1 && $1 ~ /^[0-9]+$/ { print $1 }' | head -n 64; }

watch() {
    trap 'exit 0' TERM
    local look=0 pause=$WHYIDLE_FIRST
    while [ "$look" -lt "$WHYIDLE_LOOKS" ]; do
        # In the background, so that the epilog's signal does not have to wait for it.
        sleep "$pause" &
        wait $!
        local pids
        pids=$(roots)
        # The job is over, and its epilog never came.
        [ -n "$pids" ] || squeue --noheader --jobs "$job" 2>/dev/null | grep -q . || break
        if [ -n "$pids" ]; then
            # shellcheck disable=SC2086 # one word for each process
            XDG_DATA_HOME=$spool WHYIDLE_JOB=$job timeout --foreground 600 "$WHYIDLE" attach $pids --for "$WHYIDLE_FOR" \
                >>"$spool/looks.log" 2>&1 &
            wait $!
        fi
        look=$((look + 1)) pause=$WHYIDLE_EVERY
    done
}

# In a session of its own, without the prolog's descriptors: Slurm waits for whoever holds them.
export -f roots watch
export job spool WHYIDLE WHYIDLE_FIRST WHYIDLE_EVERY WHYIDLE_LOOKS WHYIDLE_FOR
# shellcheck disable=SC2016 # expanded by the new shell
setsid bash -c 'echo $$ >"$spool/pid"; watch; rm -f "$spool/pid"' </dev/null >/dev/null 2>&1 &
exit 0
