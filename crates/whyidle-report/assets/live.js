// A running program: what events tell, in the language shown.
(() => {
  const { data, drawn, tongue, element } = whyidle;
  const at = (id) => document.getElementById(id);
  let told = null;
  let end = null;

  function bar(line) {
    const row = element("div", undefined, "barline");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 1000 20");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    rect.setAttribute("class", line.class);
    rect.setAttribute("width", String(1000 * Math.min(line.share, 1)));
    rect.setAttribute("height", "20");
    svg.append(rect);
    row.append(element("span", tongue(line.name), "of"), svg, element("span", tongue(line.text), "n"));
    return row;
  }

  function finding(one) {
    const made = element("div", undefined, "finding");
    made.append(element("h3", tongue(one.name)), element("p", tongue(one.cost), "faint"), element("p", tongue(one.summary)));
    return made;
  }

  function show() {
    if (end) at("end").textContent = tongue(end);
    if (!told) return;
    for (const id of ["sentence", "then", "step", "working", "resident", "confidence", "seen"]) {
      const text = told[id] ? tongue(told[id]) : "–";
      if (at(id).textContent !== text) at(id).textContent = id === "then" && !told[id] ? "" : text;
    }
    at("lines").replaceChildren(...(told.lines || []).map(bar));
    at("findings").replaceChildren(...(told.findings || []).map(finding));
  }

  const events = new EventSource("/live/" + data.pid + "/events");
  events.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.end) {
      end = message.end;
      events.close();
    } else {
      told = message;
      end = null;
    }
    show();
  };
  drawn(show);
})();
