const main = document.getElementById("main"), drawings = document.getElementById("charts"), root = document.documentElement;

/* ---- elements: text is always text ---- */
function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) key in e && key !== "list" ? (e[key] = value) : e.setAttribute(key, value);
  for (const c of children.flat()) if (c !== null && c !== undefined) e.append(c);
  return e;
}
function part(parent, title, ...children) {
  const s = el("section", {className: "part"}, el("h2", {}, title), ...children);
  parent.append(s);
  return s;
}
const has = x => x !== undefined && x !== null && x !== "";

/* ---- figures ---- */
let precision = 3, fills = true; /* more digits on an axis whose ticks lie close together; no noughts at the end of its figures */
const formats = {}; /* a formatter takes longer to make than to use */
const format = (least, most) => formats[`${least} ${most}`] = formats[`${least} ${most}`] || new Intl.NumberFormat("en", {minimumFractionDigits: least, maximumFractionDigits: most});
function digits(x) {
  const rounded = Number(x.toPrecision(precision)), decimals = rounded && fills ? Math.max(0, precision - 1 - Math.floor(Math.log10(Math.abs(rounded)) + 1e-9)) : 0;
  return format(Math.min(decimals, 12), Math.max(decimals, fills ? 0 : 12)).format(rounded);
}
const tick = text => { fills = false; const t = text(); fills = true; return t; };
function scaled(x, unit, base) {
  if (!has(x)) return "";
  if (x === 0) return "0 " + unit;
  const names = ["p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"], size = Math.abs(x);
  let i = Math.max(0, Math.min(10, Math.floor(Math.log10(size) / 3 + 1e-9) + 4));
  if (base === 0) i = Math.max(i, 4);
  return digits(x / 10 ** (3 * (i - 4))) + " " + names[i] + unit;
}
const portion = x => !has(x) ? "" : x > 0 && x < 0.0005 ? "<0.1 %" : percent(x);
const seconds = x => has(x) && x >= 1000 ? digits(x) + " s" : scaled(x, "s"), bytes = x => scaled(x, "B", 0), percent = x => has(x) ? (100 * x).toFixed(1) + " %" : "";
const count = x => has(x) ? (Math.abs(x) >= 1000 || Number.isInteger(x) ? format(0, 0).format(Math.round(x)) : digits(x)) : "", amount = x => scaled(x, "", 0).trim();
const money = x => Math.abs(x) >= 1e9 ? digits(x / 1e9) + " G" : Math.abs(x) >= 1e6 ? digits(x / 1e6) + " M" : Math.abs(x) >= 1e3 ? digits(x / 1e3) + " k" : digits(x);
const closely = (n, text) => { const before = precision; precision = Math.max(precision, n); const t = text(); precision = before; return t; };
/* As many digits of a value, three at most, as the range of eight of ten cases supports: results/format.h's rule. */
function supported(range, value, text) {
  const half = (range.p90 - range.p10) / 2, first = value > 0 ? Math.floor(Math.log10(value)) : 0, last = half > 0 ? Math.floor(Math.log10(half)) : first - 2;
  const before = precision;
  precision = Math.max(1, Math.min(3, first - last + 1));
  const t = text(value);
  precision = before;
  return t;
}
const rangeText = (range, text) => range && has(range.p10) ? `${supported(range, range.p10, text)} to ${supported(range, range.p90, text)}` : "";
const usd = x => has(x) ? money(x) + " USD" : "", memory = x => has(x) ? closely(4, () => digits(x / 1e9)) + " GB" : "", energy = j => has(j) ? Math.abs(j) < 3600 ? scaled(j, "J") : scaled(j / 3600, "Wh", 0) : "";
const kilograms = x => !has(x) ? "" : Math.abs(x) >= 1e6 ? digits(x / 1e6) + " kt" : Math.abs(x) >= 1e3 ? digits(x / 1e3) + " t" : digits(x) + " kg";
const span = s => has(s) ? s < 120 ? seconds(s) : s < 7200 ? digits(s / 60) + " min" : digits(s / 3600) + " h" : "";
const lasting = days => !has(days) ? "" : days < 1 ? span(86400 * days) : digits(days) + " days";

function table(columns, rows, className) {
  const head = el("tr", {}, columns.map(c => el("th", {className: c.text ? "text" : "", scope: "col"}, c.title)));
  const body = rows.map(r => el("tr", rowOf(r), columns.map(c => {
    const value = c.of(r);
    return el("td", {className: c.whole ? "text whole" : c.text ? (!className && String(value).length > 40 ? "text long" : "text") : ""}, has(value) ? (className && c.text ? String(value).replace(/[._](?=[a-z])/g, "$&\u200b") : String(value)) : "");
  })));
  return el("div", {className: "scroll"}, el("table", {className: className || ""}, el("thead", {}, head), el("tbody", {}, body)));
}
const pairs = rows => table([{title: "", text: true, whole: true, of: r => r[0]}, {title: "", text: true, of: r => r[1]}], rows.filter(r => has(r[1])), "even");

/* ---- charts: they are drawn already; the script puts them in their places, shows hints, and switches what a key names ---- */
const hint = document.getElementById("hint");
function showHint(e) {
  const shape = e.target.closest && e.target.closest("[data-hint]");
  hint.textContent = shape ? shape.dataset.hint : "";
  if (!shape) return;
  const left = e.clientX + 14, top = e.clientY + 14;
  hint.style.left = Math.max(0, Math.min(left, innerWidth - hint.offsetWidth - 8)) + "px";
  hint.style.top = (top + hint.offsetHeight > innerHeight ? e.clientY - hint.offsetHeight - 10 : top) + "px";
}
function switchOff(svg, key) {
  const name = "." + key.firstElementChild.classList[0], off = key.classList.toggle("off");
  for (const shape of svg.querySelectorAll(name)) if (!shape.closest(".key")) shape.classList.toggle("off", off);
  key.setAttribute("aria-pressed", !off);
}
function enliven(svg) {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number), title = svg.querySelector("title"), head = svg.querySelector(".head");
  svg.setAttribute("viewBox", `0 30 ${width} ${height - 30}`); /* the page has a heading of its own */
  svg.setAttribute("aria-label", title.textContent);
  title.remove();
  head.remove();
  const plot = svg.querySelector(".plot"); /* its slices are thousands: each gives its hint when the pointer first comes to it (gantt) */
  for (const t of svg.querySelectorAll("title")) if (!plot || !plot.contains(t)) { t.parentNode.dataset.hint = t.textContent; t.remove(); }
  for (const key of svg.querySelectorAll(".key")) {
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.addEventListener("click", () => switchOff(svg, key));
    key.addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); switchOff(svg, key); } });
  }
}
/* The drawing of that name, put into `parent`; null: there is nothing to draw. */
function chart(parent, name) {
  const figure = drawings.querySelector("#" + name), svg = figure && figure.querySelector("svg");
  if (svg) { enliven(svg); parent.append(figure); }
  return svg;
}

