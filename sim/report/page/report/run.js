/* A run. */

const memoryNote = m => "of " + memory(m.capacity_bytes) +
    (!m.fits             ? ": does not fit"
         : m.may_not_fit ? ": may not fit"
                         : "");

/* A line does not end between a number and what follows it: "9.1 %", "2.5 M USD". */
const keptTogether = text => text.replace(/(\d) (?=\S)/g, "$1\u00a0").replace(/\b([kMGT]) (?=\S)/g, "$1\u00a0");
/* A figure that is seen first: its number is larger than its unit. */
function card(cards, name, value, note) {
  if (!has(value)) return;
  const [, number, unit] = /^([-\d.,]+)(\s.*)$/.exec(value) || [null, value, ""];
  cards.append(
      el("div", {className: "card"}, el("span", {}, name), el("b", {}, number, unit ? el("small", {}, unit) : null),
         note ? el("span", {}, keptTogether(note)) : null));
}

function headline(parent, run) {
  const s = run.summary, t = s.throughput || {}, c = s.campaign || {}, u = s.uncertainty,
        cards = el("div", {className: "cards"});
  if (s.step)
    card(
        cards, "step time", seconds(s.step.time_s),
        u && has(u.step_time_low_s) ? seconds(u.step_time_low_s) + " to " + seconds(u.step_time_high_s) : "");
  if (s.post_training)
    card(cards, "round", seconds(s.post_training.time_s), "of which training " + seconds(s.post_training.training_s));
  const rate = run.of_samples ? t.samples_per_s : t.tokens_per_s;
  card(
      cards, "throughput", has(rate) ? amount(rate) + (run.of_samples ? " samples/s" : " tokens/s") : "",
      has(rate) ? amount(rate / s.accelerators) + " per accelerator" : "");
  card(
      cards, "model FLOP utilization", percent(t.mfu),
      has(t.model_tflops_per_gpu) ? scaled(1e12 * t.model_tflops_per_gpu, "FLOP/s") + " each" : "");
  card(cards, "memory", memory(s.memory.peak_bytes), memoryNote(s.memory));
  const shares =
      Object.entries((s.bottleneck && s.bottleneck.shares) || {}).filter(e => e[1] >= 0.01).sort((a, b) => b[1] - a[1]);
  if (s.bottleneck)
    card(cards, "bottleneck", s.bottleneck.kind, shares.slice(0, 3).map(e => percent(e[1]) + " " + e[0]).join(", "));
  const likely = text => text ? text + " in eight of ten cases" : "",
        notes = (...texts) => texts.filter(text => text).join("; ");
  card(
      cards, "whole run", lasting(c.days),
      notes(likely(daysText(u && u.days)), has(c.steps) ? count(c.steps) + " steps" : ""));
  card(cards, "rent", usd(c.rent_usd), likely(rangeText(u && u.cost_usd, usd)));
  card(cards, "electricity", has(c.energy_kwh) ? energy(3.6e6 * c.energy_kwh) : "", usd(c.electricity_usd));
  card(cards, "carbon", has(c.co2_kg) ? kilograms(c.co2_kg) + " CO2" : "");
  if (s.energy) card(cards, "mean power", scaled(s.energy.mean_power_w, "W"), "");
  parent.append(cards);
  if (u && u.basis) parent.append(el("p", {className: "soft"}, u.basis));
  if (u && u.because)
    parent.append(
        el("details", {}, el("summary", {}, "What the ranges of the whole run are made of"),
           el("ul", {}, u.because.map(text => el("li", {}, text)))));
  if (!s.memory.fits) parent.append(el("p", {className: "warn"}, "This configuration does not fit in memory."));
}

function advice(parent, run) {
  const changes = (run.summary.bottleneck || {}).advice || [];
  if (changes.length)
    parent.append(
        el("h3", {}, "What would help"),
        el("ul", {},
           changes.map(
               a =>
                   el("li", {},
                      applies ? el("button", {type: "button", title: "apply it", onclick: () => applies(a)}, a) : a))));
}

function whereStepGoes(parent, run) {
  const s = run.summary, u = s.uncertainty;
  if (!s.step) return;
  chart(
      part(
          parent, "Where the step goes",
          el("p", {className: "soft"},
             `The step of the slowest rank takes ${seconds(s.step.time_s)}: the terms below add up to it.${
                 u && has(u.step_time_low_s) ? ` The line across its end is the ${u.basis}.` : ""}`)),
      run.id + "step");
}

