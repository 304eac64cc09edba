"""What the tests share: they fail by `Failed`, and say by `Skipped` what is not there."""

import contextlib
import subprocess
import time


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def check(holds, what):
    if not holds:
        raise Failed(what)


def ran(*command, patience_s=60, **more):
    """The output of a command that ends well."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=patience_s, **more)
    check(done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Report:
    """Runs the tests one after another and counts."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def run(self, name, test, *arguments):
        begin = time.monotonic()
        try:
            test(*arguments)
        except Skipped as why:
            self.skipped += 1
            print(f"{name}: skipped: {why}", flush=True)
        except (Failed, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
            self.failed += 1
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
        else:
            self.passed += 1
            print(f"{name}: ok ({time.monotonic() - begin:.1f} s)", flush=True)

    @contextlib.contextmanager
    def service(self, name, service):
        """A service that the tests inside need; where it does not start, that is a failure, and they are left out."""
        try:
            with service as running:
                yield running
        except (OSError, TimeoutError, Failed) as error:
            self.failed += 1
            print(f"{name}: FAILED: {error}", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0
