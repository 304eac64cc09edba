"""A real Prometheus on a free port of this machine, and a scrape target: the standard library alone."""

import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from checks import Failed

PATIENCE_S = 20
# No proxy between a test and this machine.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def find(program):
    """`prometheus` or `promtool`, or None where there is none. `WHYIDLE_TEST_PROMETHEUS` names a folder with both."""
    folder = os.environ.get("WHYIDLE_TEST_PROMETHEUS")
    return shutil.which(program, path=folder) if folder else shutil.which(program)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(holds, what, patience_s=PATIENCE_S):
    """Polls until `holds()` gives something true, which is returned."""
    end = time.monotonic() + patience_s
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"not within {patience_s} s: {what}")
        time.sleep(0.05)


class Target:
    """Serves an exposition. `next` makes the text of a scrape from the number of scrapes so far."""

    def __init__(self, text):
        self.scrapes, self.next = 0, lambda _: text
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = target.next(target.scrapes).encode()
                target.scrapes += 1
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Prometheus:
    """The server in a folder of its own, with a configuration, and data if any; behind TLS where `identity` names a
    certificate and its key."""

    def __init__(self, config, data=None, identity=None):
        self.folder = tempfile.TemporaryDirectory(prefix="whyidle-prometheus-")
        self.data = data or pathlib.Path(self.folder.name) / "data"
        self.config, self.address, self.identity = config, f"127.0.0.1:{free_port()}", identity
        self.url, self.opener = f"http://{self.address}", OPENER
        if identity:
            context = ssl.create_default_context(cafile=identity[0])
            self.url = f"https://{self.address}"
            self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                      urllib.request.HTTPSHandler(context=context))

    def __enter__(self):
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+", encoding="utf-8")
        arguments = [find("prometheus"), f"--config.file={self.config}", f"--storage.tsdb.path={self.data}",
                     f"--web.listen-address={self.address}", "--storage.tsdb.retention.time=400d",
                     "--log.level=warn"]
        if self.identity:
            cert, key = self.identity
            web = pathlib.Path(self.folder.name) / "web.yml"
            web.write_text(f"tls_server_config: {{cert_file: {cert}, key_file: {key}}}\n")
            arguments.append(f"--web.config.file={web}")
        self.process = subprocess.Popen(arguments, stdout=self.log, stderr=subprocess.STDOUT, cwd=self.folder.name)

        def ready():
            if self.process.poll() is not None:
                self.log.seek(0)
                raise Failed(f"prometheus ended: {self.log.read()[-1500:]}")
            try:
                return self.opener.open(f"{self.url}/-/ready", timeout=5).status == 200
            except (urllib.error.URLError, OSError):
                return False

        try:
            until(ready, "prometheus is ready")
        except Failed:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.folder.cleanup()

    def get(self, path, **parameters):
        """The `data` of an answer of the API; a refusal is a failure."""
        url = f"{self.url}/api/v1/{path}"
        data = urllib.parse.urlencode(parameters).encode() if parameters else None
        try:
            answer = json.load(self.opener.open(url, data=data, timeout=PATIENCE_S))
        except urllib.error.HTTPError as error:
            raise Failed(f"{path} {parameters}: {error.read()[:500].decode(errors='replace')}") from error
        return answer["data"]

    def query(self, expression, **parameters):
        """Series by their labels: the value of each."""
        result = self.get("query", query=expression, **parameters)["result"]
        return {frozenset(series["metric"].items()): float(series["value"][1]) for series in result}
