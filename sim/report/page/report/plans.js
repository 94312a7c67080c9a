/* A search for plans. */

const PLAN_KEYS = [
  ["tensor", "tensor"], ["pipeline", "pipeline"], ["virtual_pipeline", "chunks"], ["context", "context"],
  ["expert", "expert"], ["data", "data"], ["zero", "ZeRO"], ["micro_batch_size", "micro-batch"],
  ["recompute", "recompute"], ["schedule", "schedule"], ["sequence", "sequence"]
];
const last = path => path.split(".").pop();

const mayNotFit = row => row.plan.summary.memory.may_not_fit;

/* A plan as the tables and charts need it, flat. */
function planRow(p, i, samples) {
  const s = p.summary, t = s.throughput || {},
        set = Object.fromEntries(Object.entries(p.set).map(([k, v]) => [last(k), v])),
        row = {plan: p, number: i + 1, cluster: p.cluster};
  for (const [key] of PLAN_KEYS)
    row[key] = typeof set[key] === "boolean" ? (set[key] && set.tensor > 1 ? "yes" : "no") : set[key];
  return Object.assign(row, {
    shape: p.text,
    days: p.days,
    usd: p.usd,
    wh: p.wh,
    perTrillion: p.usd_per_trillion,
    step: s.step.time_s,
    low: (s.uncertainty || {}).step_time_low_s,
    high: (s.uncertainty || {}).step_time_high_s,
    mfu: t.mfu,
    speed: samples ? t.samples_per_s : t.tokens_per_s,
    memory: s.memory.peak_bytes,
    accelerators: s.accelerators,
    why: loses(p)
  });
}

function loses(p) {
  if (!p.loses) return "";
  const step = p.summary.step.time_s,
        terms = Object.entries(p.loses)
                    .filter(([word, v]) => word !== "time" && Math.abs(v) >= .002 * step)
                    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]))
                    .slice(0, 3);
  return `${p.loses.time >= 0 ? "+" : ""}${percent(p.loses.time)} time: ` +
      (terms.map(([word, v]) => `${v > 0 ? "+" : "-"}${seconds(Math.abs(v))} ${word.replace(/_/g, " ")}`).join(", ") ||
       "all terms are nearly the same");
}

const interval = r => has(r.low) ? `${seconds(r.low)} to ${seconds(r.high)}` : "";
/* `brief`: rates; else prices. */
function planTable(rows, plans, brief) {
  const of = keys =>
      PLAN_KEYS.filter(k => keys.includes(k[0]))
          .map(([key, title]) => ({title, key, text: key === "recompute" || key === "schedule" || key === "sequence"}));
  const columns = [{title: "", key: "number"}, ...(plans.candidates > 1 ? [{title: "cluster", key: "cluster"}] : []), {title: "plan", key: "shape", text: true, whole: true}, ...of(["micro_batch_size", "recompute", "schedule"]), {title: rows.some(mayNotFit) ? "memory (? may not fit)" : "memory", key: "memory", show: memory, mark: r => mayNotFit(r) ? "?" : ""}, {title: "step", key: "step", show: seconds}, {title: "90 % of cases", key: "interval"},
    ...(brief ? [{title: "MFU", key: "mfu", show: percent}, {title: plans.per.rate, key: "speed", show: amount}] : [{title: "days" + plans.per.of, key: "days", show: digits}, {title: "rent" + plans.per.of, key: "usd", show: usd}, {title: "energy" + plans.per.of, key: "wh", show: v => scaled(v, "Wh", 0)}])];
  for (const r of rows) r.interval = interval(r);
  return sortable(columns, rows, "number", false, "many").element;
}

function planHeadline(parent, plans, best) {
  const cards = el("div", {className: "cards"});
  card(
      cards, "best plan", best.shape,
      `ZeRO ${best.zero}, ${best.schedule}, micro-batch ${best.micro_batch_size}, recompute ${best.recompute}`);
  card(cards, "step time", seconds(best.step), interval(best));
  card(cards, "throughput", amount(best.speed) + " " + plans.per.rate, `${count(best.accelerators)} accelerators`);
  card(cards, "model FLOP utilization", percent(best.mfu));
  card(cards, "memory", memory(best.memory), memoryNote(best.plan.summary.memory));
  const stretched = s => best.days < 1 ? span(86400 * best.days * s / best.step) : digits(best.days * s / best.step);
  card(
      cards, plans.per.of ? "time per " + plans.per.title : "whole run", lasting(best.days),
      has(best.low) ? `${stretched(best.low)} to ${stretched(best.high)}` : "");
  card(
      cards, "rent" + plans.per.of, usd(best.usd),
      plans.per.of                ? ""
          : has(best.perTrillion) ? `${usd(best.perTrillion)} per ${plans.per.title}`
                                  : "");
  card(cards, "energy" + plans.per.of, scaled(best.wh, "Wh", 0));
  parent.append(cards);
}

