/* A sweep. */

/* A figure of points as people read it, by its unit. */
const TEXTS = {
  "": v => Number.isInteger(v) ? count(v) : digits(v),
  s: seconds,
  B: memory,
  d: digits,
  kg: kilograms,
  USD: usd,
  kWh: v => energy(3.6e6 * v),
  W: v => scaled(v, "W"),
  fraction: percent
};
const select = (options, value) => {
  const e = el("select", {}, options.map(o => el("option", {value: o[0]}, o[1])));
  e.value = value;
  return e;
};
const textOf = v => typeof v === "object" ? JSON.stringify(v) : String(v);

function showSweep(sweep) {
  const about = sweep.about[0], points = sweep.points, a = el("article", {});
  const axes = [...new Set(points.flatMap(p => Object.keys(p.set || {})))];
  for (const p of points)
    for (const k of axes)
      if (p.set && has(p.set[k])) p["set " + k] = typeof p.set[k] === "number" ? p.set[k] : textOf(p.set[k]);
  if (points.every(p => !has(p.tokens_per_s) || p.tokens_per_s === p.samples_per_s))
    for (const p of points) delete p.tokens_per_s; /* a model without tokens */
  else
    for (const p of points) delete p.samples_per_s;
  for (const p of points)
    if (p.status !== "ok") Object.assign(p, {status: p.status.replace(/_/g, " "), instead: p.reason || ""});
  const ok = points.filter(p => p.status === "ok"),
        figures = sweep.figures.filter(f => points.some(p => has(p[f.key])))
                      .map(f => [f.key, f.title, TEXTS[f.unit] || amount, f.better === "more" ? 1 : -1]),
        varied = axes.filter(k => new Set(ok.map(p => p["set " + k])).size > 1),
        label = p => (varied.length ? varied : axes)
                         .map(k => `${k.split(".").pop()}=${has(p["set " + k]) ? p["set " + k] : ""}`)
                         .join(", ");
  const isCurve = ok.length > 1 && new Set(ok.map(p => p.accelerators)).size === ok.length &&
      varied.every(
          k => /^cluster\.(nodes|accelerators_per_node)$|^training\.global_batch_size$/.test(
              k)); /* as tsim scale asks */
  const origin = [
    has(about.sweep_id) ? "sweep " + about.sweep_id : "",
    has(about.started_at) ? about.started_at.replace("T", " ").replace("Z", " UTC") : "",
    has(about.version) ? "tsim " + about.version : ""
  ].filter(t => t).join(", ");
  a.append(
      el("h1", {}, `${isCurve ? "Scaling" : "Sweep"} of ${about.scenario}`),
      el("p", {className: "soft"},
         `${count(about.n_points)} points, ${ok.length === points.length ? "all" : count(ok.length)} with a result${
             about.n_points > points.length ? `; this page has the ${count(points.length)} fastest` : ""}. ${origin}`));
  main.append(a);
  if (isCurve) scaling(a, sweep, ok, label);
  if (points.length > 1 && ok.length && figures.length > 1) heatMap(a, points, axes, figures);
  if (ok.length > 1 && figures.length > 1) pareto(a, sweep, figures, label);
  if (!isCurve) scaling(a, sweep, ok, label);
  sweepTable(a, points, axes, figures);
}

function sweepTable(parent, points, axes, figures) {
  const filter = el("input", {type: "search", placeholder: "words that a row must have", "aria-label": "filter"}),
        shown = el("span", {className: "soft"});
  const fixed = axes.filter(k => points.length > 1 && points.every(p => p["set " + k] === points[0]["set " + k]));
  const columns = [
    ...axes.filter(k => !fixed.includes(k)).map(k => ({
                                                  title: k.split(".").pop().replace(/_/g, "_\u200b"),
                                                  key: "set " + k,
                                                  text: points.some(p => typeof p["set " + k] === "string")
                                                })),
    {title: "status", key: "status", text: true},
    ...figures.filter(f => f[0] !== "campaign_co2_kg").map(f => ({title: f[1], key: f[0], show: f[2]})),
    {title: "bottleneck", key: "bottleneck", text: true}
  ];
  const t = sortable(columns, points, figures.length ? figures[0][0] : "status", true, "many"),
        lines = points.map(
            p => [...columns.map(c => has(p[c.key]) ? c.title.replace(/\u200b/g, "") + "=" + p[c.key] : ""),
                  p.instead || ""]
                     .join(" ")
                     .toLowerCase());
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(w => w),
          kept = points.filter((p, i) => words.every(w => lines[i].includes(w)));
    t.show(kept);
    shown.textContent = `${count(kept.length)} of ${count(points.length)}`;
  };
  filter.addEventListener("input", apply);
  part(
      parent, "Every point",
      fixed.length ? el("p", {className: "soft"},
                        "The same in all: " + fixed.map(k => `${k}=${points[0]["set " + k]}`).join(", ") + ".")
                   : null,
      el("div", {className: "tools"}, filter, shown), t.element);
  apply();
}