/* A page that can change its scenario says how: to take a piece of advice, and to open what a plan or a point sets. */
let applies = null, opens = null;
/* A row or a dot with these attributes opens the plan or point that it stands for, by a click or the Enter key; null on a page that cannot. */
const opening = (settings, own) => { const open = own || (() => opens(settings)); return opens && settings || own ? {tabIndex: 0, title: "open it", onclick: open, onkeydown: e => { if (e.key === "Enter") open(); }} : null; };
/* A row of a table opens where it has what it sets. */
const rowOf = r => { const opener = opening(r.set || (r.plan || {}).set, r.opens); return opener ? {className: "opens", ...opener} : {}; };
/* Dots whose class has the place of a plan or a point: `of` finds what it sets. */
function openDots(svg, of) {
  for (const dot of svg ? svg.querySelectorAll("circle") : []) {
    const place = [...dot.classList].find(k => /^p\d/.test(k)), opener = place && opening(of(dot, +place.slice(1)));
    if (!opener) continue;
    dot.classList.add("opens");
    dot.setAttribute("tabindex", "0");
    dot.setAttribute("role", "button");
    dot.setAttribute("aria-label", `open ${dot.dataset.hint || ""}`.replace(/\n/g, ", "));
    dot.addEventListener("click", opener.onclick);
    dot.addEventListener("keydown", opener.onkeydown);
  }
}

/* ---- a run ---- */
const MEMORY_NAMES = {master: "master weights", optimizer: "optimizer state", reserve: "driver and runtime"};
const MEMORY = ["weights", "gradients", "master", "optimizer", "activations", "buffers", "reserve"];

const memoryNote = m => "of " + memory(m.capacity_bytes) + (!m.fits ? ": does not fit" : m.may_not_fit ? ": may not fit" : "");

/* A figure that is seen first: its number is larger than its unit. */
function card(cards, name, value, note) {
  if (!has(value)) return;
  const [, number, unit] = /^([-\d.,]+)(\s.*)$/.exec(value) || [null, value, ""];
  cards.append(el("div", {className: "card"}, el("span", {}, name), el("b", {}, number, unit ? el("small", {}, unit) : null), note ? el("span", {}, note) : null));
}

function headline(parent, run) {
  const s = run.summary, t = s.throughput || {}, c = s.campaign || {}, u = s.uncertainty, cards = el("div", {className: "cards"});
  if (s.step) card(cards, "step time", seconds(s.step.time_s), u && has(u.step_time_low_s) ? seconds(u.step_time_low_s) + " to " + seconds(u.step_time_high_s) : "");
  if (s.post_training) card(cards, "round", seconds(s.post_training.time_s), "of which training " + seconds(s.post_training.training_s));
  const rate = run.of_samples ? t.samples_per_s : t.tokens_per_s;
  card(cards, "throughput", has(rate) ? amount(rate) + (run.of_samples ? " samples/s" : " tokens/s") : "", has(rate) ? amount(rate / s.accelerators) + " per accelerator" : "");
  card(cards, "model FLOP utilization", percent(t.mfu), has(t.model_tflops_per_gpu) ? scaled(1e12 * t.model_tflops_per_gpu, "FLOP/s") + " each" : "");
  card(cards, "memory", memory(s.memory.peak_bytes), memoryNote(s.memory));
  const shares = Object.entries((s.bottleneck && s.bottleneck.shares) || {}).filter(e => e[1] >= 0.01).sort((a, b) => b[1] - a[1]);
  if (s.bottleneck) card(cards, "bottleneck", s.bottleneck.kind, shares.slice(0, 3).map(e => percent(e[1]) + " " + e[0]).join(", "));
  const likely = (range, text) => range ? `${rangeText(range, text)} in eight of ten cases` : "", notes = (...texts) => texts.filter(text => text).join("; ");
  card(cards, "whole run", lasting(c.days), notes(likely(u && u.days, lasting), has(c.steps) ? count(c.steps) + " steps" : ""));
  card(cards, "rent", usd(c.rent_usd), likely(u && u.cost_usd, usd));
  card(cards, "electricity", has(c.energy_kwh) ? energy(3.6e6 * c.energy_kwh) : "", usd(c.electricity_usd));
  card(cards, "carbon", has(c.co2_kg) ? kilograms(c.co2_kg) + " CO2" : "");
  if (s.energy) card(cards, "mean power", scaled(s.energy.mean_power_w, "W"), "");
  parent.append(cards);
  if (u && u.basis) parent.append(el("p", {className: "soft"}, u.basis));
  if (u && u.because) parent.append(el("details", {}, el("summary", {}, "What the ranges of the whole run are made of"), el("ul", {}, u.because.map(text => el("li", {}, text)))));
  if (!s.memory.fits) parent.append(el("p", {className: "warn"}, "This configuration does not fit in memory."));
}

function advice(parent, run) {
  const changes = (run.summary.bottleneck || {}).advice || [];
  if (changes.length) parent.append(el("h3", {}, "What would help"), el("ul", {}, changes.map(a => el("li", {}, applies ? el("button", {type: "button", title: "apply it", onclick: () => applies(a)}, a) : a))));
}

function whereStepGoes(parent, run) {
  const s = run.summary, u = s.uncertainty;
  if (!s.step) return;
  chart(part(parent, "Where the step goes", el("p", {className: "soft"}, `The step of the slowest rank takes ${seconds(s.step.time_s)}: the terms below add up to it.${u && has(u.step_time_low_s) ? ` The line across its end is the ${u.basis}.` : ""}`)), run.id + "step");
}

function whereRoundGoes(parent, run) {
  const p = run.summary.post_training;
  if (!p) return;
  const rows = [["generation", p.generation_s], ["scoring", p.scoring_s], ["training", p.training_s], ["transfer of the weights", p.transfer_s], ["copies to the host and back", p.copies_s]].filter(r => has(r[1]));
  const s = part(parent, "Where the round goes", el("p", {className: "soft"}, `A round of post-training takes ${seconds(p.time_s)}: its parts run one after another on the same accelerators. The step below is a training step of the round.`),
    table([{title: "part", text: true, of: r => r[0]}, {title: "time", of: r => seconds(r[1])}, {title: "of the round", of: r => percent(r[1] / p.time_s)}], rows));
  if (has(p.generation_s)) s.append(el("p", {className: "soft"}, "Generation takes at least this long: scheduling and sampling are not counted."),
    pairs([["generated by an accelerator", count(p.generated_tokens_per_s_per_gpu) + " tokens/s"], ["sequences at once on an engine", count(p.sequences_at_once)], ["the longest response", count(p.longest_response) + " tokens"]]));
}

function memoryByStage(parent, run) {
  const rows = run.explain.memory || [];
  if (!rows.length) return;
  const s = part(parent, "Memory by stage");
  chart(s, run.id + "memory");
  const more = el("details", {}, el("summary", {}, "as a table"));
  more.append(table([{title: "stage", of: r => r.stage}, ...MEMORY.map(k => ({title: MEMORY_NAMES[k] || k, of: r => memory(r[k + "_bytes"])})), {title: "peak", of: r => memory(r.peak_bytes)}, {title: "of capacity", of: r => percent(r.of_capacity_frac)}], rows));
  s.append(more);
}

