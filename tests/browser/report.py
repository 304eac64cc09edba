#!/usr/bin/env python3
"""Reports in a real browser, opened from disk: no error, no request, and what one clicks does what it says.

    tests/browser/report.py --program target/debug/whyidle [--python PYTHON] [--pictures FOLDER]

Without a browser it says so and ends well; `WHYIDLE_TEST_BROWSER` names one.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from browser import Browser, find

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = "examples/starved-by-two-workers"
RECORDING = "crates/whyidle/tests/recordings/attached_workers"
RANKS = "testdata/straggler_data"
HISTORY = "crates/whyidle/tests/experiments/history.db"

# Contrast of every text with what is behind it, as WCAG counts it; big text may have less.
CONTRAST = """(() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
  const light = (rgb) => { const [r, g, b] = rgb.map((c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { const stack = []; for (let at = node; at; at = at.parentElement) stack.unshift(parse(getComputedStyle(at).backgroundColor)); return stack.reduce((under, top) => over(top, under), [255, 255, 255]); };
  const bad = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !node.checkVisibility() || node.closest("script, .hidden, .skip, #tip")) continue;
    const style = getComputedStyle(node), under = behind(node), top = over(parse(style.color), under);
    const [a, b] = [light(top), light(under)].sort((x, y) => y - x);
    const big = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.7 && Number(style.fontWeight) >= 700);
    if ((a + 0.05) / (b + 0.05) < (big ? 3 : 4.5)) bad.push(`${((a + 0.05) / (b + 0.05)).toFixed(2)} ${walk.currentNode.textContent.trim().slice(0, 40)}`);
  }
  return bad;
})()"""

# Buttons, links and fields without a name for those who do not see them.
NAMELESS = """[...document.querySelectorAll('button, a[href], select, [role=application]')].filter((one) =>
  one.checkVisibility() && !one.textContent.trim() && !one.getAttribute('aria-labelledby')).map((one) => one.outerHTML.slice(0, 80))"""

FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What is drawn on a canvas, as a number that changes with it.
DRAWN = "(() => {{ const c = document.querySelector('{0} canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let h = 0; for (let i = 0; i < d.length; i += 97) h = (h * 31 + d[i]) | 0; return h; }})()"


class Failed(Exception):
    pass


def address(page):
    return page.as_uri() if isinstance(page, pathlib.Path) else page


def check(holds, what):
    if not holds:
        raise Failed(what)


class Report:
    def __init__(self, browser, program, folder, pictures):
        self.browser, self.program, self.folder, self.pictures = browser, program, folder, pictures

    def write(self, name, *arguments):
        path = self.folder / f"{name}.html"
        done = subprocess.run([self.program, *arguments, "--report", str(path)], cwd=ROOT, capture_output=True, text=True)
        check(done.returncode == 0, f"{arguments}: {done.stderr}")
        return path

    def open(self, page, width=1100, phone=False, dark=False):
        """A file, or an address."""
        self.browser.size(width, 900, phone)
        self.browser.media(dark=dark)
        self.browser.open(address(page))
        self.browser.run(FRAMES)

    def quiet(self, page, may=()):
        """Nothing went wrong, and nothing but the page itself was fetched, and what it `may`."""
        check(not self.browser.console, f"{page}: the console says {self.browser.console}")
        others = [url for url in self.browser.requests if url not in (address(page), *may) and not url.startswith("data:")]
        check(not others, f"{page} asks for {others}")

    def language(self, tag):
        self.browser.run(f"document.querySelector('[data-lang=\"{tag}\"]').click()")
        check(self.browser.run("document.documentElement.lang") == tag, f"language {tag}")

    def look(self, name, path, may=()):
        """Both languages in both themes, wide and narrow: legible, named, and nothing wider than the screen."""
        for width, phone in [(1100, False), (390, True)]:
            for dark in [False, True]:
                self.open(path, width, phone, dark)
                for tag in ["en", "zh-CN"]:
                    self.language(tag)
                    self.browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                    self.browser.run(FRAMES)
                    where = f"{path}, {tag}, {'dark' if dark else 'light'}, {width} wide"
                    bad = self.browser.run(CONTRAST)
                    check(not bad, f"{where}: too little contrast: {bad[:5]}")
                    nameless = self.browser.run(NAMELESS)
                    check(not nameless, f"{where}: without a name: {nameless}")
                    wide = self.browser.run("document.documentElement.scrollWidth")
                    check(wide <= width, f"{where}: {wide} pixels wide")
                    other = "zh-CN" if tag == "en" else "en"
                    seen = self.browser.run(f"[...document.querySelectorAll('span[lang=\"{other}\"]')].some((one) => one.checkVisibility())")
                    check(not seen, f"{where}: shows {other} too")
                    if self.pictures:
                        self.picture(f"{name}-{tag}-{'dark' if dark else 'light'}-{'phone' if phone else 'desk'}", width, phone)
                self.quiet(path, may)

    def picture(self, name, width, phone):
        self.browser.run("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
        height = self.browser.run("document.documentElement.scrollHeight")
        self.browser.size(width, min(height, 8000), phone)
        self.browser.run(FRAMES)
        self.browser.picture(self.pictures / f"{name}.png", whole=False)
        self.browser.size(width, 900, phone)

    def timeline(self):
        run = self.browser.run
        view = lambda: run("document.getElementById('view').textContent")
        told = lambda: run("document.getElementById('gap').textContent")
        whole, before = view(), run(DRAWN.format("#timeline"))
        run("document.querySelector('[data-do=in]').click()")
        check(view() != whole and run(DRAWN.format("#timeline")) != before, "the button to zoom does nothing")
        run("document.querySelector('[data-do=all]').click()")
        check(view() == whole, "the button to see all does not")
        run("document.getElementById('timeline').focus()")
        for key in ["+", "ArrowRight", "ArrowUp"]:
            at = view()
            self.browser.key(key)
            run(FRAMES)
            check(view() != at, f"the key {key} does nothing")
        self.browser.key("0")
        check(view() == whole, "the key 0 does not show all")
        run("document.querySelector('[data-do=longest]').click()")
        check("waiting for data" in told(), f"the longest gap is told as {told()}")
        self.browser.key("0")
        run("document.getElementById('timeline').scrollIntoView({block: 'center', behavior: 'instant'})")
        run("document.getElementById('gap').replaceChildren()")
        box = run("(() => { const b = document.querySelector('#timeline canvas').getBoundingClientRect(); return [b.x, b.y, b.width]; })()")
        # The lane of the GPU begins with the longest gap.
        x, y = box[0] + box[2] * 0.2, box[1] + 50
        self.browser.mouse("mouseMoved", x, y)
        run(FRAMES)
        check("waiting for data" in run("document.getElementById('tip').textContent"), "nothing is said at the pointer")
        self.browser.click(x, y)
        run(FRAMES)
        check("waiting for data" in told() and "Ended by" in told(), f"a click on the gap says {told()}")
        self.language("zh-CN")
        check("等数据" in told(), f"in Chinese the gap is told as {told()}")
        self.language("en")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
        run(FRAMES)
        check(view() != whole, "the wheel does nothing")
        at = view()
        self.browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.browser.mouse("mouseMoved", x - 80, y, button="left", buttons=1)
        self.browser.mouse("mouseReleased", x - 80, y, button="left", clickCount=1)
        run(FRAMES)
        check(view() != at, "dragging does nothing")

    def figures(self):
        """The scripts set figures as the reports do."""
        pairs = {"188200000": "188 ms", "23400": "23 µs", "5100000": "5.1 ms", "999600000": "1.00 s", "0": "0 ms", "480": "480 ns"}
        for ns, text in pairs.items():
            said = self.browser.run(f"whyidle.time({ns})")
            check(said == text, f"{ns} ns is set as {said}, not {text}")
        for share, text in {"0.31": "31 %", "0.042": "4.2 %", "0.0003": "0.03 %", "1": "100 %"}.items():
            said = self.browser.run(f"whyidle.share({share})")
            check(said == text, f"{share} is set as {said}, not {text}")

    def copying(self):
        self.browser.run("navigator.clipboard && Object.defineProperty(navigator.clipboard, 'writeText', { value: (text) => { window.copied = text; return Promise.resolve(); } })")
        wanted = self.browser.run("document.querySelector('[data-copy]').parentElement.querySelector('code').textContent")
        self.browser.run("document.querySelector('[data-copy]').click()")
        self.browser.run(FRAMES)
        check(self.browser.run("document.querySelector('[data-copy]').dataset.done") == "true", "the button to copy fails")
        copied = self.browser.run("window.copied")
        check(copied in (None, wanted) and "num_workers" in wanted, f"copied: {copied}")

    def paper(self, path):
        self.open(path)
        self.browser.media(medium="print")
        self.browser.run(FRAMES)
        hidden = self.browser.run("['.controls', '.tools', '.copy'].every((one) => !document.querySelector(one).checkVisibility())")
        check(hidden, "buttons are printed")
        check(self.browser.run("document.querySelector('h1').checkVisibility()"), "the sentence is not printed")
        pdf = self.browser.printed()
        check(pdf.startswith(b"%PDF") and len(pdf) > 20_000, "the page is not printed")
        if self.pictures:
            (self.pictures / f"{path.stem}.pdf").write_bytes(pdf)
        self.browser.media()

    def theme(self, path):
        self.open(path)
        colour = lambda: self.browser.run("getComputedStyle(document.documentElement).backgroundColor")
        light = colour()
        self.browser.run("(() => { const one = document.getElementById('theme'); one.value = 'dark'; one.dispatchEvent(new Event('change')); })()")
        check(colour() != light, "the choice of a theme does nothing")


def all_checks(report):
    example = report.write("example", "trace", EXAMPLE)
    report.open(example)
    report.quiet(example)
    check("waits 125 ms for data" in report.browser.run("document.querySelector('h1').innerText"), "the sentence")
    report.timeline()
    report.figures()
    report.copying()
    report.quiet(example)
    report.theme(example)
    report.paper(example)
    report.look("example", example)

    recording = report.write("recording", "diagnose", RECORDING)
    report.open(recording)
    charts = report.browser.run("document.querySelectorAll('.uplot canvas').length")
    check(charts >= 2, f"{charts} charts of signals")
    before = report.browser.run(DRAWN.format("#stacks"))
    report.browser.run("document.getElementById('stacks').focus()")
    report.browser.key("ArrowDown")
    report.browser.key("Enter")
    check(report.browser.run(DRAWN.format("#stacks")) != before, "keys do nothing on the stacks")
    report.look("recording", recording)

    ranks = report.write("ranks", "trace", RANKS)
    report.open(ranks)
    check(report.browser.run("document.querySelectorAll('.heat').length") >= 8, "the map of ranks")
    report.look("ranks", ranks)

    sides = ["testdata/fed_small", "testdata/gc_every_step"]
    compared = report.write("compared", "compare", *sides, "--db", str(report.folder / "history.db"))
    report.open(compared)
    check(report.browser.run("document.querySelectorAll('#sides canvas').length") == 1, "the chart of both sides")
    report.look("compared", compared)

    file = report.write("file", "diagnose", "testdata/fed_small/trace.json.gz")
    report.open(file)
    report.quiet(file)


# Entries of the history that ships with the tests, by kind, and what each page must show.
KINDS = {
    "differential": (1, ".spans rect"),
    "fix": (10, ".spans .better"),
    "run": (2, "table.plain"),
    "comparison": (16, "#pairs canvas"),
    "sweep": (70, "#sweep-0 canvas"),
}


def documents(report):
    """Results that are no verdict."""
    for kind, (number, shows) in KINDS.items():
        page = report.write(kind, "history", "show", str(number), "--db", HISTORY)
        report.open(page)
        check(report.browser.run(f"!!document.querySelector('{shows}')"), f"{kind}: no {shows}")
        report.look(kind, page)
    for name, arguments in {
        "listed": ["history", "--db", HISTORY],
        "differs": ["diff", "testdata/fed_small", "testdata/gc_every_step"],
        "plan": ["plan", "--model", "llama-3-8b", "--gpu", "h100x8", "--seq", "8192", "--global-batch", "256"],
    }.items():
        page = report.write(name, *arguments)
        report.look(name, page)


def served(report, python):
    """`serve`: pages by address, and a program while it runs."""
    program = subprocess.Popen(
        [report.program, "serve", "testdata", "--db", HISTORY, "--listen", "127.0.0.1:0", "--lang", "en"],
        cwd=ROOT, stderr=subprocess.PIPE, text=True)
    trains = None
    try:
        said = program.stderr.readline()
        check("http://127.0.0.1:" in said, f"serve says {said}")
        root = said.split()[1]
        report.look("start", root)
        report.browser.run("[...document.querySelectorAll('a')].find((one) => one.textContent === 'fed_small').click()")
        until(lambda: "fed_small" in report.browser.run("location.pathname") and report.browser.run("!!document.querySelector('#timeline canvas')"), "the page of a recording")
        report.quiet(root + "recording/fed_small", may=[root])
        report.look("entry", root + "entry/70")
        # A page that is not there: the browser itself notes that.
        report.open(root + "recording/none")
        check("nothing of that name" in report.browser.run("document.querySelector('h1').innerText"), "what is not there")
        if not python:
            print("skipped: a program while it runs (needs PyTorch: --python)")
            return
        trains = subprocess.Popen([python, str(ROOT / "crates/whyidle/tests/programs/loader_wait.py"), "--workers", "2"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        live = f"{root}live/{trains.pid}"
        text = lambda id: report.browser.run(f"document.getElementById('{id}')?.textContent ?? ''")
        sentence = lambda: text("sentence")
        def told():
            if report.browser.run("document.querySelectorAll('#lines svg').length"):
                return True
            # It has not loaded PyTorch yet.
            if not sentence() or text("end"):
                report.open(live)
            return False
        report.open(live)
        until(told, "nothing is told of a running program")
        english = sentence()
        report.language("zh-CN")
        check(sentence() != english, "what is told stays English")
        report.quiet(live, may=[f"{live}/events"])
        trains.kill()
        trains.wait()
        until(lambda: "结束" in text("end"), "the end of a program is not told")
    finally:
        for one in [program, trains]:
            if one:
                one.kill()
                one.wait()


def until(holds, what, seconds=90):
    end = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < end, what)
        time.sleep(0.1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--program", required=True)
    arguments.add_argument("--python", help="one with PyTorch, for a program that runs")
    arguments.add_argument("--pictures", type=pathlib.Path, help="keep pictures of every page here")
    given = arguments.parse_args()
    browser = find()
    if not browser:
        print("skipped: no chromium here (WHYIDLE_TEST_BROWSER names another)")
        return 0
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(browser) as page:
        try:
            report = Report(page, os.path.abspath(given.program), pathlib.Path(folder), given.pictures)
            all_checks(report)
            documents(report)
            served(report, given.python)
        except Failed as failed:
            print(f"failed: {failed}")
            return 1
    print("reports: as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
