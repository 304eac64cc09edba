// Stacks as an icicle on a canvas: outer frames above.
(() => {
  const { data, drawn, word, share, colour, showTip, hideTip } = whyidle;
  const box = document.getElementById("stacks");
  if (!box || !data.stacks) return;
  const HIGH = 19;
  const nodes = data.stacks.map(([around, text, weight]) => ({ around, text, weight, below: [], depth: 0 }));
  const top = { around: -1, text: "", weight: 0, below: [], depth: -1 };
  nodes.forEach((node) => {
    const outer = node.around < 0 ? top : nodes[node.around];
    node.outer = outer;
    node.depth = outer.depth + 1;
    outer.below.push(node);
    if (outer === top) top.weight += node.weight;
  });
  let shown = top;
  let focus = nodes[0];
  let placed = [];
  const canvas = document.createElement("canvas");
  canvas.setAttribute("aria-hidden", "true");
  box.append(canvas);
  const pen = canvas.getContext("2d");
  const said = document.getElementById("stack");

  function place() {
    placed = [];
    const path = [];
    for (let node = shown; node && node !== top; node = node.outer) path.unshift(node);
    path.slice(0, -1).forEach((node, depth) => placed.push({ node, depth, from: 0, to: 1 }));
    const base = Math.max(0, path.length - 1);
    const lay = (node, from, to, depth) => {
      if (node !== top) placed.push({ node, depth, from, to });
      let at = from;
      for (const inner of node.below) {
        const wide = ((to - from) * inner.weight) / node.weight;
        lay(inner, at, at + wide, node === top ? 0 : depth + 1);
        at += wide;
      }
    };
    lay(shown, 0, 1, base);
    return Math.max(...placed.map((one) => one.depth), 0) + 1;
  }

  function draw() {
    const rows = place();
    const width = box.clientWidth;
    const height = rows * HIGH + 2;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "11.5px ui-monospace, monospace";
    pen.textBaseline = "middle";
    const fills = ["k-rest", "sheet"].map(colour);
    const ink = colour("ink");
    const accent = colour("accent");
    for (const one of placed) {
      const left = one.from * width;
      const wide = (one.to - one.from) * width;
      if (wide < 0.7) continue;
      const y = one.depth * HIGH + 1;
      pen.fillStyle = fills[one.depth % 2];
      pen.fillRect(left, y, Math.max(wide - 1, 0.6), HIGH - 1);
      if (one.node === focus) {
        pen.strokeStyle = accent;
        pen.lineWidth = 2;
        pen.strokeRect(left + 1, y + 1, Math.max(wide - 3, 1), HIGH - 3);
      }
      const most = Math.floor((wide - 8) / 7);
      if (most > 3) {
        pen.fillStyle = ink;
        const text = one.node.text;
        pen.fillText(text.length > most ? text.slice(0, most - 1) + "…" : text, left + 5, y + HIGH / 2);
      }
    }
    said.textContent = focus ? describe(focus).join(" · ") : "";
  }
  function describe(node) {
    return [node.text, node.weight + " " + word("samples") + ", " + share(node.weight / top.weight)];
  }
  function under(event) {
    const rect = canvas.getBoundingClientRect();
    const x = (event.clientX - rect.left) / rect.width;
    const depth = Math.floor((event.clientY - rect.top - 1) / HIGH);
    const found = placed.find((one) => one.depth === depth && x >= one.from && x < one.to);
    return found ? found.node : null;
  }
  canvas.addEventListener("pointermove", (event) => {
    const node = under(event);
    node ? showTip(describe(node), event.clientX, event.clientY) : hideTip();
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("click", (event) => {
    const node = under(event);
    if (!node) return;
    focus = node;
    shown = shown === node ? top : node;
    draw();
  });
  document.getElementById("stacks-reset").addEventListener("click", () => {
    shown = top;
    draw();
  });
  box.addEventListener("keydown", (event) => {
    const beside = focus.outer.below;
    const at = beside.indexOf(focus);
    const to = { ArrowDown: focus.below[0], ArrowUp: focus.outer === top ? null : focus.outer, ArrowRight: beside[at + 1], ArrowLeft: beside[at - 1] };
    if (event.key === "Enter") shown = shown === focus ? top : focus;
    else if (event.key === "Escape") shown = top;
    else if (!(event.key in to)) return;
    else focus = to[event.key] || focus;
    event.preventDefault();
    draw();
  });
  drawn(draw);
})();