/* In the drawing of the pipeline a unit across is a microsecond, and a stage is four high. */
function gantt(parent, run) {
  const figure = drawings.querySelector(`#${run.id}streams`), plot = figure && figure.querySelector(".plot");
  if (!plot) return;
  const n = plot.querySelectorAll(":scope > rect").length, kernels = plot.querySelector(".kernels"), [, , end, down] = plot.getAttribute("viewBox").split(" ").map(Number), time = us => seconds(us / 1e6);
  const communication = el("input", {type: "checkbox"}), reset = el("button", {}, "show everything"), zoom = el("button", {}, "zoom in"), near = el("button", {}, "zoom to kernels");
  const s = part(parent, "The pipeline over time", el("p", {className: "soft"}, `The first replica, as simulated${run.n_slices > n ? `: the first ${count(n)} of ${count(run.n_slices)} slices` : ""}. The wheel zooms, dragging moves, a double click shows everything.${kernels ? " One micro-batch of the slowest stage is drawn down to its kernels." : ""}`),
    el("div", {className: "tools"}, el("label", {}, communication, " communication streams"), zoom, kernels ? near : "", reset)), svg = chart(s, run.id + "streams"), floor = svg.querySelector(".floor"), ticks = [...svg.querySelectorAll(".tick")];
  plot.addEventListener("pointerover", e => {
    const r = e.target, told = r.querySelector(":scope > title");
    if (!told) return;
    told.remove();
    r.dataset.hint = told.textContent;
    if (kernels && kernels.contains(r)) return;
    const begin = +r.getAttribute("x"), width = +r.getAttribute("width"), [what, chunk] = r.dataset.hint.split(", "), [, kind, microbatch] = /^(.*?)(?: (\d+))?$/.exec(what);
    r.dataset.hint = [`${kind}, stage ${Math.floor(r.getAttribute("y") / 4)}`, microbatch ? `micro-batch ${microbatch}, ${chunk}` : "", `${time(begin)} to ${time(begin + width)}: ${time(width)}`].filter(t => t).join("\n");
  });
  let from = 0, width = end;
  const range = (left, w) => {
    width = Math.min(end, Math.max(w, end / 1e5));
    from = Math.max(0, Math.min(left, end - width));
    plot.setAttribute("viewBox", `${from} 0 ${width} ${down}`);
    if (kernels) svg.classList.toggle("near", width < 8 * (kernels.dataset.to - kernels.dataset.from));
    const step = width / (ticks.length - 1);
    ticks.forEach((t, i) => { const us = from + i * step; t.textContent = us ? closely(Math.min(8, Math.ceil(Math.log10(us / step)) + 2), () => time(us)) : "0"; });
  };
  const share = e => { const box = floor.getBoundingClientRect(); return Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)); };
  const scale = (at, factor) => range(from + at * width * (1 - factor), width * factor);
  svg.addEventListener("wheel", e => { e.preventDefault(); scale(share(e), e.deltaY > 0 ? 1.25 : .8); }, {passive: false});
  let drag = null;
  svg.addEventListener("pointerdown", e => { if (e.target.closest(".key")) return; drag = {at: share(e), from}; svg.setPointerCapture(e.pointerId); });
  svg.addEventListener("pointermove", e => { if (drag) range(drag.from + (drag.at - share(e)) * width, width); });
  svg.addEventListener("pointerup", () => { drag = null; });
  svg.addEventListener("dblclick", () => range(0, end));
  reset.addEventListener("click", () => range(0, end));
  zoom.addEventListener("click", () => scale(.5, .5));
  near.addEventListener("click", () => range(+kernels.dataset.from, kernels.dataset.to - kernels.dataset.from));
  const show = () => {
    svg.classList.toggle("plain", !communication.checked);
    for (const key of svg.querySelectorAll(".key")) key.style.display = communication.checked || plot.querySelector(`.pass.${key.firstElementChild.classList[0]}`) ? "" : "none";
  };
  communication.addEventListener("change", show);
  show();
}

function layer(parent, run) {
  if (drawings.querySelector(`#${run.id}layer svg`))
    chart(part(parent, "One layer, kernel by kernel", el("p", {className: "soft"}, "One layer of the slowest stage, in the middle of the step. Kernels run one after another, collectives on streams of their own; a gap is a wait. All passes are drawn to the same scale.")), run.id + "layer");
}

function roofline(parent, run) {
  const all = run.explain.operators || [], roof = run.roof, rows = all.filter(r => r.intensity_flops_per_byte > 0 && r.achieved_flops_per_s > 0);
  if (!all.length) return;
  const s = part(parent, "Roofline of every operator");
  if (rows.length && roof.flops_per_s > 0) {
    s.append(el("p", {className: "soft"}, `The roof is the datasheet's: ${scaled(roof.flops_per_s, "FLOP/s")} in ${roof.precision} and ${scaled(roof.bytes_per_s, "B/s")} of one ${roof.accelerator}; they meet at ${digits(roof.flops_per_s / roof.bytes_per_s)} FLOP/B. A larger point takes more of the step. Communication and the bubble, which compute nothing, are in the table.`));
    chart(s, run.id + "roofline");
  }
  const more = el("details", {}, el("summary", {}, `all ${all.length} rows`));
  more.append(sortable([{title: "operator", key: "operator", text: true}, {title: "part", key: "part", text: true}, {title: "phase", key: "phase", text: true}, {title: "bound by", key: "bound", text: true}, {title: "count", key: "count", show: count}, {title: "FLOP", key: "flops", show: amount},
    {title: "bytes", key: "bytes", show: bytes}, {title: "alone", key: "time_s", show: seconds}, {title: "achieved", key: "achieved_flops_per_s", show: v => scaled(v, "FLOP/s")}, {title: "in the step", key: "step_s", show: seconds}, {title: "share", key: "share_frac", show: percent}], all, "share_frac").element);
  s.append(more);
}

function links(parent, run) {
  const rows = run.explain.links || [];
  if (!rows.length) return;
  const s = part(parent, "Links by load");
  chart(s, run.id + "links");
  s.append(table([{title: "sort", text: true, whole: true, of: r => r.sort}, {title: "links", of: r => count(r.links)}, {title: "mean", of: r => percent(r.mean_load)}, {title: "fullest", of: r => percent(r.highest_load)}, {title: "which", text: true, whole: true, of: r => r.fullest}, {title: "bytes on it", of: r => bytes(r.bytes)}, {title: "capacity", of: r => scaled(r.capacity_bytes_per_s, "B/s")}], rows));
}

function energyAndCost(parent, run) {
  const s = run.summary, c = s.campaign || {};
  if (!s.energy) return;
  part(parent, "Energy, carbon and cost").append(pairs([["energy of a step", energy(s.energy.step_j)], ["mean power, whole cluster", scaled(s.energy.mean_power_w, "W")], ["steps", count(c.steps)], ["days", has(c.days) ? digits(c.days) : ""], ["energy with the facility's overhead", has(c.energy_kwh) ? energy(3.6e6 * c.energy_kwh) : ""],
    ["CO2", kilograms(c.co2_kg)], ["electricity", usd(c.electricity_usd)], ["rent", usd(c.rent_usd)], ["buying the machine", c.ownership ? usd(c.ownership.capital_usd) : ""], ["accelerators alone", usd(c.purchase_usd)], ["goodput", percent(c.goodput)], ["failures", count(c.failures)]]));
}

function wholeRun(parent, run) {
  const c = run.summary.campaign || {}, d = c.distribution;
  if (!c.lost_accelerator_hours) return;
  const s = part(parent, "The whole run with its failures"), n = d.replications.reduce((a, b) => a + b, 0);
  if (n > 1) {
    s.append(el("p", {className: "soft"}, `${count(n)} runs, each with its own failures: ${closely(4, () => `${digits(c.days_p10)} to ${digits(c.days_p90)} days in eight of ten of them, ${digits(c.days)} in the median.`)}`));
    chart(s, run.id + "days");
  }
  if (drawings.querySelector(`#${run.id}timeline svg`)) {
    s.append(el("p", {className: "soft"}, "One of the runs from its first day to its last. Work that was lost and is done again counts as training here."));
    chart(s, run.id + "timeline");
    chart(s, run.id + "power");
  }
  const saved = c.checkpoint || {}, local = saved.local || {};
  s.append(pairs([["nodes that stand by", has(c.spares) ? count(c.spares) : ""], ["a checkpoint on the storage every", span(saved.interval_s)], ["in the hosts' memory every", span(local.interval_s)], ["restarts from the hosts' memory", has(local.restarts) ? digits(local.restarts) : ""]]));
  const rows = Object.entries(c.lost_accelerator_hours).map(([cause, hours]) => ({cause: cause.replace(/^(nic|hbm)$/, k => k.toUpperCase()).replace(/_/g, " "), hours, times: (c.interruptions || {})[cause]})).filter(r => r.hours > 0).sort((a, b) => b.hours - a.hours);
  const all = run.summary.accelerators * c.mean_days * 24;
  chart(s, run.id + "lost");
  s.append(table([{title: "cause", text: true, of: r => r.cause}, {title: "interruptions", of: r => has(r.times) ? String(+r.times.toFixed(2)) : ""}, {title: "accelerator hours lost", of: r => count(Math.round(r.hours))}, {title: "of all", of: r => portion(r.hours / all)}], rows));
}

