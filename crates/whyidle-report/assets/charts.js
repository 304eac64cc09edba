// Line charts: steps and how often each length came, signals, memory, pairs of a comparison.
(() => {
  const { data, drawn, word, tongue, time, bytes, share, colour, element } = whyidle;
  const made = new Map();

  /** Draws a chart anew: language, theme and width may have changed. */
  function chart(id, title, axes, series, values, high, more) {
    const box = document.getElementById(id);
    if (!box) return;
    if (made.has(id)) made.get(id).destroy();
    const ink = colour("soft");
    const grid = { stroke: colour("line"), width: 1 };
    const options = {
      title,
      width: Math.max(220, box.clientWidth),
      height: high || 220,
      scales: { x: { time: false, ...(more && more.x) }, y: { range: (_, low, top) => [0, top > 0 ? top * 1.08 : 1] } },
      axes: axes.map((axis) => ({ stroke: ink, grid, ticks: grid, font: "11px system-ui", labelFont: "11px system-ui", labelSize: 18, size: axis.side === 3 ? 64 : 40, ...axis })),
      series,
      bands: (more && more.bands) || [],
      legend: { live: true },
      cursor: { y: false },
    };
    made.set(id, new uPlot(options, values, box));
  }
  // What is counted has no halves.
  const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000];
  function axes(x, y, values) {
    return [{ label: x, ...(x === word("seconds") ? {} : { incrs: WHOLE }) }, { label: y, side: 3, values: (_, ticks) => ticks.map(values) }];
  }
  const line = (label, key, value, more) => ({ label, stroke: colour(key), width: 1.5, value: (_, v) => (v == null ? "–" : value(v)), ...more });

  function steps() {
    const { first, ns, outliers } = data.steps;
    const numbers = ns.map((_, at) => first + at);
    const marked = ns.map((one, at) => (outliers.includes(at) ? one : null));
    chart("steps", word("step-time"), axes(word("step-number"), "", time), [
      { label: word("step-number") },
      line(word("step-time"), "k-matmul", time, { points: { show: ns.length < 120 } }),
      line(word("outlier"), "k-host", time, { paths: () => null, points: { show: true, size: 8, stroke: colour("k-host"), fill: colour("k-host") } }),
    ], [numbers, ns, marked]);
    const low = Math.min(...ns);
    const wide = Math.max((Math.max(...ns) - low) / 24, 1);
    const counts = new Array(25).fill(0);
    ns.forEach((one) => counts[Math.min(24, Math.floor((one - low) / wide))]++);
    chart("histogram", word("steps"), [{ label: word("step-time"), values: (_, ticks) => ticks.map((one) => time(one)), space: 70 }, { side: 3, size: 44, incrs: WHOLE }], [
      { label: word("step-time"), value: (_, v) => (v == null ? "–" : time(v)) },
      { label: word("steps"), stroke: colour("k-matmul"), fill: colour("k-element"), paths: uPlot.paths.bars({ size: [0.95] }), points: { show: false } },
    ], [counts.map((_, at) => low + (at + 0.5) * wide), counts], 220, { x: { range: [low - wide / 2, low + 25.5 * wide] } });
  }

  function curves() {
    const { span, columns } = data.curves;
    const seconds = Array.from({ length: columns }, (_, at) => ((at + 0.5) * span) / columns / 1e9);
    const keys = { "gpu.resident": "k-unknown", "gpu.util": "k-unknown", "gpu.sm": "k-matmul", "gpu.tensor": "k-optimizer", "gpu.dram": "k-data", "gpu.power": "k-host", "cpu.program": "k-host" };
    const workers = ["k-matmul", "k-attention", "k-element", "k-optimizer", "k-work", "k-comm"];
    const of = (test) => data.curves.curves.filter(test);
    const drawAll = (id, list, title, value) => {
      if (!list.length) return;
      chart(id, title, axes(word("seconds"), "", value), [
        { label: word("seconds"), value: (_, v) => (v == null ? "–" : v.toFixed(1)) },
        ...list.map((one, at) => line(tongue(one.label), keys[one.id] || workers[at % workers.length], value, { points: { show: false }, dash: at >= workers.length ? [4, 3] : undefined })),
      ], [seconds, ...list.map((one) => one.values)], 240);
    };
    drawAll("curves", of((one) => one.id.startsWith("gpu.")), word("share"), share);
    drawAll("cores", of((one) => one.id.startsWith("cpu.")), word("cores"), (v) => v.toFixed(2));
  }

  function memory(one, at) {
    if (!one) return;
    const parts = document.getElementById("memory-" + at + "-parts");
    if (parts) {
      parts.replaceChildren(...one.parts.map((part) => {
        const row = element("div", undefined, "part");
        const track = element("div", undefined, "track");
        const fill = element("div", undefined, "fill");
        fill.style.width = (100 * part.bytes) / one.peak + "%";
        track.append(fill);
        row.append(element("span", tongue(part.label)), track, element("span", bytes(part.bytes), "n"));
        return row;
      }));
    }
    if (one.timeline.length < 2) return;
    const column = (index) => one.timeline.map((stretch) => stretch[index]);
    const marks = axes(word("seconds"), "", bytes);
    marks[1].incrs = Array.from({ length: 50 }, (_, power) => 2 ** power);
    chart("memory-" + at, "", marks, [
      { label: word("seconds"), value: (_, v) => (v == null ? "–" : v.toFixed(3)) },
      line(word("allocated"), "k-matmul", bytes, { points: { show: false } }),
      line(word("reserved"), "k-unknown", bytes, { points: { show: false }, dash: [4, 3] }),
    ], [column(0).map((ns) => ns / 1e9), column(2), column(3)]);
  }

  function pairs() {
    const numbers = data.pairs.map((_, at) => at + 1);
    chart("pairs", word("step-time"), axes(word("pair"), "", time), [
      { label: word("pair") },
      line("A", "k-unknown", time, { points: { show: true } }),
      line("B", "accent", time, { points: { show: true }, dash: [6, 3] }),
    ], [numbers, data.pairs.map((pair) => pair[0]), data.pairs.map((pair) => pair[1])]);
  }

  function sides() {
    const longest = Math.max(...data.sides.map((side) => side.length));
    const numbers = Array.from({ length: longest }, (_, at) => at);
    const padded = (side) => numbers.map((at) => (at < side.length ? side[at] : null));
    const names = data.sides.length === 1 ? [word("run")] : ["A", "B"];
    chart("sides", word("step-time"), axes(word("step-number"), "", time), [
      { label: word("step-number") },
      ...data.sides.map((_, at) => line(names[at], at ? "accent" : "k-unknown", time, { points: { show: false }, dash: at ? [6, 3] : undefined })),
    ], [numbers, ...data.sides.map(padded)]);
  }

  /** A setting: its values in their order at equal distances, the interval as a band, the chosen value and its plateau. */
  function sweep(one, at) {
    const names = one.values.map(tongue);
    const places = names.map((_, place) => place);
    const value = one.rate ? (v) => (v >= 100 ? v.toFixed(0) : v.toPrecision(3)) : time;
    const only = (keep) => one.figures.map((figure, place) => (keep(place) ? figure : null));
    const label = one.rate ? word("rate") : word("step-time");
    const marks = axes(word("value"), one.rate ? label : "", value);
    marks[0].splits = () => places;
    marks[0].values = (_, ticks) => ticks.map((place) => names[place] ?? "");
    const bare = { points: { show: false }, width: 0 };
    const series = [
      { label: word("value"), value: (_, place) => (place == null ? "–" : names[place]) },
      line(label, "k-matmul", value, { points: { show: true, size: 7 }, spanGaps: true }),
      ...(one.plateau ? [line(word("plateau"), "good", value, { width: 4, points: { show: false } })] : []),
      ...(one.chosen != null ? [line(word("chosen"), "good", value, { paths: () => null, points: { show: true, size: 13, stroke: colour("good"), width: 3 } })] : []),
      line("95 % −", "k-rest", value, bare),
      line("95 % +", "k-rest", value, bare),
    ];
    const [low, high] = [series.length - 2, series.length - 1];
    chart("sweep-" + at, label, marks, series, [
      places,
      one.figures,
      ...(one.plateau ? [only((place) => place >= one.plateau[0] && place <= one.plateau[1])] : []),
      ...(one.chosen != null ? [only((place) => place === one.chosen)] : []),
      one.low,
      one.high,
    ], 260, { x: { range: [-0.4, names.length - 0.6] }, bands: [{ series: [low, high], fill: colour("line") }] });
  }

  drawn(() => {
    if (data.steps) steps();
    if (data.curves) curves();
    if (data.memory) data.memory.forEach(memory);
    if (data.pairs) pairs();
    if (data.sides) sides();
    if (data.sweeps) data.sweeps.forEach(sweep);
  });
})();