function whereRoundGoes(parent, run) {
  const p = run.summary.post_training;
  if (!p) return;
  const rows = [
    ["generation", p.generation_s], ["scoring", p.scoring_s], ["training", p.training_s],
    ["transfer of the weights", p.transfer_s], ["copies to the host and back", p.copies_s]
  ].filter(r => has(r[1]));
  const s = part(
      parent, "Where the round goes",
      el("p", {className: "soft"},
         `A round of post-training takes ${
             seconds(
                 p.time_s)}: its parts run one after another on the same accelerators. The step below is a training step of the round.`),
      table(
          [
            {title: "part", text: true, of: r => r[0]}, {title: "time", of: r => seconds(r[1])},
            {title: "of the round", of: r => percent(r[1] / p.time_s)}
          ],
          rows));
  if (has(p.generation_s))
    s.append(
        el("p", {className: "soft"}, "Generation takes at least this long: scheduling and sampling are not counted."),
        pairs([
          ["generated by an accelerator", count(p.generated_tokens_per_s_per_gpu) + " tokens/s"],
          ["sequences at once on an engine", count(p.sequences_at_once)],
          ["the longest response", count(p.longest_response) + " tokens"]
        ]));
}

function memoryByStage(parent, run) {
  const rows = run.explain.memory || [];
  if (!rows.length) return;
  const s = part(parent, "Memory by stage");
  chart(s, run.id + "memory");
  const more = el("details", {}, el("summary", {}, "as a table"));
  more.append(table(
      [
        {title: "stage", of: r => r.stage},
        ...Object.entries(run.memory_kinds).map(([member, title]) => ({title, of: r => memory(r[member])})),
        {title: "peak", of: r => memory(r.peak_bytes)}, {title: "of capacity", of: r => percent(r.of_capacity_frac)}
      ],
      rows));
  s.append(more);
}