function owned(parent, run) {
  const c = run.summary.campaign || {}, o = c.ownership;
  if (!o) return;
  const s = part(parent, "Owned or rented"), date = ((run.scenario || {}).cost || {}).date;
  if (date) s.append(el("p", {className: "soft"}, "USD of " + date + "."));
  chart(s, run.id + "ownership");
  s.append(pairs([["owned, this run", usd(o.run_usd)], ["rented, this run", usd(c.rent_usd)], ["owned, per trillion tokens", usd(o.usd_per_trillion_tokens)], ["rented, per trillion tokens", usd(c.rent_usd_per_trillion_tokens)], ["use above which owning is cheaper", percent(o.breakeven_utilization)], ["runs in the lifetime above which owning is cheaper", has(o.breakeven_runs) ? digits(o.breakeven_runs) : ""], ["CO2 of making the machine, this run's share", kilograms(c.embodied_co2_kg)]]));
}

function measured(parent, run) {
  const rows = run.summary.measured || [];
  if (!rows.length) return;
  const s = part(parent, "Predicted beside measured"), source = (run.scenario.measured || {}).source;
  s.append(table([{title: "", text: true, of: r => r.metric}, {title: "measured", of: r => amount(r.measured)}, {title: "predicted", of: r => amount(r.predicted)}, {title: "error", of: r => (r.error > 0 ? "+" : "") + percent(r.error)}], rows));
  if (source) s.append(el("p", {className: "soft"}, "measured: " + source));
}

function sensitivities(parent, run) {
  const rows = (run.explain.sensitivities || []).filter(r => has(r.less_change_frac));
  if (!rows.length) return;
  const s = part(parent, "What the step time depends on");
  s.append(el("p", {className: "soft"}, "The change of the step time when one capacity of the hardware is a tenth lower or a tenth higher. Each case is simulated."));
  chart(s, run.id + "sensitivity");
}

function walk(value, path, visit) {
  if (value === null || typeof value !== "object") return;
  visit(value, path);
  for (const [key, child] of Object.entries(value)) walk(child, path ? path + "." + key : key, visit);
}
function sources(parent, run) {
  const rows = [];
  walk(run.scenario, "", (value, path) => { if (typeof value.source === "string" && value.source) rows.push({path: path || "scenario", source: value.source}); });
  const s = part(parent, "Assumptions, sources and estimates");
  if (run.estimates.length) s.append(el("p", {}, `${run.estimates.length} values that this result uses are estimates, because no source states them:`), el("ul", {}, run.estimates.map(e => el("li", {}, e))));
  else s.append(el("p", {}, "This run uses no estimate."));
  if (rows.length) s.append(el("details", {}, el("summary", {}, `${rows.length} sources`), table([{title: "of", text: true, of: r => r.path}, {title: "source", text: true, of: r => r.source}], rows)));
  s.append(el("details", {}, el("summary", {}, "the scenario with every default filled in"), el("pre", {}, JSON.stringify(run.scenario, null, 2))));
}

function title(parent, run) {
  const logged = run.summary.run_id ? `run ${run.summary.run_id}: ` : "";
  parent.append(el("h1", {}, logged + run.name));
  if (run.scenario.description) parent.append(el("p", {}, run.scenario.description));
  const cluster = run.scenario.cluster || {}, node = cluster.node || {};
  parent.append(el("p", {className: "soft"}, [(run.scenario.model || {}).name, `${count(run.summary.accelerators)} x ${(node.accelerator || {}).name}`, `${count(cluster.nodes)} node${cluster.nodes === 1 ? "" : "s"} ${node.name}`, (cluster.fabric || {}).name].filter(has).join(", ")));
}

const RUN_PARTS = [title, headline, advice, whereRoundGoes, whereStepGoes, memoryByStage, gantt, layer, roofline, links, sensitivities, wholeRun, energyAndCost, owned, measured, sources];
/* Each part has a room of its own, named after its function, so that a page can change some of them (workbench.js). */
function showRun(run, wanted) {
  const rooms = RUN_PARTS.filter(f => !wanted || wanted.includes(f.name)).map(f => { const room = el("div", {}); room.dataset.part = f.name; f(room, run); return room; });
  return el("article", {className: "run"}, rooms);
}

const longTime = s => s % 31557600 === 0 ? digits(s / 31557600) + " y" : digits(s / 3600) + " h";
/* "3350000000000 B/s" -> "3.35 TB/s", "12600000 s" -> "3,500 h", "2e+12" -> "2 T"; other texts as they are. */
const quantityText = text => tick(() => exactly(text)), exactly = text => { const m = /^(-?[\d.]+(?:e[-+]?\d+)?) (s|B|B\/s|b\/s|W|J|FLOP\/s|Hz)$/.exec(text); return m ? closely(4, () => m[2] === "s" && m[1] >= 7200 ? longTime(Number(m[1])) : scaled(Number(m[1]), m[2])) : /^\d+(e\+?\d+)?$/.test(text) && text >= 1e6 ? closely(4, () => amount(Number(text))) : text.replace(/^([-\d.e+]+) (USD\/s|USD\/J|kg\/J)$/, (_, x, unit) => { const [factor, name] = RATES[unit]; return `${closely(4, () => digits(factor * x))} ${name}`; }); };
const RATES = {"USD/s": [3600, "USD/h"], "USD/J": [3.6e6, "USD/kWh"], "kg/J": [3.6e6, "kg/kWh"]};

function showComparison(c) {
  const a = el("article", {className: "comparison"}), signed = (x, text) => { if (!has(x)) return ""; const t = text(Math.abs(x)); return (/[1-9]/.test(t) ? x > 0 ? "+" : "-" : "") + t; };
  a.append(el("h1", {}, "A beside B"), el("p", {}, el("b", {}, "A "), c.a, el("br", {}), el("b", {}, "B "), c.b), el("p", {}, has(c.step_change) ? `B's step takes ${c.step_change > 1 ? digits(1 + c.step_change) + " times as long as" : percent(1 + c.step_change) + " of"} A's${has(c.waterfall[0]) ? `: ${seconds(c.waterfall[c.waterfall.length - 1].a_s)} and ${seconds(c.waterfall[c.waterfall.length - 1].b_s)}` : ""}.` : "At least one of the two does not fit in memory."));
  if (c.waterfall.length) {
    const s = part(a, "From A's step to B's", el("p", {className: "soft"}, "Red terms take longer in B, green ones take less time; together they are the difference between the two steps."));
    chart(s, c.id + "waterfall");
    s.append(table([{title: "", text: true, of: r => r.term}, {title: "A", of: r => seconds(r.a_s)}, {title: "B", of: r => seconds(r.b_s)}, {title: "B - A", of: r => signed(r.change_s, seconds)}, {title: "of A's step", of: r => signed(r.change_of_step, percent)}], c.waterfall, "even tight"));
  }
  const others = c.inputs.map(r => r.path).filter(p => /\.name$/.test(p)).map(p => p.slice(0, -4)), follows = r => others.some(o => r.path.startsWith(o) && r.path !== o + "name"); /* values of another entry of the catalogue */
  const inputs = rows => table([{title: "input", text: true, of: r => r.path.replace(/\.name$/, "")}, {title: "A", text: true, of: r => quantityText(r.a)}, {title: "B", text: true, of: r => quantityText(r.b)}], rows, "even"), own = c.inputs.filter(r => !follows(r)), rest = c.inputs.filter(follows);
  part(a, c.inputs.length ? "What differs in the inputs" : "The inputs are the same", own.length ? inputs(own) : null, rest.length ? el("details", {}, el("summary", {}, `${count(rest.length)} ${rest.length === 1 ? "value that differs" : "values that differ"} because of these`), inputs(rest)) : null);
  if (c.outputs.length) part(a, "What that changes", table([{title: "figure", text: true, of: r => r.figure}, {title: "A", of: r => r.a_text}, {title: "B", of: r => r.b_text}, {title: "change", of: r => signed(r.change, percent)}], c.outputs, "even"));
  if (c.verdict) a.append(el("p", {}, c.verdict));
  return a;
}

