// One step in time: the GPU's own lane with its gaps, its streams, and the host's threads, on a canvas.
(() => {
  const { data, drawn, word, time, share, colour, element, showTip, hideTip } = whyidle;
  const box = document.getElementById("timeline");
  const all = data.timeline;
  if (!box || !all) return;

  // Flat numbers into blocks.
  function blocks(flat, width) {
    const out = [];
    let start = 0;
    for (let at = 0; at < flat.length; at += width) {
      start += flat[at];
      const block = { start, end: start + flat[at + 1], line: flat[at + 2], name: flat[at + 3], count: flat[at + 4], idle: 0 };
      if (width === 7) [block.idle, block.waited] = [flat[at + 5], flat[at + 6]];
      out.push(block);
    }
    return out;
  }
  function twos(flat) {
    const out = [];
    for (let at = 0; at < flat.length; at += 2) out.push([flat[at], flat[at + 1]]);
    return out;
  }
  const gaps = all.gaps.map(([start, length, lines, parts, host, ended, operator, frame]) => {
    const end = start + length;
    // A gap of one line says only which.
    const own = Array.isArray(lines) ? twos(lines) : [[lines, length]];
    let now = start;
    const drawn = (parts ? twos(parts) : own).map(([line, ns]) => [now, (now += ns), line]);
    return { start, end, lines: own, parts: drawn, host: twos(host), ended, operator, frame, isGap: true };
  });
  const lanes = [
    { kind: "device", height: 34, blocks: blocks(all.busy, 7) },
    ...all.streams.map((lane) => ({ kind: "stream", height: 16, number: lane.number, blocks: blocks(lane.blocks, 5) })),
    ...all.host.map((lane) => ({ kind: "host", height: 14, number: lane.number, name: lane.name, depth: lane.depth, blocks: blocks(lane.blocks, 5) })),
  ];
  const LABEL = 14;
  const AXIS = 20;

  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  box.append(canvas);
  const pen = canvas.getContext("2d");
  const shownView = document.getElementById("view");
  const told = document.getElementById("gap");
  let from = 0;
  let to = all.length;
  let chosen = -1;

  function lineName(index) {
    const line = data.lines[index];
    return whyidle.tongue([line[1], line[2]]);
  }
  function nameOf(index) {
    return index < 0 ? word("merged") : all.names[index];
  }
  function labelOf(lane) {
    if (lane.kind === "device") return word("device");
    if (lane.kind === "stream") return word("stream", { number: lane.number });
    return lane.depth ? "" : word("thread", { name: lane.name || String(lane.number) });
  }

  function place() {
    let y = AXIS;
    for (const lane of lanes) {
      if (labelOf(lane)) y += LABEL;
      lane.y = y;
      y += lane.height + 3;
    }
    return y + 4;
  }

  let fills = {};
  function fill(index, lane) {
    let key = data.lines[index][3];
    // Ordinary host work is no wait: only what the GPU may wait for by name has a colour of its own.
    if (lane && lane.kind === "host" && (key === "k-host" || key === "k-rest")) key = lane.depth % 2 ? "k-rest" : "k-work";
    return (fills[key] = fills[key] || colour(key));
  }

  function draw() {
    fills = {};
    const width = box.clientWidth;
    const height = place();
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const ink = colour("ink");
    const soft = colour("soft");
    const paper = colour("paper");
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const x = (t) => ((t - from) / (to - from)) * width;

    // The axis: about six marks at round times.
    const rough = (to - from) / Math.max(2, Math.floor(width / 130));
    const power = 10 ** Math.floor(Math.log10(rough));
    const every = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
    pen.fillStyle = soft;
    for (let t = Math.ceil(from / every) * every; t <= to; t += every) {
      pen.fillRect(Math.round(x(t)), 0, 1, 5);
      pen.fillText(time(t), Math.min(Math.round(x(t)) + 3, width - 44), 11);
    }

    for (const lane of lanes) {
      const label = labelOf(lane);
      if (label) {
        pen.fillStyle = soft;
        pen.fillText(label, 4, lane.y - LABEL / 2);
      }
      drawBlocks(lane, x, width);
    }
    drawGaps(x, width, ink, paper);
    shownView.textContent = word("view", { from: time(Math.round(from)), to: time(Math.round(to)) });
  }

  function drawBlocks(lane, x, width) {
    let edge = -1;
    for (const block of lane.blocks) {
      if (block.end < from || block.start > to) continue;
      const left = Math.max(0, x(block.start));
      const right = Math.min(width, x(block.end));
      // What is narrower than a pixel is drawn once a pixel.
      if (right - left < 0.5 && right <= edge) continue;
      const wide = Math.max(0.6, right - left - (right - left > 3 ? 0.6 : 0));
      edge = left + wide;
      const free = block.idle ? Math.round((lane.height * block.idle) / (block.end - block.start)) : 0;
      if (free) {
        pen.globalAlpha = 0.55;
        pen.fillStyle = fill(block.waited);
        pen.fillRect(left, lane.y, wide, free);
        pen.globalAlpha = 1;
      }
      pen.fillStyle = fill(block.line, lane);
      pen.fillRect(left, lane.y + free, wide, lane.height - free);
      if (lane.kind !== "device" && right - left > 46) text(nameOf(block.name), left, lane.y, right - left, lane.height, fill(block.line, lane));
    }
  }

  function text(said, left, top, wide, high, under) {
    const most = Math.floor((wide - 8) / 6);
    if (most < 4) return;
    pen.fillStyle = dark(under) ? "#ffffff" : "#101214";
    pen.fillText(said.length > most ? said.slice(0, most - 1) + "…" : said, left + 4, top + high / 2 + 0.5);
  }

  function dark(hex) {
    const value = parseInt(hex.slice(1), 16);
    return 0.299 * (value >> 16) + 0.587 * ((value >> 8) & 255) + 0.114 * (value & 255) < 140;
  }

  /** Gaps are hatched, each family of waits at its own angle: colour is not the only sign. */
  function drawGaps(x, width, ink, paper) {
    const lane = lanes[0];
    gaps.forEach((gap, index) => {
      if (gap.end < from || gap.start > to) return;
      for (const [start, end, line] of gap.parts) {
        const left = Math.max(0, x(start));
        const right = Math.min(width, x(end));
        if (right <= 0 || left >= width) continue;
        const wide = Math.max(0.6, right - left);
        pen.fillStyle = fill(line);
        pen.globalAlpha = 0.9;
        pen.fillRect(left, lane.y, wide, lane.height);
        pen.globalAlpha = 1;
        if (wide > 7) hatch(left, lane.y, wide, lane.height, data.lines[line][3], paper);
        if (wide > 70) {
          const said = lineName(line);
          const wanted = pen.measureText(said).width + 10;
          if (wanted < wide) {
            pen.fillStyle = paper;
            pen.fillRect(left + 4, lane.y + 9, wanted, 16);
            pen.fillStyle = ink;
            pen.fillText(said, left + 9, lane.y + 17.5);
          }
        }
      }
      if (index === chosen) {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.strokeRect(x(gap.start) - 1, lane.y - 2, Math.max(3, x(gap.end) - x(gap.start)) + 2, lane.height + 4);
      }
    });
  }

  const SLOPES = { "k-data": 1, "k-host": -1, "k-sync": 0, "k-comm": 2, "k-other": 3 };
  function hatch(left, top, wide, high, key, paper) {
    const slope = SLOPES[key];
    if (slope === undefined) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, high);
    pen.clip();
    pen.strokeStyle = paper;
    pen.globalAlpha = 0.35;
    pen.lineWidth = 1;
    pen.beginPath();
    const step = 7;
    if (slope === 0 || slope === 3) for (let y = top + step / 2; y < top + high; y += step) line(left, y, left + wide, y);
    if (slope === 2 || slope === 3) for (let at = left + step / 2; at < left + wide; at += step) line(at, top, at, top + high);
    if (slope === 1) for (let at = left - high; at < left + wide; at += step) line(at, top + high, at + high, top);
    if (slope === -1) for (let at = left - high; at < left + wide; at += step) line(at, top, at + high, top + high);
    pen.stroke();
    pen.restore();
    function line(x1, y1, x2, y2) {
      pen.moveTo(x1, y1);
      pen.lineTo(x2, y2);
    }
  }

  // Moving about.
  function show(start, end) {
    const span = Math.min(all.length, Math.max(end - start, Math.max(all.length / 1e5, 2000)));
    from = Math.max(0, Math.min(start, all.length - span));
    to = from + span;
    draw();
  }
  function zoom(factor, at) {
    const middle = at === undefined ? (from + to) / 2 : at;
    show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }
  function timeAt(event) {
    const rect = canvas.getBoundingClientRect();
    return from + ((event.clientX - rect.left) / rect.width) * (to - from);
  }
  function laneAt(event) {
    const y = event.clientY - canvas.getBoundingClientRect().top;
    return lanes.find((one) => y >= one.y && y < one.y + one.height);
  }
  function under(event) {
    const lane = laneAt(event);
    if (!lane) return null;
    const t = timeAt(event);
    const slack = ((to - from) / canvas.clientWidth) * 2;
    let found = null;
    if (lane.kind === "device") found = gaps.find((gap) => t >= gap.start && t < gap.end) || null;
    found = found || lane.blocks.find((one) => t >= one.start && t < one.end);
    return found || (lane.kind === "device" && nearest(gaps, t, slack)) || nearest(lane.blocks, t, slack);
  }
  function nearest(list, t, slack) {
    return list.find((one) => t >= one.start - slack && t <= one.end + slack) || null;
  }

  function describe(one, lane) {
    if (one.isGap) return [lineName(one.lines[0][0]) + " · " + time(one.end - one.start), one.ended >= 0 ? word("ended-by", { name: all.names[one.ended] }) : ""];
    const lines = [nameOf(one.name), lane && lane.kind === "host" ? time(one.end - one.start) : lineName(one.line) + " · " + time(one.end - one.start)];
    if (one.count > 1) lines.push(word("count", { count: one.count, time: time(one.end - one.start) }));
    if (one.idle) lines.push(word("idle", { time: time(one.idle), line: lineName(one.waited) }));
    return lines;
  }

  /** What a gap is, in words, below the picture. */
  function explain(index) {
    chosen = index;
    told.classList.toggle("chosen", index >= 0);
    const gap = gaps[index];
    if (!gap) return;
    const length = gap.end - gap.start;
    const head = element("h3", word("waited", { line: lineName(gap.lines[0][0]) }));
    const size = element("p", word("gap-of", { time: time(length), share: share(length / all.length), at: time(gap.start) }));
    const made = element("ul");
    if (gap.lines.length > 1) {
      for (const [line, ns] of gap.lines) {
        const item = element("li");
        item.append(element("span", "", "key " + data.lines[line][3]), lineName(line) + " " + time(ns));
        made.append(item);
      }
    }
    const host = gap.host.map(([name, ns]) => nameOf(name) + " " + time(ns)).join(" · ") || word("nothing-recorded");
    const parts = [head, size];
    if (made.children.length) parts.push(made);
    parts.push(element("p", word("host", { events: host })));
    if (gap.ended >= 0) {
      let ended = word("ended-by", { name: all.names[gap.ended] });
      if (gap.operator >= 0) ended += " · " + word("launched-by", { name: all.names[gap.operator] });
      if (gap.frame >= 0) ended += " · " + word("from", { name: all.names[gap.frame] });
      parts.push(element("p", ended, "faint small"));
    }
    told.replaceChildren(...parts);
  }

  function goTo(index) {
    if (!gaps.length) {
      told.replaceChildren(element("p", word("no-match")));
      return;
    }
    explain((index + gaps.length) % gaps.length);
    const gap = gaps[chosen];
    const length = gap.end - gap.start;
    const span = Math.max(length * 3, Math.min(to - from, all.length));
    if (gap.start < from || gap.end > to || length < (to - from) / 60) {
      const wanted = Math.max(length * 6, all.length / 2000);
      show(gap.start + length / 2 - Math.min(wanted, span) / 2, gap.start + length / 2 + Math.min(wanted, span) / 2);
    } else draw();
  }
  function longest() {
    let best = 0;
    gaps.forEach((gap, at) => {
      if (gap.end - gap.start > gaps[best].end - gaps[best].start) best = at;
    });
    goTo(best);
  }
  const does = {
    in: () => zoom(0.5),
    out: () => zoom(2),
    all: () => show(0, all.length),
    next: () => goTo(chosen < 0 ? gaps.findIndex((gap) => gap.start >= from) : chosen + 1),
    previous: () => goTo(chosen < 0 ? gaps.length - 1 : chosen - 1),
    longest,
  };
  box.parentElement.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", does[button.dataset.do]));

  const keys = { "+": does.in, "=": does.in, "-": does.out, 0: does.all, n: does.next, p: does.previous };
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowLeft: -0.2, ArrowRight: 0.2 }[event.key];
    const zoomed = { ArrowUp: 0.6, ArrowDown: 1 / 0.6 }[event.key];
    if (move) show(from + move * (to - from), to + move * (to - from));
    else if (zoomed) zoom(zoomed);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, { passive: false });
  const held = new Map();
  let moved = false;
  let pinch = 0;
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, event.clientX);
    canvas.setPointerCapture(event.pointerId);
    moved = false;
    pinch = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) {
      const one = under(event);
      one ? showTip(describe(one, laneAt(event)), event.clientX, event.clientY) : hideTip();
      return;
    }
    const before = held.get(event.pointerId);
    held.set(event.pointerId, event.clientX);
    if (held.size === 2) {
      const [a, b] = [...held.values()];
      const apart = Math.abs(a - b);
      if (pinch) zoom(pinch / Math.max(apart, 1), timeAt({ clientX: (a + b) / 2 }));
      pinch = apart;
      moved = true;
    } else if (Math.abs(event.clientX - before) > 0) {
      const by = ((before - event.clientX) / canvas.clientWidth) * (to - from);
      if (Math.abs(event.clientX - before) > 1) moved = true;
      show(from + by, to + by);
    }
  });
  function release(event) {
    held.delete(event.pointerId);
  }
  canvas.addEventListener("pointerup", (event) => {
    release(event);
    if (moved) return;
    const one = under(event);
    if (one && one.isGap) {
      explain(gaps.indexOf(one));
      draw();
    } else if (one) told.replaceChildren(...describe(one, laneAt(event)).map((line) => element("p", line)));
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", hideTip);

  drawn(() => {
    draw();
    if (chosen >= 0) explain(chosen);
  });
})();
