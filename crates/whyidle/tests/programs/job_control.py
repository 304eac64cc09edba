"""Plays the shell: a session with a terminal of its own, in which `argv[1:]` runs as a job in the foreground.

Types Ctrl-Z once the job says `ready`, continues it, and prints what it saw, one fact a line.
"""

import os
import pty
import select
import signal
import sys
import time


def read_until(fd, word, seconds=60):
    seen, until = b"", time.time() + seconds
    while word not in seen and time.time() < until:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break
    return word in seen


def shell(command):
    """The session's leader: starts the job, waits for it to stop, brings it back, waits for its end."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    _, status = os.waitpid(job, os.WUNTRACED)
    stopped = os.WIFSTOPPED(status)
    taken_back = os.tcgetpgrp(0) == job
    os.tcsetpgrp(0, os.getpgrp())
    print("SHELL stopped", stopped, "terminal", taken_back, flush=True)
    time.sleep(0.5)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
    os.tcsetpgrp(0, os.getpgrp())
    print("SHELL status", os.waitstatus_to_exitcode(status), flush=True)


def main():
    session, terminal = pty.fork()
    if session == 0:
        shell(sys.argv[1:])
        os._exit(0)
    print("ready", read_until(terminal, b"ready"))
    os.write(terminal, b"\x1a")
    print("stopped", read_until(terminal, b"SHELL stopped True terminal True"))
    # The program reads this: it has the terminal again.
    time.sleep(1.0)
    os.write(terminal, b"go on\n")
    print("goes on", read_until(terminal, b"heard go on"))
    print("status", read_until(terminal, b"SHELL status 7"))
    os.kill(session, signal.SIGKILL)
    os.waitpid(session, 0)


main()