function compareRuns(runs) {
  if (runs.length < 2) return;
  part(main, "The runs side by side", table([{title: "run", text: true, of: r => `${r.summary.run_id || ""} ${r.name}`}, {title: "accelerators", of: r => count(r.summary.accelerators)}, {title: "step", of: r => seconds((r.summary.step || {}).time_s)}, {title: "throughput", of: r => { const t = r.summary.throughput || {}, v = r.of_samples ? t.samples_per_s : t.tokens_per_s; return has(v) ? amount(v) + (r.of_samples ? " samples/s" : " tokens/s") : ""; }},
    {title: "MFU", of: r => percent((r.summary.throughput || {}).mfu)}, {title: "memory", of: r => memory(r.summary.memory.peak_bytes)}, {title: "days", of: r => { const d = (r.summary.campaign || {}).days; return has(d) ? digits(d) : ""; }}, {title: "rent", of: r => usd((r.summary.campaign || {}).rent_usd)}], runs));
}

/* ---- tables that sort ---- */
/* A row with an `instead` has that in place of the columns behind its status. */
function sortable(columns, rows, first, descending = true, className = "") {
  let key = first, down = descending, shown = rows;
  const body = el("tbody", {}), head = el("tr", {});
  const compare = (a, b) => !has(a) ? (has(b) ? 1 : 0) : !has(b) ? -1 : (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))) * (down ? -1 : 1);
  function fill() {
    body.replaceChildren(...[...shown].sort((a, b) => compare(a[key], b[key])).map(r => el("tr", rowOf(r), (has(r.instead) ? columns.slice(0, 1 + columns.findIndex(c => c.key === "status")) : columns).map(c => {
      const value = r[c.key];
      return el("td", {className: c.whole ? "text whole" : c.text ? (String(value).length > 40 ? "text long" : "text") : ""}, has(value) ? (c.show ? c.show(value) : String(value)) + (c.mark ? c.mark(r) : "") : "");
    }), has(r.instead) ? el("td", {className: "text soft", colSpan: columns.length - 1 - columns.findIndex(c => c.key === "status"), style: "white-space: normal"}, r.instead) : null)));
    [...head.children].forEach((th, i) => th.setAttribute("aria-sort", columns[i].key === key ? (down ? "descending" : "ascending") : "none"));
  }
  for (const c of columns) head.append(el("th", {className: c.text ? "text" : "", scope: "col"}, el("button", {title: "sort", onclick: () => { down = c.key === key ? !down : !c.text; key = c.key; fill(); }}, c.title)));
  fill();
  return {element: el("div", {className: "scroll tall"}, el("table", {className}, el("thead", {}, head), body)), show: r => { shown = r; fill(); }};
}

/* ---- a sweep ---- */
/* A figure of points as people read it, by its unit. */
const TEXTS = {"": v => Number.isInteger(v) ? count(v) : digits(v), s: seconds, B: memory, d: digits, kg: kilograms, USD: usd, kWh: v => energy(3.6e6 * v), W: v => scaled(v, "W"), fraction: percent};
const select = (options, value) => { const e = el("select", {}, options.map(o => el("option", {value: o[0]}, o[1]))); e.value = value; return e; };
const textOf = v => typeof v === "object" ? JSON.stringify(v) : String(v);

function showSweep(sweep) {
  const about = sweep.about[0], points = sweep.points, a = el("article", {});
  const axes = [...new Set(points.flatMap(p => Object.keys(p.set || {})))];
  for (const p of points) for (const k of axes) if (p.set && has(p.set[k])) p["set " + k] = typeof p.set[k] === "number" ? p.set[k] : textOf(p.set[k]);
  if (points.every(p => !has(p.tokens_per_s) || p.tokens_per_s === p.samples_per_s)) for (const p of points) delete p.tokens_per_s; /* a model without tokens */
  else for (const p of points) delete p.samples_per_s;
  for (const p of points) if (p.status !== "ok") Object.assign(p, {status: p.status.replace(/_/g, " "), instead: p.reason || ""});
  const ok = points.filter(p => p.status === "ok"), figures = sweep.figures.filter(f => points.some(p => has(p[f.key]))).map(f => [f.key, f.title, TEXTS[f.unit] || amount, f.better === "more" ? 1 : -1]), varied = axes.filter(k => new Set(ok.map(p => p["set " + k])).size > 1), label = p => (varied.length ? varied : axes).map(k => `${k.split(".").pop()}=${has(p["set " + k]) ? p["set " + k] : ""}`).join(", ");
  const isCurve = ok.length > 1 && new Set(ok.map(p => p.accelerators)).size === ok.length && varied.every(k => /^cluster\.(nodes|accelerators_per_node)$|^training\.global_batch_size$/.test(k)); /* as tsim scale asks */
  const origin = [has(about.sweep_id) ? "sweep " + about.sweep_id : "", has(about.started_at) ? about.started_at.replace("T", " ").replace("Z", " UTC") : "", has(about.version) ? "tsim " + about.version : ""].filter(t => t).join(", ");
  a.append(el("h1", {}, `${isCurve ? "Scaling" : "Sweep"} of ${about.scenario}`), el("p", {className: "soft"}, `${count(about.n_points)} points, ${ok.length === points.length ? "all" : count(ok.length)} with a result${about.n_points > points.length ? `; this page has the ${count(points.length)} fastest` : ""}. ${origin}`));
  main.append(a);
  if (isCurve) scaling(a, sweep, ok, label);
  if (points.length > 1 && ok.length && figures.length > 1) heatMap(a, points, axes, figures);
  if (ok.length > 1 && figures.length > 1) pareto(a, sweep, figures, label);
  if (!isCurve) scaling(a, sweep, ok, label);
  sweepTable(a, points, axes, figures);
}

