"""What a scrape target says, read as simply as can be: the text format of Prometheus."""

import re

# A name, labels, and a value; time stamps are not used.
LINE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)')
ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def series(text):
    """The value of each series, by its name and labels as `((name, {labels}), line)`."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = LINE.match(line).groups()
            unescape = lambda value: re.sub(r'\\[\\"n]', lambda match: ESCAPED[match[0]], value)
            pairs = {key: unescape(value) for key, value in LABEL.findall(labels or "")}
            # Prometheus keeps no empty label.
            key = frozenset({"__name__": name, **{key: value for key, value in pairs.items() if value}}.items())
            if key in found:
                raise ValueError(f"twice: {line}")
            found[key] = float(value)
    return found


def kinds(text):
    """The declared kind of each metric."""
    return dict(line.split(" ")[2:4] for line in text.splitlines() if line.startswith("# TYPE "))


def growing(text, rates):
    """The exposition of each scrape: series whose line begins so grow by that much a scrape; or are set, by `=`."""
    lines = text.splitlines()

    def scrape(number):
        out = []
        for line in lines:
            head, _, value = line.rpartition(" ")
            for start, rate in rates.items():
                if line.startswith(start):
                    value = str(rate[1:] if isinstance(rate, str) else float(value) + rate * number)
            out.append(f"{head} {value}" if head else line)
        return "\n".join(out) + "\n"

    return scrape