/* What a reader looks at in the pipeline of a run stays when it is drawn again. */
const looks = {}, lookAt = id => looks[id] = looks[id] || {at: "beginning", streams: false};
/* In the drawing of the pipeline a unit across is a microsecond, and a stage is four high. */
function gantt(parent, run) {
  const figure = drawings.querySelector(`#${run.id}streams`), plot = figure && figure.querySelector(".plot");
  if (!plot) return;
  const look = lookAt(run.id), passes = plot.querySelectorAll(":scope > rect.pass"),
        kernels = plot.querySelector(".kernels"), [, , end, down] = plot.getAttribute("viewBox").split(" ").map(Number),
        time = us => seconds(us / 1e6);
  const communication = el("input", {type: "checkbox", checked: look.streams}),
        button = (text, onclick, title) => el("button", {type: "button", onclick, title: title || ""}, text);
  const isLong = passes.length >= run.n_first_passes && run.n_slices > passes.length,
        last = passes[run.n_first_passes - 1], places = {
          beginning: () => isLong ? [0, +last.getAttribute("x") + +last.getAttribute("width")] : [0, end],
          everything: () => [0, end],
          kernels: () => kernels ? [+kernels.dataset.from, kernels.dataset.to - kernels.dataset.from] : [0, end],
          own: () => [look.from, look.width]
        };
  const near = button("zoom to kernels", () => go("kernels"), "one micro-batch of the slowest stage");
  near.disabled = !kernels;
  const s = part(
            parent, "The pipeline over time",
            el("p", {className: "soft"},
               `The first replica, as simulated${
                   run.n_slices > run.n_kept_slices
                       ? `: the first ${count(run.n_kept_slices)} of ${count(run.n_slices)} slices`
                       : ""}. Ctrl with the wheel, + and - zoom; dragging and arrows move.`),
            el("div", {className: "tools"}, el("label", {}, communication, " communication streams"),
               button("zoom in", () => scale(.5, .5)), button("zoom out", () => scale(.5, 2)), near,
               isLong ? button("the beginning", () => go("beginning")) : "",
               button("show everything", () => go("everything")))),
        svg = chart(s, run.id + "streams"), floor = svg.querySelector(".floor"),
        ticks = [...svg.querySelectorAll(".tick")];
  plot.addEventListener("pointerover", e => {
    const r = e.target, told = r.querySelector(":scope > title");
    if (!told) return;
    told.remove();
    r.dataset.hint = told.textContent;
    if (kernels && kernels.contains(r)) return;
    const begin = +r.getAttribute("x"), width = +r.getAttribute("width"), [what, chunk] = r.dataset.hint.split(", "),
          [, kind, microbatch] = /^(.*?)(?: (\d+))?$/.exec(what);
    r.dataset.hint = [
      `${kind}, stage ${Math.floor(r.getAttribute("y") / 4)}`, microbatch ? `micro-batch ${microbatch}, ${chunk}` : "",
      `${time(begin)} to ${time(begin + width)}: ${time(width)}`
    ].filter(t => t).join("\n");
  });
  let from, width;
  const range = (left, w) => {
    width = Math.min(end, Math.max(w, end / 1e5));
    from = Math.max(0, Math.min(left, end - width));
    plot.setAttribute("viewBox", `${from} 0 ${width} ${down}`);
    if (kernels) svg.classList.toggle("near", width < 8 * (kernels.dataset.to - kernels.dataset.from));
    const step = width / (ticks.length - 1);
    ticks.forEach((t, i) => {
      const us = from + i * step;
      t.textContent = us ? closely(Math.min(8, Math.ceil(Math.log10(us / step)) + 2), () => time(us)) : "0";
    });
  };
  const go = at => {
    look.at = at;
    range(...places[at]());
  };
  const move = (left, w) => {
    range(left, w);
    Object.assign(look, {at: "own", from, width});
  };
  const share = e => {
    const box = floor.getBoundingClientRect();
    return Math.min(1, Math.max(0, (e.clientX - box.left) / box.width));
  };
  const scale = (at, factor) => move(from + at * width * (1 - factor), width * factor);
  svg.addEventListener("wheel", e => { /* who scrolls the page comes by */
                                       if (!e.ctrlKey && document.activeElement !== svg) return;
                                       e.preventDefault();
                                       scale(share(e), e.deltaY > 0 ? 1.25 : .8);
  }, {passive: false});
  let drag = null;
  svg.addEventListener("pointerdown", e => {
    if (e.target.closest(".key")) return;
    drag = {at: share(e), from};
    svg.setPointerCapture(e.pointerId);
  });
  svg.addEventListener("pointermove", e => {
    if (drag) move(drag.from + (drag.at - share(e)) * width, width);
  });
  svg.addEventListener("pointerup", () => {
    drag = null;
  });
  svg.addEventListener("dblclick", () => go("everything"));
  svg.setAttribute("tabindex", "0");
  svg.addEventListener("keydown", e => {
    const does = {
      ArrowLeft: () => move(from - width / 4, width),
      ArrowRight: () => move(from + width / 4, width),
      "+": () => scale(.5, .5),
      "-": () => scale(.5, 2)
    }[e.key];
    if (!does) return;
    e.preventDefault();
    does();
  });
  go(look.at);
  const show = () => {
    look.streams = communication.checked;
    svg.classList.toggle("plain", !look.streams);
    for (const key of svg.querySelectorAll(".key"))
      key.style.display =
          communication.checked || plot.querySelector(`.pass.${key.firstElementChild.classList[0]}`) ? "" : "none";
  };
  communication.addEventListener("change", show);
  show();
}

function layer(parent, run) {
  if (drawings.querySelector(`#${run.id}layer svg`))
    chart(
        part(
            parent, "One layer, kernel by kernel",
            el("p", {className: "soft"},
               "One layer of the slowest stage, in the middle of the step. Kernels run one after another, collectives on streams of their own; a gap is a wait. All passes are drawn to the same scale.")),
        run.id + "layer");
}

function roofline(parent, run) {
  const all = run.explain.operators || [], roof = run.roof,
        rows = all.filter(r => r.intensity_flops_per_byte > 0 && r.achieved_flops_per_s > 0);
  if (!all.length) return;
  const s = part(parent, "Roofline of every operator");
  if (rows.length && roof.flops_per_s > 0) {
    s.append(el(
        "p", {className: "soft"},
        `The roof is the datasheet's: ${scaled(roof.flops_per_s, "FLOP/s")} in ${roof.precision} and ${
            scaled(roof.bytes_per_s, "B/s")} of one ${roof.accelerator}; they meet at ${
            digits(
                roof.flops_per_s /
                roof.bytes_per_s)} FLOP/B. A larger point takes more of the step. Communication and the bubble, which compute nothing, are in the table.`));
    chart(s, run.id + "roofline");
  }
  const more = el("details", {}, el("summary", {}, `all ${all.length} rows`));
  more.append(
      sortable(
          [
            {title: "operator", key: "operator", text: true}, {title: "part", key: "part", text: true},
            {title: "phase", key: "phase", text: true}, {title: "bound by", key: "bound", text: true},
            {title: "count", key: "count", show: count}, {title: "FLOP", key: "flops", show: amount},
            {title: "bytes", key: "bytes", show: bytes}, {title: "alone", key: "time_s", show: seconds},
            {title: "achieved", key: "achieved_flops_per_s", show: v => scaled(v, "FLOP/s")},
            {title: "in the step", key: "step_s", show: seconds}, {title: "share", key: "share_frac", show: percent}
          ],
          all, "share_frac")
          .element);
  s.append(more);
}

