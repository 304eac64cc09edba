"""Chromium without a window, driven through the pipe of its DevTools protocol: the standard library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
PATIENCE_S = 30


def find():
    """The browser, or None where there is none."""
    named = os.environ.get("WHYIDLE_TEST_BROWSER")
    return named or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser with one page. What the page logs, throws and asks the network for is kept."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def hand_over():
            # The protocol wants descriptors 3 and 4; the copies are taken first, so that neither runs over the other.
            copies = [os.dup(to_browser), os.dup(from_browser)]
            while min(copies) < 5:
                copies = [os.dup(copy) for copy in copies]
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--remote-debugging-pipe", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen([program, *arguments], preexec_fn=hand_over, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.console, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_S)
        os.close(self.write_end)
        os.close(self.read_end)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Sends a command and returns its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def next(self):
        """The next message; events are kept."""
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            self.buffer += os.read(self.read_end, 1 << 20)
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        self.keep(message.get("method"), message.get("params", {}))
        return message

    def keep(self, method, event):
        if method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(event["exceptionDetails"])[:600])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            text = json.dumps(event["args"])[:600]
            # Advice on reading pictures back, which only these tests do.
            if "willReadFrequently" not in text:
                self.console.append(text)
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            if "willReadFrequently" not in event["entry"]["text"]:
                self.console.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def open(self, url):
        """Opens a page and waits until it is loaded."""
        self.console.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            pass

    def run(self, script):
        """The value of an expression on the page; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True,
                           userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:800])
        return answer["result"].get("value")

    def size(self, width, height, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def media(self, medium="", dark=False):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        # Without animations, so that a place on the screen stays one.
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", media=medium, features=[scheme, still])

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
