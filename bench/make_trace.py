#!/usr/bin/env python3
"""Makes a long profiler trace out of a short one, by repeating it.

Each repeat has its times, correlations, external ids, flow ids, sequence numbers and step numbers
shifted, so that the result reads like one longer recording. Minified JSON, gzip level 6; the same
source and count always give the same bytes. Memory holds the source only.

    make_trace.py SOURCE OUT.json.gz (--events N | --bytes N | --repeats N)
"""

import argparse
import gzip
import json
import re
import sys

# Ids that pair events with each other. One shift serves all: it only has to exceed each of them.
EVENT_IDS = ("id",)
ARG_IDS = (
    "External id",
    "external id",
    "correlation",
    "wait_on_cuda_event_record_corr_id",
    "Record function id",
    "Ev Idx",
    "Sequence number",
    "Python id",
    "Python parent id",
    "Seq",
)
STEP = re.compile(r"^(ProfilerStep\s?#)(\d+)$")
# Events per template: large enough to be quick, small enough to stay small.
BLOCK = 4096
HOLE = "\x01"


class Decimal(float):
    """A number with a point, which remembers how it was written."""

    def __new__(cls, text):
        number = super().__new__(cls, text)
        number.text = text
        return number


def nanoseconds(ts):
    """A time in µs, exactly, and whether it was written with a point."""
    text = ts.text if isinstance(ts, Decimal) else str(ts)
    whole, _, fraction = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    return int(whole) * 1000 + sign * int((fraction + "000")[:3]), bool(fraction)


def is_id(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_end(event):
    """The mark of the recording's end."""
    return event.get("name") == "Record Window End"


def repeats_once(event):
    """Metadata and the profiler's own spans belong to the whole recording."""
    return event.get("ph") == "M" or event.get("cat") == "Trace" or "ts" not in event


def survey(events):
    """The length of one repeat (ns), the shift of ids and that of step numbers."""
    first, last, ids, steps = None, None, 0, set()
    for event in events:
        args = event.get("args") or {}
        ids = max([ids, *(event[key] for key in EVENT_IDS if is_id(event.get(key)))])
        ids = max([ids, *(args[key] for key in ARG_IDS if is_id(args.get(key)))])
        if repeats_once(event):
            continue
        step = STEP.match(event.get("name", ""))
        if step:
            steps.add(int(step[2]))
        if event.get("ph") == "X":
            start, _ = nanoseconds(event["ts"])
            end = start + nanoseconds(event.get("dur", 0))[0]
            first = start if first is None else min(first, start)
            last = end if last is None else max(last, end)
    if first is None:
        sys.exit("make_trace: no events with a length in the source")
    return last - first + 1_000_000, ids + 1, max(steps) - min(steps) + 1 if steps else 0


class Block:
    """Events as one text with holes, and what goes into each hole."""

    def __init__(self, events):
        self.holes = []
        self.template = ",".join(self.event(event) for event in events)

    def hole(self, kind, value):
        self.holes.append((kind, value))
        return HOLE + str(len(self.holes) - 1) + HOLE

    def event(self, event):
        # Holes are numbered in the order of the keys, which is the order they are written in.
        out = {}
        for key, value in event.items():
            if key == "ts":
                time, has_point = nanoseconds(value)
                kind = "text" if isinstance(value, str) else "point" if has_point else "whole"
                value = self.hole(kind, time)
            elif key in EVENT_IDS and is_id(value):
                value = self.hole("id", value)
            elif key == "name" and isinstance(value, str) and STEP.match(value):
                prefix, number = STEP.match(value).groups()
                value = prefix + self.hole("step", int(number))
            elif key == "args" and isinstance(value, dict):
                value = {
                    name: self.hole("id", arg) if name in ARG_IDS and is_id(arg) else arg
                    for name, arg in value.items()
                }
            out[key] = value
        return dump(out)

    def finish(self):
        """Turns the template into a format; holes inside a string keep its quotes."""
        text = self.template.replace("%", "%%")
        mark = json.dumps(HOLE)[1:-1]

        def fill(match):
            kind = self.holes[int(match[2])][0]
            quoted = match[1] and match[3]
            return '"%s"' if kind == "text" else "%s" if quoted else match[1] + "%s" + match[3]

        pattern = '("?)' + re.escape(mark) + r"(\d+)" + re.escape(mark) + '("?)'
        self.template = re.sub(pattern, fill, text)
        return self

    def repeat(self, at, length, ids, steps):
        values = []
        for kind, value in self.holes:
            if kind == "id":
                values.append(value + at * ids)
            elif kind == "step":
                values.append(value + at * steps)
            else:
                time = value + at * length
                values.append(microseconds(time) if kind != "whole" else time // 1000)
        return self.template % tuple(values)


def microseconds(time):
    sign = "-" if time < 0 else ""
    return f"{sign}{abs(time) // 1000}.{abs(time) % 1000:03d}"


def dump(value):
    return json.dumps(value, separators=(",", ":"))


def stretch(event, extra):
    """Events of the whole recording: its spans last longer, its end comes later."""
    event = dict(event)
    if event.get("cat") == "Trace" and extra and "dur" in event:
        event["dur"] = (nanoseconds(event["dur"])[0] + extra) / 1000
    return event


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("out")
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--events", type=float, help="about so many events")
    size.add_argument("--bytes", type=float, help="about so many bytes of JSON")
    size.add_argument("--repeats", type=int)
    options = parser.parse_args()

    raw = open(options.source, "rb").read()
    if raw.startswith(b"\x1f\x8b"):
        raw = gzip.decompress(raw)
    document = json.loads(raw, parse_float=Decimal)
    del raw
    if isinstance(document, list):
        document = {"traceEvents": document}
    events = document["traceEvents"]
    length, ids, steps = survey(events)
    once = [event for event in events if repeats_once(event)]
    ends = [event for event in events if is_end(event)]
    repeated = [event for event in events if not repeats_once(event) and not is_end(event)]
    blocks = [Block(repeated[at : at + BLOCK]).finish() for at in range(0, len(repeated), BLOCK)]
    del events, document["traceEvents"]

    if options.repeats:
        repeats = options.repeats
    elif options.events:
        repeats = max(1, round((options.events - len(once)) / len(repeated)))
    else:
        repeats = max(1, round(options.bytes / sum(len(block.repeat(0, 0, 0, 0)) for block in blocks)))
    if repeats * ids >= 1 << 31:
        sys.exit(f"make_trace: ids of {repeats} repeats would not fit")
    extra = (repeats - 1) * length

    written = 0
    with open(options.out, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as out:

        def write(text):
            nonlocal written
            data = text.encode()
            written += len(data)
            out.write(data)

        write("{")
        for key, value in document.items():
            write(dump(key) + ":" + dump(value) + ",")
        write('"traceEvents":[')
        write(",".join(dump(stretch(event, extra)) for event in once))
        for at in range(repeats):
            for number, block in enumerate(blocks):
                if once or at or number:
                    write(",")
                write(block.repeat(at, length, ids, steps))
        for end in ends:
            write("," + Block([end]).finish().repeat(repeats - 1, length, ids, steps))
        write("]}\n")
    count = len(once) + repeats * len(repeated) + len(ends)
    print(json.dumps({"repeats": repeats, "events": count, "bytes": written}))


if __name__ == "__main__":
    main()