function links(parent, run) {
  const rows = run.explain.links || [];
  if (!rows.length) return;
  const s = part(parent, "Links by load");
  chart(s, run.id + "links");
  s.append(table(
      [
        {title: "sort", text: true, whole: true, of: r => r.sort}, {title: "links", of: r => count(r.links)},
        {title: "mean", of: r => percent(r.mean_load)}, {title: "fullest", of: r => percent(r.highest_load)},
        {title: "which", text: true, whole: true, of: r => r.fullest}, {title: "bytes on it", of: r => bytes(r.bytes)},
        {title: "capacity", of: r => scaled(r.capacity_bytes_per_s, "B/s")}
      ],
      rows));
}

function energyAndCost(parent, run) {
  const s = run.summary, c = s.campaign || {};
  if (!s.energy) return;
  part(parent, "Energy, carbon and cost").append(pairs([
    ["energy of a step", energy(s.energy.step_j)], ["mean power, whole cluster", scaled(s.energy.mean_power_w, "W")],
    ["steps", count(c.steps)], ["days", has(c.days) ? digits(c.days) : ""],
    ["energy with the facility's overhead", has(c.energy_kwh) ? energy(3.6e6 * c.energy_kwh) : ""],
    ["CO2", kilograms(c.co2_kg)], ["electricity", usd(c.electricity_usd)], ["rent", usd(c.rent_usd)],
    ["buying the machine", c.ownership ? usd(c.ownership.capital_usd) : ""],
    ["accelerators alone", usd(c.purchase_usd)], ["goodput", percent(c.goodput)], ["failures", count(c.failures)]
  ]));
}

function wholeRun(parent, run) {
  const c = run.summary.campaign || {}, soft = text => el("p", {className: "soft"}, text);
  if (!c.lost_accelerator_hours && !run.days_at) return;
  const s = part(parent, "The whole run");
  if (run.days_at) {
    s.append(soft("The chance that it is done, with all that is not known about it."));
    chart(s, run.id + "days");
  }
  if (!c.lost_accelerator_hours) return;
  if (drawings.querySelector(`#${run.id}timeline svg`)) {
    s.append(soft(
        "One simulated run from its first day to its last. Work that was lost and is done again counts as training here."));
    chart(s, run.id + "timeline");
    s.append(soft("The facility's power during that run."));
    chart(s, run.id + "power");
  }
  const saved = c.checkpoint || {}, local = saved.local || {};
  s.append(pairs([
    ["nodes that stand by", has(c.spares) ? count(c.spares) : ""],
    ["a checkpoint on the storage every", span(saved.interval_s)],
    ["in the hosts' memory every", span(local.interval_s)],
    ["restarts from the hosts' memory", has(local.restarts) ? digits(local.restarts) : ""]
  ]));
  const rows = Object.entries(c.lost_accelerator_hours)
                   .map(([cause, hours]) => ({
                          cause: cause.replace(/^(nic|hbm)$/, k => k.toUpperCase()).replace(/_/g, " "),
                          hours,
                          times: (c.interruptions || {})[cause]
                        }))
                   .filter(r => r.hours > 0)
                   .sort((a, b) => b.hours - a.hours);
  const all = run.summary.accelerators * c.mean_days * 24;
  const n = c.distribution.replications.reduce((a, b) => a + b, 0);
  s.append(
      soft(`Accelerator hours that are lost, by cause${n > 1 ? `: the mean of ${count(n)} simulated runs` : ""}.`));
  chart(s, run.id + "lost");
  s.append(table(
      [
        {title: "cause", text: true, of: r => r.cause},
        {title: "interruptions", of: r => has(r.times) ? String(+r.times.toFixed(2)) : ""},
        {title: "accelerator hours lost", of: r => count(Math.round(r.hours))},
        {title: "of all", of: r => portion(r.hours / all)}
      ],
      rows));
}

