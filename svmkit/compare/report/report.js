(() => {
  "use strict";
  const { sets, solvers } = JSON.parse(document.getElementById("data").textContent);
  const CHARTS = [
    { id: "time-gap", x: "seconds", y: "gap" },
    { id: "iterations-gap", x: "n_iter", y: "gap" },
    { id: "time-accuracy", x: "seconds", y: "accuracy" },
    { id: "support-accuracy", x: "n_support", y: "accuracy" },
  ];
  const AXES = {
    seconds: "training time (seconds)",
    n_iter: "iterations",
    n_support: "support vectors",
    gap: "relative duality gap",
    accuracy: "test accuracy (%)",
  };
  const BELOW = 0.1; // how far under the worst result accuracies are shown
  const DASHES = { solid: "", dash: "7 3", dot: "2 2", dashdot: "7 2 2 2" };
  const SHAPES = {
    circle: "M21 6a4 4 0 1 1-8 0a4 4 0 1 1 8 0",
    square: "M13.5 2.5h7v7h-7z",
    diamond: "M17 1.2l4.8 4.8l-4.8 4.8l-4.8-4.8z",
    "triangle-up": "M17 1.5l4.6 8h-9.2z",
    x: "M13 3.8l1.8-1.8l2.2 2.2l2.2-2.2l1.8 1.8l-2.2 2.2l2.2 2.2l-1.8 1.8l-2.2-2.2l-2.2 2.2l-1.8-1.8l2.2-2.2z",
  };
  const hidden = new Set();
  const byId = (id) => document.getElementById(id);
  const checked = (id) => byId(id).checked;
  const literally = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;"); // plotly reads tags
  const short = (x) => (x === null ? "unknown" : Number(x.toPrecision(3)).toString());
  const tiny = (x) => (x === null ? "unknown" : x.toExponential(1));

  const titleOf = (axis, set) => (axis === "accuracy" && set.measure === "R2" ? "test R2" : AXES[axis]);

  function words(run, at, ended, set) {
    const solver = literally(solvers[run.solver].name);
    const lines = [
      `<b>${solver}</b>, ${run.run}`,
      ended ? `the end: ${literally(run.status)}` : "on the way",
      `${short(at.seconds)} seconds, ${at.n_iter === null ? "unknown" : at.n_iter.toLocaleString("en")} iterations`,
      `${ended ? "certified" : "estimated"} gap ${tiny(at.gap)}`,
    ];
    if (at.n_support !== null) lines.push(`${at.n_support.toLocaleString("en")} support vectors`);
    const r2 = set.measure === "R2";
    if (at.accuracy !== null) lines.push(r2 ? `test R2 ${at.accuracy.toFixed(4)}` : `test accuracy ${(100 * at.accuracy).toFixed(2)} %`);
    return lines.join("<br>");
  }

  const isLog = (axis) => (axis === "gap" ? checked("log-gap") : axis !== "accuracy" && checked("log-x"));

  function lowest(set) {
    const ends = set.runs.map((run) => run.end.accuracy).filter((value) => value !== null);
    return checked("near") && ends.length ? Math.min(...ends) - BELOW : -Infinity;
  }

  function drawn(axis, value, set) {
    if (value === null) return null;
    if (axis === "accuracy") return value < lowest(set) ? null : set.measure === "R2" ? value : 100 * value;
    if (isLog(axis) && value <= 0) return axis === "gap" ? set.floor : null;
    return value;
  }

  function traces(set, chart) {
    const found = [];
    const several = new Set(set.runs.map((run) => run.run)).size > 1;
    for (const run of set.runs) {
      const how = solvers[run.solver];
      const shared = { name: how.name, hoverinfo: "text", legendgroup: how.name, meta: run.solver, visible: !hidden.has(run.solver) };
      const put = (points, ended) => {
        const seen = points.filter((at) => at[chart.x] !== null && at[chart.y] !== null);
        if (!seen.length) return;
        found.push({
          ...shared,
          type: "scatter",
          mode: ended ? "markers" : "lines",
          x: seen.map((at) => drawn(chart.x, at[chart.x], set)),
          y: seen.map((at) => drawn(chart.y, at[chart.y], set)),
          text: seen.map((at) => words(run, at, ended, set)),
          line: { color: how.colour, dash: how.dash, width: several ? 1.6 : 2.2 },
          marker: { color: how.colour, symbol: how.symbol, size: 10, line: { color: colour("--page"), width: 1 } },
          opacity: several && !ended ? 0.8 : 1,
        });
      };
      const names = Object.keys(run.columns);
      const rows = names.length ? run.columns.seconds.map((_, k) => Object.fromEntries(names.map((name) => [name, run.columns[name][k]]))) : [];
      put(rows, false);
      put([run.end], true);
    }
    return found.sort((a, b) => (a.mode === b.mode ? 0 : a.mode === "lines" ? -1 : 1)); // markers on top
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function axisOf(axis, values, set) {
    const look = {
      title: { text: titleOf(axis, set), standoff: 8 },
      type: isLog(axis) ? "log" : "linear",
      gridcolor: colour("--line"),
      linecolor: colour("--soft"),
      zeroline: false,
      automargin: true,
      ticks: "outside",
      tickcolor: colour("--soft"),
      exponentformat: isLog(axis) || axis === "gap" ? "power" : "none",
      separatethousands: true,
      nticks: 8,
    };
    const positive = values.filter((value) => value > 0);
    const decades = positive.length ? Math.log10(Math.max(...positive) / Math.min(...positive)) : 0;
    if (isLog(axis) && decades > 0.7) look.dtick = decades > 2 ? Math.ceil(decades / 8) : "D2"; // D2: 1, 2 and 5
    return look;
  }

  function draw() {
    const set = sets[byId("set").selectedIndex];
    const small = matchMedia("(max-width: 600px)").matches;
    const family = getComputedStyle(document.body).fontFamily;
    for (const chart of CHARTS) {
      const box = byId(chart.id);
      const found = traces(set, chart);
      box.parentElement.querySelector("span").textContent = set.name;
      const empty = box.parentElement.querySelector(".empty");
      box.hidden = !found.length;
      empty.hidden = Boolean(found.length);
      empty.textContent = `No run on ${set.name} has both ${titleOf(chart.x, set)} and ${titleOf(chart.y, set)}.`;
      if (!found.length) continue;
      const layout = {
        xaxis: axisOf(chart.x, found.flatMap((trace) => trace.x), set),
        yaxis: axisOf(chart.y, found.flatMap((trace) => trace.y), set),
        showlegend: false,
        hovermode: "closest",
        dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
        margin: { l: 8, r: small ? 8 : 16, t: 8, b: 8 },
        paper_bgcolor: colour("--page"),
        plot_bgcolor: colour("--page"),
        font: { family, size: small ? 12 : 13, color: colour("--text") },
        hoverlabel: { bgcolor: colour("--band"), bordercolor: colour("--soft"), font: { family, color: colour("--text") }, align: "left" },
      };
      const config = { responsive: true, displaylogo: false, displayModeBar: !small && "hover", modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
      Plotly.react(box, found, layout, config);
    }
    byId("floor").textContent =
      set.floor !== null && checked("log-gap") ? `Gaps of zero or below are drawn at ${tiny(set.floor)}.` : "";
  }

  function show() {
    for (const button of byId("legend").querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(!hidden.has(Number(button.value))));
    for (const { id } of CHARTS) {
      const box = byId(id);
      if (box.data) Plotly.restyle(box, { visible: box.data.map((trace) => !hidden.has(trace.meta)) });
    }
  }

  function swatch(how) {
    const name = "http://www.w3.org/2000/svg";
    const picture = document.createElementNS(name, "svg");
    for (const [key, value] of Object.entries({ width: 34, height: 12, "aria-hidden": "true" })) picture.setAttribute(key, value);
    const put = (d, attributes) => {
      const path = document.createElementNS(name, "path");
      for (const [key, value] of Object.entries({ d, ...attributes })) path.setAttribute(key, value);
      picture.append(path);
    };
    put("M0 6H34", { stroke: how.colour, "stroke-width": 2.2, "stroke-dasharray": DASHES[how.dash], fill: "none" });
    put(SHAPES[how.symbol], { fill: how.colour, stroke: "var(--page)" });
    return picture;
  }

  function legend() {
    solvers.forEach((how, k) => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.value = k;
      button.setAttribute("aria-pressed", "true");
      const label = document.createElement("span");
      label.textContent = button.title = how.name;
      button.append(swatch(how), label);
      button.addEventListener("click", () => {
        if (!hidden.delete(k)) hidden.add(k);
        show();
      });
      button.addEventListener("dblclick", () => {
        const alone = hidden.size === solvers.length - 1 && !hidden.has(k);
        hidden.clear();
        if (!alone) solvers.forEach((_, other) => other !== k && hidden.add(other));
        show();
      });
      item.append(button);
      byId("legend").append(item);
    });
  }

  function sort(head) {
    const row = head.parentElement;
    const body = row.closest("table").tBodies[0];
    const at = [...row.children].indexOf(head);
    const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of row.children) other.setAttribute("aria-sort", other === head ? order : "none");
    const keyOf = (line) => line.children[at].dataset.key;
    const sign = order === "ascending" ? 1 : -1;
    const compare = (a, b) => {
      const [p, q] = [keyOf(a), keyOf(b)];
      if (p === undefined || q === undefined) return (p === undefined) - (q === undefined); // unknown ones last
      const numbers = head.classList.contains("number");
      return sign * (numbers ? Number(p) - Number(q) : p.localeCompare(q, "en", { numeric: true }));
    };
    body.append(...[...body.rows].sort(compare));
  }

  for (const head of document.querySelectorAll("thead th")) head.firstElementChild.addEventListener("click", () => sort(head));
  for (const set of sets) byId("set").add(new Option(set.name));
  for (const id of ["set", "log-x", "log-gap", "near"]) byId(id).addEventListener("change", draw);
  for (const query of ["(prefers-color-scheme: dark)", "(max-width: 600px)"]) matchMedia(query).addEventListener("change", draw);
  legend();
  draw();
})();