function sweepTable(parent, points, axes, figures) {
  const filter = el("input", {type: "search", placeholder: "words that a row must have", "aria-label": "filter"}), shown = el("span", {className: "soft"});
  const fixed = axes.filter(k => points.length > 1 && points.every(p => p["set " + k] === points[0]["set " + k]));
  const columns = [...axes.filter(k => !fixed.includes(k)).map(k => ({title: k.split(".").pop().replace(/_/g, "_\u200b"), key: "set " + k, text: points.some(p => typeof p["set " + k] === "string")})), {title: "status", key: "status", text: true}, ...figures.filter(f => f[0] !== "campaign_co2_kg").map(f => ({title: f[1], key: f[0], show: f[2]})), {title: "bottleneck", key: "bottleneck", text: true}];
  const t = sortable(columns, points, figures.length ? figures[0][0] : "status", true, "many"), lines = points.map(p => [...columns.map(c => has(p[c.key]) ? c.title.replace(/\u200b/g, "") + "=" + p[c.key] : ""), p.instead || ""].join(" ").toLowerCase());
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(w => w), kept = points.filter((p, i) => words.every(w => lines[i].includes(w)));
    t.show(kept);
    shown.textContent = `${count(kept.length)} of ${count(points.length)}`;
  };
  filter.addEventListener("input", apply);
  part(parent, "Every point", fixed.length ? el("p", {className: "soft"}, "The same in all: " + fixed.map(k => `${k}=${points[0]["set " + k]}`).join(", ") + ".") : null, el("div", {className: "tools"}, filter, shown), t.element);
  apply();
}

