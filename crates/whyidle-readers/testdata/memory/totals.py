"""The totals of memory snapshots, by Python's own pickle: what the tests hold whyidle's against. Prints JSON.

    python3 totals.py FILE…
"""

import gzip
import json
import pickle
import sys
from bisect import bisect_right, insort


def rounded(size):
    return -(-size // 512) * 512


def of_device(snapshot, device, trace):
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    end = {
        "allocated": sum(segment["allocated_size"] for segment in segments),
        "active": sum(segment["active_size"] for segment in segments),
        "requested": sum(segment["requested_size"] for segment in segments),
        "reserved": sum(segment["total_size"] for segment in segments),
    }
    # Blocks that were there before the history: held at the end, never handed out in it.
    handed_out = {event["addr"] for event in trace if event["action"] == "alloc"}
    live = {}
    for segment in segments:
        for block in segment["blocks"]:
            if block["state"] != "inactive" and block["address"] not in handed_out:
                live[block["address"]] = (block["size"], block["requested_size"])
    held = set()
    for event in trace:
        if event["action"] == "alloc":
            held.add(event["addr"])
        elif event["action"] == "free_completed":
            if event["addr"] not in held and event["addr"] not in live:
                live[event["addr"]] = (rounded(event["size"]), event["size"])
            held.discard(event["addr"])
    places = {segment["address"]: (segment["address"] + segment["total_size"], segment["total_size"]) for segment in segments}
    for event in reversed(trace):
        if event["action"] == "segment_alloc":
            places.pop(event["addr"], None)
        elif event["action"] == "segment_free":
            places[event["addr"]] = (event["addr"] + event["size"], event["size"])

    def walk(start):
        """The totals after each event; what is handed out in a large segment takes rests of at most 1 MiB along."""
        here, where = dict(live), dict(places)
        order, starts = sorted(here), sorted(where)
        pending = set()
        now = dict(start)
        for event in trace:
            address, size, action = event.get("addr"), event["size"], event["action"]
            if action == "alloc":
                block = rounded(size)
                at = bisect_right(starts, address) - 1
                if at >= 0 and where[starts[at]][1] > 2 << 20 and address + block <= where[starts[at]][0]:
                    after = bisect_right(order, address)
                    until = min([where[starts[at]][0]] + order[after:after + 1])
                    room = until - address - block
                    block += room if 0 <= room <= 1 << 20 else 0
                here[address] = (block, size)
                insort(order, address)
                now["allocated"] += block
                now["active"] += block
                now["requested"] += size
            elif action in ("free_requested", "free_completed") and address in here:
                if address not in pending:
                    now["allocated"] -= here[address][0]
                    now["requested"] -= here[address][1]
                    pending.add(address)
                if action == "free_completed":
                    now["active"] -= here.pop(address)[0]
                    order.remove(address)
                    pending.discard(address)
            elif action == "segment_alloc":
                where[address] = (address + size, size)
                insort(starts, address)
                now["reserved"] += size
            elif action == "segment_free":
                where.pop(address)
                starts.remove(address)
                now["reserved"] -= size
            yield now

    zero = {"allocated": 0, "active": 0, "requested": 0, "reserved": 0}
    last = dict(zero)
    for last in walk(zero):
        pass
    start = {key: end[key] - last[key] for key in end}
    peak, reserved = dict(start), start["reserved"]
    for now in walk(start):
        reserved = max(reserved, now["reserved"])
        if now["allocated"] > peak["allocated"]:
            peak = dict(now)
    return {"device": device, "end": end, "peak": peak, "peak_reserved": reserved, "events": len(trace)}


def main():
    found = []
    for path in sys.argv[1:]:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            snapshot = pickle.load(file)
        traces = snapshot["device_traces"]
        devices = {segment["device"] for segment in snapshot["segments"]}
        devices |= {device for device, trace in enumerate(traces) if trace}
        found.append([
            of_device(snapshot, device, traces[device] if device < len(traces) else []) for device in sorted(devices)
        ])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