function planFront(parent, plans, front) {
  const s = part(
      parent, "Pareto front of time, cost and energy",
      el("p", {className: "soft"},
         front.length > 1
             ? `The ${
                   count(
                       front
                           .length)} plans that no other plan beats in time, cost or energy without losing in another of the three. Each chart shows two of the three, with the five best plans.`
             : "One plan is the best in time, cost and energy at once. The charts show it beside the five best."));
  for (const name of ["cost", "energy"])
    openDots(
        chart(s, plans.id + name),
        (dot, place) => (dot.classList.contains("k1") ? plans.best : plans.points)[place].set);
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
  s.append(table(
      [
        {title: "cluster", of: c => c.number}, {title: "accelerators", of: c => count(c.accelerators)},
        {title: "accelerator", text: true, of: c => c.accelerator}, {
          title: "is set to",
          text: true,
          whole: true,
          of: c => Object.entries(c.set).map(([k, v]) => `${last(k)}=${v}`).join(", ")
        },
        {
          title: "best plan",
          text: true,
          of: c => {
            const r = own.find(o => o.cluster === c.number);
            return r ? r.shape : why.get(c.number) || "";
          }
        }
      ],
      plans.space.map((c, i) => Object.assign({number: i + 1}, c))));
  if (plans.verdict) s.append(el("p", {}, plans.verdict));
  const sensitivity = plans.sensitivity || [];
  if (sensitivity.length)
    s.append(
        el("details", {}, el("summary", {}, "effect of one input being a tenth off"),
           table(
               Object.keys(sensitivity[0]).map(k => ({
                                                 title: k.replace(/_frac$/, "").replace(/_/g, " "),
                                                 text: typeof sensitivity[0][k] === "string",
                                                 of: r => /_frac$/.test(k)      ? percent(r[k])
                                                     : typeof r[k] === "number" ? digits(r[k])
                                                                                : r[k]
                                               })),
               sensitivity)));
}

function planSpace(parent, plans) {
  const s = part(parent, "What was searched"), keys = plans.space.length ? Object.keys(plans.space[0].axes) : [];
  s.append(pairs([
    ["ranked by", plans.ranked_by], ["limits", plans.limits.join(", ") || "none"],
    ["clusters", count(plans.candidates)], ["combinations of the keys below", count(plans.combinations)],
    ["plans that divide and are valid", count(plans.plans)], ["do not fit in memory", count(plans.does_not_fit)],
    ["simulated", count(plans.evaluated)], ["excluded by bounds and not simulated", count(plans.pruned)]
  ]));
  const values = c => k => c.axes[k].join(", "),
        same = k => plans.space.every(c => values(c)(k) === values(plans.space[0])(k));
  if (keys.length)
    s.append(table(
        [
          {title: "key", text: true, of: k => k}, {
            title: "values",
            text: true,
            of: k => same(k) ? values(plans.space[0])(k)
                             : plans.space.map((c, i) => `cluster ${i + 1}: ${values(c)(k)}`).join("; ")
          }
        ],
        keys));
}

function showPlans(plans) {
  const a = el("article", {}), samples = plans.of_samples;
  const rows = list => (list || []).map((p, i) => planRow(p, i, samples)), best = rows(plans.best);
  a.append(
      el("h1", {}, "plans for " + plans.scenario),
      el("p", {className: "soft"}, `${count(plans.plans)} plans; ranked by ${plans.ranked_by}`));
  main.append(a);
  if (!best.length)
    a.append(
        el("p", {className: "warn"},
           (plans.without || []).length === 1 ? plans.without[0].why : "None of the clusters has a plan: see below."));
  if (best.length) {
    planHeadline(a, plans, best[0]);
    const s = part(a, "The best plans", planTable(best, plans, true));
    if (best.length > 1)
      s.append(
          el("h3", {}, "Why the others lose"),
          el("p", {className: "soft"},
             "How the terms of each plan's step differ from those of the first plan, for the same number of tokens."),
          el("ul", {}, best.slice(1).map(r => el("li", {}, `${r.number}: ${r.why}`))));
    chart(
        part(a, "Where the step goes", el("p", {className: "soft"}, "The step of each plan's slowest rank.")),
        plans.id + "steps");
    chart(part(a, "Memory of the fullest rank"), plans.id + "memory");
    planFront(a, plans, rows(plans.points));
  }
  planClusters(a, plans, rows(plans.best_of_each));
  planSpace(a, plans);
  if (best.length)
    a.append(
        el("details", {},
           el("summary", {},
              plans.best[0].may_not_fit && !plans.recommended.may_not_fit
                  ? "settings of the best plan that fits even if its peak is higher than predicted"
                  : "settings of the best plan"),
           el("pre", {},
              Object.entries(plans.recommended.set)
                  .map(([k, v]) => / /.test(v) ? `--set '${k}=${v}'` : `--set ${k}=${v}`)
                  .join(" \\\n"))),
        el("p", {className: "soft"}, "The run of this plan follows."));
}