function heatMap(parent, points, axes, figures) {
  const ok = points.filter(p => p.status === "ok"), varied = axes.filter(k => new Set(points.map(p => p["set " + k])).size > 1);
  if (varied.length < 2) return;
  const x = select(varied.map(k => [k, k]), varied[1]), y = select(varied.map(k => [k, k]), varied[0]), f = select(figures, figures[0][0]), room = el("div", {className: "scroll"}), why = {"does not fit": "no room"};
  const values = k => [...new Set(points.map(p => p["set " + k]))].sort((a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const draw = () => {
    const figure = figures.find(g => g[0] === f.value), best = new Map(), failed = new Map();
    for (const p of points) {
      const key = JSON.stringify([p["set " + x.value], p["set " + y.value]]), old = best.get(key);
      if (p.status !== "ok") failed.set(key, p);
      else if (has(p[figure[0]]) && (old === undefined || (p[figure[0]] - old[figure[0]]) * figure[3] > 0)) best.set(key, p);
    }
    const all = [...best.values()].map(p => p[figure[0]]), low = Math.min(...all), high = Math.max(...all);
    const cell = key => {
      const p = best.get(key), lost = failed.get(key);
      if (p === undefined) return lost ? el("td", {className: "none", title: lost.instead || ""}, why[lost.status] || lost.status) : el("td", {}, "");
      const v = p[figure[0]], share = high > low ? (v - low) / (high - low) : 1, good = figure[3] > 0 ? share : 1 - share;
      return el("td", {style: `background: rgba(59, 125, 216, ${(.05 + .6 * good).toFixed(3)})`, ...rowOf(p)}, figure[2](v));
    };
    room.replaceChildren(el("table", {className: "heat"}, el("thead", {}, el("tr", {}, el("th", {className: "text"}, `${last(y.value)} \\ ${last(x.value)}`), values(x.value).map(v => el("th", {}, String(v))))),
      el("tbody", {}, values(y.value).map(v => el("tr", {}, el("th", {}, String(v)), values(x.value).map(w => cell(JSON.stringify([w, v]))))))));
  };
  [x, y, f].forEach(e => e.addEventListener("change", draw));
  part(parent, "Heat map", el("p", {className: "soft"}, `A cell shows the best of its points: the stronger the blue, the better.${points.some(p => p.status === "does not fit") ? " Where it says no room, the memory is too small." : ""}`), el("div", {className: "tools"}, el("label", {}, "rows ", y), el("label", {}, "columns ", x), el("label", {}, "figure ", f)), room);
  draw();
}

/* The drawing shows speed against what a point costs; the script moves its dots where other figures are asked for. */
function pareto(parent, sweep, figures, label) {
  const first = k => figures.find(g => g[0] === k), x0 = first("campaign_rent_usd") || first("mean_power_w") || first("memory_peak_bytes");
  if (!x0 || !drawings.querySelector(`#${sweep.id}pareto svg`)) return;
  const x = select(figures, x0[0]), y = select(figures, figures[0][0]), s = part(parent, "Pareto front", el("p", {className: "soft"}, "The points that no other point beats in one figure without losing in the other."), el("div", {className: "tools"}, el("label", {}, "across ", x), el("label", {}, "up ", y)));
  const svg = chart(s, sweep.id + "pareto"), group = svg.querySelector(".dots"), line = group.querySelector("path"), [left, right, bottom, top] = group.dataset.frame.split(" ").map(Number);
  const dots = [...group.querySelectorAll("circle")].map(c => ({c, p: sweep.points[+[...c.classList].find(k => /^p\d/.test(k)).slice(1)]})), put = (name, text) => svg.querySelector("." + name).textContent = text;
  const draw = () => {
    const fx = first(x.value), fy = first(y.value), shown = dots.filter(d => has(d.p[fx[0]]) && has(d.p[fy[0]])), front = [], range = f => { const v = shown.map(d => d.p[f[0]]), low = Math.min(...v), high = Math.max(...v), room = (high > low ? high - low : high) / 12; return [Math.max(low - room, 0), high + room]; };
    const [lowX, highX] = range(fx), [lowY, highY] = range(fy);
    for (const d of [...shown].sort((a, b) => (b.p[fx[0]] - a.p[fx[0]]) * fx[3] || (b.p[fy[0]] - a.p[fy[0]]) * fy[3])) if (!front.length || (d.p[fy[0]] - front[front.length - 1].p[fy[0]]) * fy[3] > 0) front.push(d);
    for (const d of dots) d.c.style.display = shown.includes(d) ? "" : "none";
    for (const d of shown) {
      const isFront = front.includes(d);
      d.at = [left + (d.p[fx[0]] - lowX) / (highX - lowX || 1) * (right - left), bottom - (d.p[fy[0]] - lowY) / (highY - lowY || 1) * (bottom - top)];
      d.c.setAttribute("cx", d.at[0]);
      d.c.setAttribute("cy", d.at[1]);
      d.c.setAttribute("r", isFront ? 5 : 3);
      d.c.classList.toggle("k6", isFront);
      d.c.classList.toggle("k4", !isFront);
      d.c.dataset.hint = `${label(d.p)}\n${fx[1]} ${fx[2](d.p[fx[0]])}, ${fy[1]} ${fy[2](d.p[fy[0]])}`;
    }
    line.setAttribute("d", front.map((d, i) => (i ? "L" : "M") + d.at.join(" ")).join(""));
    for (const [name, f, v] of [["low-x", fx, lowX], ["high-x", fx, highX], ["low-y", fy, lowY], ["high-y", fy, highY]]) put(name, f[2](v));
    put("name-x", fx[1]);
    put("name-y", fy[1]);
  };
  [x, y].forEach(e => e.addEventListener("change", draw));
  draw();
  openDots(svg, (dot, place) => sweep.points[place].set);
}

function scaling(parent, sweep, ok, label) {
  const speed = p => has(p.tokens_per_s) ? p.tokens_per_s : p.samples_per_s, best = new Map();
  for (const p of ok) if (has(speed(p)) && (!best.has(p.accelerators) || speed(p) > speed(best.get(p.accelerators)))) best.set(p.accelerators, p);
  const rows = [...best.values()].sort((a, b) => a.accelerators - b.accelerators);
  if (rows.length < 2) return;
  const base = speed(rows[0]) / rows[0].accelerators, unit = has(rows[0].tokens_per_s) ? "tokens/s" : "samples/s", ideal = n => base * n, efficiency = p => speed(p) / ideal(p.accelerators), knee = (sweep.scaling || {}).knee;
  const s = part(parent, "Scaling", el("p", {className: "soft"}, "The curve has the fastest point for each number of accelerators. The ideal is the speed per accelerator of the smallest cluster. Red is the loss to exposed communication, as far as its share of the step is larger than on the smallest cluster; grey is the loss to everything else."));
  if (knee) s.append(el("p", {}, `The curve bends after ${count(knee.accelerators)} accelerators: at the next size ${knee.cause} takes ${seconds(knee.excess_s)} more of a step than with perfect scaling, ${(100 * knee.share_frac).toFixed(0)} % of the loss.`));
  chart(s, sweep.id + "scaling");
  s.append(table([{title: "accelerators", of: p => count(p.accelerators)}, {title: unit, of: p => amount(speed(p))}, {title: "efficiency", of: p => percent(efficiency(p))}, {title: "bubble", of: p => percent(p.bubble_frac)}, {title: "exposed communication", of: p => percent(p.communication_exposed_frac)}, {title: "bottleneck", text: true, of: p => p.bottleneck}, {title: "point", text: true, of: label}], rows));
}

/* ---- a search for plans ---- */
const PLAN_KEYS = [["tensor", "tensor"], ["pipeline", "pipeline"], ["virtual_pipeline", "chunks"], ["context", "context"], ["expert", "expert"], ["data", "data"], ["zero", "ZeRO"], ["micro_batch_size", "micro-batch"], ["recompute", "recompute"], ["schedule", "schedule"], ["sequence", "sequence"]];
const last = path => path.split(".").pop();

const mayNotFit = row => row.plan.summary.memory.may_not_fit;

/* A plan as the tables and charts need it, flat. */
function planRow(p, i, samples) {
  const s = p.summary, t = s.throughput || {}, set = Object.fromEntries(Object.entries(p.set).map(([k, v]) => [last(k), v])), row = {plan: p, number: i + 1, cluster: p.cluster};
  for (const [key] of PLAN_KEYS) row[key] = typeof set[key] === "boolean" ? (set[key] && set.tensor > 1 ? "yes" : "no") : set[key];
  return Object.assign(row, {shape: p.text, days: p.days, usd: p.usd, wh: p.wh, perTrillion: p.usd_per_trillion, step: s.step.time_s, low: (s.uncertainty || {}).step_time_low_s, high: (s.uncertainty || {}).step_time_high_s, mfu: t.mfu, speed: samples ? t.samples_per_s : t.tokens_per_s, memory: s.memory.peak_bytes, accelerators: s.accelerators,
    why: loses(p)});
}

function loses(p) {
  if (!p.loses) return "";
  const step = p.summary.step.time_s, terms = Object.entries(p.loses).filter(([word, v]) => word !== "time" && Math.abs(v) >= .002 * step).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 3);
  return `${p.loses.time >= 0 ? "+" : ""}${percent(p.loses.time)} time: ` + (terms.map(([word, v]) => `${v > 0 ? "+" : "-"}${seconds(Math.abs(v))} ${word.replace(/_/g, " ")}`).join(", ") || "all terms are nearly the same");
}

const interval = r => has(r.low) ? `${seconds(r.low)} to ${seconds(r.high)}` : "";
/* `brief`: rates; else prices. */
function planTable(rows, plans, brief) {
  const of = keys => PLAN_KEYS.filter(k => keys.includes(k[0])).map(([key, title]) => ({title, key, text: key === "recompute" || key === "schedule" || key === "sequence"}));
  const columns = [{title: "", key: "number"}, ...(plans.candidates > 1 ? [{title: "cluster", key: "cluster"}] : []), {title: "plan", key: "shape", text: true, whole: true}, ...of(["micro_batch_size", "recompute", "schedule"]), {title: rows.some(mayNotFit) ? "memory (? may not fit)" : "memory", key: "memory", show: memory, mark: r => mayNotFit(r) ? "?" : ""}, {title: "step", key: "step", show: seconds}, {title: "90 % of cases", key: "interval"},
    ...(brief ? [{title: "MFU", key: "mfu", show: percent}, {title: plans.per.rate, key: "speed", show: amount}] : [{title: "days" + plans.per.of, key: "days", show: digits}, {title: "rent" + plans.per.of, key: "usd", show: usd}, {title: "energy" + plans.per.of, key: "wh", show: v => scaled(v, "Wh", 0)}])];
  for (const r of rows) r.interval = interval(r);
  return sortable(columns, rows, "number", false, "many").element;
}

function planHeadline(parent, plans, best) {
  const cards = el("div", {className: "cards"});
  card(cards, "best plan", best.shape, `ZeRO ${best.zero}, ${best.schedule}, micro-batch ${best.micro_batch_size}, recompute ${best.recompute}`);
  card(cards, "step time", seconds(best.step), interval(best));
  card(cards, "throughput", amount(best.speed) + " " + plans.per.rate, `${count(best.accelerators)} accelerators`);
  card(cards, "model FLOP utilization", percent(best.mfu));
  card(cards, "memory", memory(best.memory), memoryNote(best.plan.summary.memory));
  const stretched = s => best.days < 1 ? span(86400 * best.days * s / best.step) : digits(best.days * s / best.step);
  card(cards, plans.per.of ? "time per " + plans.per.title : "whole run", lasting(best.days), has(best.low) ? `${stretched(best.low)} to ${stretched(best.high)}` : "");
  card(cards, "rent" + plans.per.of, usd(best.usd), plans.per.of ? "" : has(best.perTrillion) ? `${usd(best.perTrillion)} per ${plans.per.title}` : "");
  card(cards, "energy" + plans.per.of, scaled(best.wh, "Wh", 0));
  parent.append(cards);
}

function planFront(parent, plans, front) {
  const s = part(parent, "Pareto front of time, cost and energy", el("p", {className: "soft"}, front.length > 1 ? `The ${count(front.length)} plans that no other plan beats in time, cost or energy without losing in another of the three. Each chart shows two of the three, with the five best plans.`
    : "One plan is the best in time, cost and energy at once. The charts show it beside the five best."));
  for (const name of ["cost", "energy"]) openDots(chart(s, plans.id + name), (dot, place) => (dot.classList.contains("k1") ? plans.best : plans.points)[place].set);
  s.append(planTable(front, plans));
}

function planClusters(parent, plans, own) {
  if (plans.candidates < 2) return;
  const why = new Map((plans.without || []).map(w => [w.cluster, w.why]));
  const s = part(parent, "The best of each cluster");
  if (own.length) {
    chart(s, plans.id + "clusters");
    s.append(planTable(own, plans));
  }
  s.append(table([{title: "cluster", of: c => c.number}, {title: "accelerators", of: c => count(c.accelerators)}, {title: "accelerator", text: true, of: c => c.accelerator}, {title: "is set to", text: true, whole: true, of: c => Object.entries(c.set).map(([k, v]) => `${last(k)}=${v}`).join(", ")}, {title: "best plan", text: true, of: c => { const r = own.find(o => o.cluster === c.number); return r ? r.shape : why.get(c.number) || ""; }}], plans.space.map((c, i) => Object.assign({number: i + 1}, c))));
  if (plans.verdict) s.append(el("p", {}, plans.verdict));
  const sensitivity = plans.sensitivity || [];
  if (sensitivity.length) s.append(el("details", {}, el("summary", {}, "effect of one input being a tenth off"), table(Object.keys(sensitivity[0]).map(k => ({title: k.replace(/_frac$/, "").replace(/_/g, " "), text: typeof sensitivity[0][k] === "string", of: r => /_frac$/.test(k) ? percent(r[k]) : typeof r[k] === "number" ? digits(r[k]) : r[k]})), sensitivity)));
}

function planSpace(parent, plans) {
  const s = part(parent, "What was searched"), keys = plans.space.length ? Object.keys(plans.space[0].axes) : [];
  s.append(pairs([["ranked by", plans.ranked_by], ["limits", plans.limits.join(", ") || "none"], ["clusters", count(plans.candidates)], ["combinations of the keys below", count(plans.combinations)], ["plans that divide and are valid", count(plans.plans)], ["do not fit in memory", count(plans.does_not_fit)], ["simulated", count(plans.evaluated)], ["excluded by bounds and not simulated", count(plans.pruned)]]));
  const values = c => k => c.axes[k].join(", "), same = k => plans.space.every(c => values(c)(k) === values(plans.space[0])(k));
  if (keys.length) s.append(table([{title: "key", text: true, of: k => k}, {title: "values", text: true, of: k => same(k) ? values(plans.space[0])(k) : plans.space.map((c, i) => `cluster ${i + 1}: ${values(c)(k)}`).join("; ")}], keys));
}

function showDecision(d) {
  const a = el("article", {}), choice = d.decision, range = rangeText;
  const chance = c => has(c) ? (c < 0.025 ? "under 5 %" : `${Math.round(100 * c)} %`) : "-", cluster = o => `${count(o.nodes)} x ${o.node}${o.fabric && o.nodes > 1 ? `, ${o.fabric}` : ""}`;
  a.append(el("h1", {}, choice.action === "none" ? "Nothing reaches the goal" : `${choice.action} ${cluster(choice)}`), el("p", {className: "soft"}, d.scenario));
  main.append(a);
  for (const text of d.misses || []) a.append(el("p", {className: "warn"}, text));
  if (!has(choice.nodes)) return;
  const capital = o => has(o.capital_usd) ? `${usd(o.capital_usd)}: nodes ${usd(o.capital.nodes_usd)}, network ${usd(o.capital.network_usd)}, storage ${usd(o.capital.storage_usd)}, its share of the facility's lifetime ${usd(o.capital.facility_usd)}` : "not known: it cannot be bought";
  const model = d.proposal ? [["model", `${amount(d.proposal.parameters)} parameters on ${amount(d.proposal.tokens)} tokens, expected loss ${digits(d.proposal.loss.p50)}`]] : [];
  a.append(pairs([...model, ["plan", choice.plan], ["chance of the goal", chance(choice.chance_of_both)], ["chance of the date", chance(choice.chance_in_time)], ["chance of the budget", chance(choice.chance_in_budget)], ["days, in eight of ten cases", range(choice.days, digits)], ["cost, in eight of ten cases", range(choice.cost_usd, usd)], ["energy, in eight of ten cases", range(choice.energy_kwh, kwh => `${amount(1e3 * kwh)}Wh`)], ["price", choice.price], [choice.action === "buy" ? "capital" : "capital if it were bought", capital(choice)], ["evidence", `${choice.evidence}: ${count(choice.measured_runs)} measured runs on this accelerator`]]));
  if (drawings.querySelector(`#${d.id}offers svg`))
    chart(part(a, "What it takes", el("p", {className: "soft"}, "A bar covers eight of ten cases, its dot is the middle case. The decision stands above its alternatives.")), d.id + "offers");
  if (d.alternatives.length) part(a, "The runners-up: other machines, another size, other ways to get it").append(table([{title: "", text: true, of: o => o.action}, {title: "cluster", text: true, whole: true, of: cluster}, {title: "days", of: o => supported(o.days, o.days.p50, digits)}, {title: "cost", of: o => supported(o.cost_usd, o.cost_usd.p50, usd)}, {title: "chance", of: o => chance(o.chance_of_both)}, {title: "why not", text: true, of: o => o.why_not}], d.alternatives));
  if ((d.fabrics || []).length) part(a, "The network, and others of the same speed").append(table([{title: "fabric", text: true, of: f => f.fabric}, {title: "step", of: f => has(f.step_ratio) ? percent(f.step_ratio) : "-"}, {title: "tiers", of: f => f.tiers}, {title: "switches", of: f => count(Math.ceil(f.switches))}, {title: "links", of: f => count(Math.ceil(f.links))}, {title: "price", of: f => f.network_high_usd > 1.02 * f.network_low_usd ? `${usd(f.network_low_usd)} to ${usd(f.network_high_usd)}` : usd(f.network_usd)}, {title: "source of the switch's price", text: true, of: f => f.price_source ? `${f.price_status}: ${f.price_source}` : ""}], [Object.assign({fabric: choice.fabric, step_ratio: 1}, d.network), ...d.fabrics]));
  if (d.flips.length) part(a, "What would change the decision", el("ul", {}, d.flips.map(text => el("li", {}, text))));
}
function showPlans(plans) {
  const a = el("article", {}), samples = plans.of_samples;
  const rows = list => (list || []).map((p, i) => planRow(p, i, samples)), best = rows(plans.best);
  a.append(el("h1", {}, "plans for " + plans.scenario), el("p", {className: "soft"}, `${count(plans.plans)} plans; ranked by ${plans.ranked_by}`));
  main.append(a);
  if (!best.length) a.append(el("p", {className: "warn"}, (plans.without || []).length === 1 ? plans.without[0].why : "None of the clusters has a plan: see below."));
  if (best.length) {
    planHeadline(a, plans, best[0]);
    const s = part(a, "The best plans", planTable(best, plans, true));
    if (best.length > 1) s.append(el("h3", {}, "Why the others lose"), el("p", {className: "soft"}, "How the terms of each plan's step differ from those of the first plan, for the same number of tokens."), el("ul", {}, best.slice(1).map(r => el("li", {}, `${r.number}: ${r.why}`))));
    chart(part(a, "Where the step goes", el("p", {className: "soft"}, "The step of each plan's slowest rank.")), plans.id + "steps");
    chart(part(a, "Memory of the fullest rank"), plans.id + "memory");
    planFront(a, plans, rows(plans.points));
  }
  planClusters(a, plans, rows(plans.best_of_each));
  planSpace(a, plans);
  if (best.length) a.append(el("details", {}, el("summary", {}, plans.best[0].may_not_fit && !plans.recommended.may_not_fit ? "settings of the best plan that fits even if its peak is higher than predicted" : "settings of the best plan"), el("pre", {}, Object.entries(plans.recommended.set).map(([k, v]) => / /.test(v) ? `--set '${k}=${v}'` : `--set ${k}=${v}`).join(" \\\n"))), el("p", {className: "soft"}, "The run of this plan follows."));
}

const nameEntries = data => { for (const kind of ["decisions", "comparisons", "plans", "runs", "sweeps"]) data[kind].forEach((entry, i) => { entry.id = `${kind}-${i}-`; }); };
/* Shows all that a report holds, in the order in which it is read. */
function showReport(data) {
  nameEntries(data);
  data.decisions.forEach(showDecision);
  data.comparisons.forEach(c => main.append(showComparison(c)));
  data.plans.forEach(showPlans);
  if (!data.comparisons.length) compareRuns(data.runs);
  data.runs.forEach(run => main.append(showRun(run)));
  data.sweeps.forEach(showSweep);
}

/* ---- themes, hints and printing ---- */
const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = t => { root.dataset.theme = t; };
document.getElementById("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
addEventListener("pointermove", showHint);
addEventListener("pointerdown", showHint);
setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
let before = null;
addEventListener("beforeprint", () => { before = root.dataset.theme; if (before === "dark") setTheme("light"); });
addEventListener("afterprint", () => { if (before === "dark") setTheme("dark"); });