function owned(parent, run) {
  const c = run.summary.campaign || {}, o = c.ownership;
  if (!o) return;
  const s = part(parent, "Owned or rented"), date = ((run.scenario || {}).cost || {}).date;
  if (date) s.append(el("p", {className: "soft"}, "USD of " + date + "."));
  chart(s, run.id + "ownership");
  s.append(pairs([
    ["owned, this run", usd(o.run_usd)], ["rented, this run", usd(c.rent_usd)],
    ["owned, per trillion tokens", usd(o.usd_per_trillion_tokens)],
    ["rented, per trillion tokens", usd(c.rent_usd_per_trillion_tokens)],
    ["use above which owning is cheaper", percent(o.breakeven_utilization)],
    ["runs in the lifetime above which owning is cheaper", has(o.breakeven_runs) ? digits(o.breakeven_runs) : ""],
    ["CO2 of making the machine, this run's share", kilograms(c.embodied_co2_kg)]
  ]));
}

function measured(parent, run) {
  const rows = run.summary.measured || [];
  if (!rows.length) return;
  const s = part(parent, "Predicted beside measured"), source = (run.scenario.measured || {}).source;
  s.append(table(
      [
        {title: "", text: true, of: r => r.metric}, {title: "measured", of: r => amount(r.measured)},
        {title: "predicted", of: r => amount(r.predicted)},
        {title: "error", of: r => (r.error > 0 ? "+" : "") + percent(r.error)}
      ],
      rows));
  if (source) s.append(el("p", {className: "soft"}, "measured: " + source));
}

function sensitivities(parent, run) {
  const rows = (run.explain.sensitivities || []).filter(r => has(r.less_change_frac));
  if (!rows.length) return;
  const s = part(parent, "What the step time depends on");
  s.append(el(
      "p", {className: "soft"},
      "The change of the step time when one capacity of the hardware is a tenth lower or a tenth higher. Each case is simulated."));
  chart(s, run.id + "sensitivity");
}

function walk(value, path, visit) {
  if (value === null || typeof value !== "object") return;
  visit(value, path);
  for (const [key, child] of Object.entries(value)) walk(child, path ? path + "." + key : key, visit);
}
function sources(parent, run) {
  const rows = [];
  walk(run.scenario, "", (value, path) => {
    if (typeof value.source === "string" && value.source) rows.push({path: path || "scenario", source: value.source});
  });
  const s = part(parent, "Assumptions, sources and estimates");
  if (run.estimates.length)
    s.append(
        el("p", {},
           `${run.estimates.length} values that this result uses are estimates, because no source states them:`),
        el("ul", {}, run.estimates.map(e => el("li", {}, e))));
  else
    s.append(el("p", {}, "This run uses no estimate."));
  if (rows.length)
    s.append(el(
        "details", {}, el("summary", {}, `${rows.length} sources`),
        table([{title: "of", text: true, of: r => r.path}, {title: "source", text: true, of: r => r.source}], rows)));
  s.append(
      el("details", {}, el("summary", {}, "the scenario with every default filled in"),
         el("pre", {}, JSON.stringify(run.scenario, null, 2))));
}

function title(parent, run) {
  const logged = run.summary.run_id ? `run ${run.summary.run_id}: ` : "";
  parent.append(el("h1", {}, logged + run.name));
  if (run.scenario.description) parent.append(el("p", {}, run.scenario.description));
  const cluster = run.scenario.cluster || {}, node = cluster.node || {};
  parent.append(el("p", {className: "soft"}, [
    (run.scenario.model || {}).name, `${count(run.summary.accelerators)} x ${(node.accelerator || {}).name}`,
    `${count(cluster.nodes)} node${cluster.nodes === 1 ? "" : "s"} ${node.name}`, (cluster.fabric || {}).name
  ].filter(has).join(", ")));
}

const RUN_PARTS = [
  title, headline, advice, whereRoundGoes, whereStepGoes, memoryByStage, gantt, layer, roofline, links, sensitivities,
  wholeRun, energyAndCost, owned, measured, sources
];
/* Each part has a room of its own, named after its function, so that a page can change some of them (workbench.js). */
function showRun(run, wanted) {
  const rooms = RUN_PARTS.filter(f => !wanted || wanted.includes(f.name)).map(f => {
    const room = el("div", {});
    room.dataset.part = f.name;
    f(room, run);
    return room;
  });
  return el("article", {className: "run"}, rooms);
}