function heatMap(parent, points, axes, figures) {
  const ok = points.filter(p => p.status === "ok"),
        varied = axes.filter(k => new Set(points.map(p => p["set " + k])).size > 1);
  if (varied.length < 2) return;
  const x = select(varied.map(k => [k, k]), varied[1]), y = select(varied.map(k => [k, k]), varied[0]),
        f = select(figures, figures[0][0]), room = el("div", {className: "scroll"}), why = {"does not fit": "no room"};
  const values = k => [...new Set(points.map(p => p["set " + k]))].sort(
      (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const draw = () => {
    const figure = figures.find(g => g[0] === f.value), best = new Map(), failed = new Map();
    for (const p of points) {
      const key = JSON.stringify([p["set " + x.value], p["set " + y.value]]), old = best.get(key);
      if (p.status !== "ok")
        failed.set(key, p);
      else if (has(p[figure[0]]) && (old === undefined || (p[figure[0]] - old[figure[0]]) * figure[3] > 0))
        best.set(key, p);
    }
    const all = [...best.values()].map(p => p[figure[0]]), low = Math.min(...all), high = Math.max(...all);
    const cell = key => {
      const p = best.get(key), lost = failed.get(key);
      if (p === undefined)
        return lost ? el("td", {className: "none", title: lost.instead || ""}, why[lost.status] || lost.status)
                    : el("td", {}, "");
      const v = p[figure[0]], share = high > low ? (v - low) / (high - low) : 1,
            good = figure[3] > 0 ? share : 1 - share;
      return el(
          "td", {style: `background: rgba(59, 125, 216, ${(.05 + .6 * good).toFixed(3)})`, ...rowOf(p)}, figure[2](v));
    };
    room.replaceChildren(el(
        "table", {className: "heat"},
        el("thead", {},
           el("tr", {}, el("th", {className: "text"}, `${last(y.value)} \\ ${last(x.value)}`),
              values(x.value).map(v => el("th", {}, String(v))))),
        el("tbody", {},
           values(y.value).map(
               v => el("tr", {}, el("th", {}, String(v)), values(x.value).map(w => cell(JSON.stringify([w, v]))))))));
  };
  [x, y, f].forEach(e => e.addEventListener("change", draw));
  part(
      parent, "Heat map",
      el("p", {className: "soft"},
         `A cell shows the best of its points: the stronger the blue, the better.${
             points.some(p => p.status === "does not fit") ? " Where it says no room, the memory is too small." : ""}`),
      el("div", {className: "tools"}, el("label", {}, "rows ", y), el("label", {}, "columns ", x),
         el("label", {}, "figure ", f)),
      room);
  draw();
}

/* The drawing shows speed against what a point costs; the script moves its dots where other figures are asked for. */
function pareto(parent, sweep, figures, label) {
  const first = k => figures.find(g => g[0] === k),
        x0 = first("campaign_rent_usd") || first("mean_power_w") || first("memory_peak_bytes");
  if (!x0 || !drawings.querySelector(`#${sweep.id}pareto svg`)) return;
  const x = select(figures, x0[0]), y = select(figures, figures[0][0]),
        s = part(
            parent, "Pareto front",
            el("p", {className: "soft"},
               "The points that no other point beats in one figure without losing in the other."),
            el("div", {className: "tools"}, el("label", {}, "across ", x), el("label", {}, "up ", y)));
  const svg = chart(s, sweep.id + "pareto"), group = svg.querySelector(".dots"), line = group.querySelector("path"),
        [left, right, bottom, top] = group.dataset.frame.split(" ").map(Number);
  const dots = [...group.querySelectorAll("circle")].map(
            c => ({c, p: sweep.points[+[...c.classList].find(k => /^p\d/.test(k)).slice(1)]})),
        put = (name, text) => svg.querySelector("." + name).textContent = text;
  const draw = () => {
    const fx = first(x.value), fy = first(y.value), shown = dots.filter(d => has(d.p[fx[0]]) && has(d.p[fy[0]])),
          front = [], range = f => {
            const v = shown.map(d => d.p[f[0]]), low = Math.min(...v), high = Math.max(...v),
                  room = (high > low ? high - low : high) / 12;
            return [Math.max(low - room, 0), high + room];
          };
    const [lowX, highX] = range(fx), [lowY, highY] = range(fy);
    for (const d of [...shown].sort((a, b) => (b.p[fx[0]] - a.p[fx[0]]) * fx[3] || (b.p[fy[0]] - a.p[fy[0]]) * fy[3]))
      if (!front.length || (d.p[fy[0]] - front[front.length - 1].p[fy[0]]) * fy[3] > 0) front.push(d);
    for (const d of dots) d.c.style.display = shown.includes(d) ? "" : "none";
    for (const d of shown) {
      const isFront = front.includes(d);
      d.at = [
        left + (d.p[fx[0]] - lowX) / (highX - lowX || 1) * (right - left),
        bottom - (d.p[fy[0]] - lowY) / (highY - lowY || 1) * (bottom - top)
      ];
      d.c.setAttribute("cx", d.at[0]);
      d.c.setAttribute("cy", d.at[1]);
      d.c.setAttribute("r", isFront ? 5 : 3);
      d.c.classList.toggle("k6", isFront);
      d.c.classList.toggle("k4", !isFront);
      d.c.dataset.hint = `${label(d.p)}\n${fx[1]} ${fx[2](d.p[fx[0]])}, ${fy[1]} ${fy[2](d.p[fy[0]])}`;
    }
    line.setAttribute("d", front.map((d, i) => (i ? "L" : "M") + d.at.join(" ")).join(""));
    for (const [name, f, v] of [["low-x", fx, lowX], ["high-x", fx, highX], ["low-y", fy, lowY], ["high-y", fy, highY]])
      put(name, f[2](v));
    put("name-x", fx[1]);
    put("name-y", fy[1]);
  };
  [x, y].forEach(e => e.addEventListener("change", draw));
  draw();
  openDots(svg, (dot, place) => sweep.points[place].set);
}

function scaling(parent, sweep, ok, label) {
  const speed = p => has(p.tokens_per_s) ? p.tokens_per_s : p.samples_per_s, best = new Map();
  for (const p of ok)
    if (has(speed(p)) && (!best.has(p.accelerators) || speed(p) > speed(best.get(p.accelerators))))
      best.set(p.accelerators, p);
  const rows = [...best.values()].sort((a, b) => a.accelerators - b.accelerators);
  if (rows.length < 2) return;
  const base = speed(rows[0]) / rows[0].accelerators, unit = has(rows[0].tokens_per_s) ? "tokens/s" : "samples/s",
        ideal = n => base * n, efficiency = p => speed(p) / ideal(p.accelerators), knee = (sweep.scaling || {}).knee;
  const s = part(
      parent, "Scaling",
      el("p", {className: "soft"},
         "The curve has the fastest point for each number of accelerators. The ideal is the speed per accelerator of the smallest cluster. Red is the loss to exposed communication, as far as its share of the step is larger than on the smallest cluster; grey is the loss to everything else."));
  if (knee)
    s.append(
        el("p", {},
           `The curve bends after ${count(knee.accelerators)} accelerators: at the next size ${knee.cause} takes ${
               seconds(knee.excess_s)} more of a step than with perfect scaling, ${
               (100 * knee.share_frac).toFixed(0)} % of the loss.`));
  chart(s, sweep.id + "scaling");
  s.append(table(
      [
        {title: "accelerators", of: p => count(p.accelerators)}, {title: unit, of: p => amount(speed(p))},
        {title: "efficiency", of: p => percent(efficiency(p))}, {title: "bubble", of: p => percent(p.bubble_frac)},
        {title: "exposed communication", of: p => percent(p.communication_exposed_frac)},
        {title: "bottleneck", text: true, of: p => p.bottleneck}, {title: "point", text: true, of: label}
      ],
      rows));
}
