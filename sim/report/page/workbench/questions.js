/* Questions: what a command is asked beside the scenario. */

const field = (name, label, attributes) => {
  const input =
      el(attributes.options ? "select" : "input", attributes.options ? {} : attributes,
         attributes.options ? attributes.options.map(o => el("option", {value: o}, o || "default")) : []);
  input.name = name;
  if (attributes.list) input.setAttribute("list", attributes.list);
  const kept = (state.asked[state.tab] || {})[name];
  if (kept !== undefined) input.type === "checkbox" ? input.checked = kept : input.value = kept;
  return el("label", {}, label + " ", input);
};
const OBJECTIVES = ["", "tokens_per_s", "mfu", "cost", "energy"];
const QUESTIONS = {
  scale: {
    about: "How speed grows with the number of accelerators, where the curve bends, and why.",
    fields: () =>
        [field("gpus", "accelerators", {placeholder: "128,256,512"}), field("weak", "weak", {type: "checkbox"}),
         field("until-efficiency", "until efficiency", {placeholder: "0.8", size: 5})],
    path: "view/scale"
  },
  plan: {
    about:
        "The fastest plans for the model on the cluster, and those that are best in time, cost or energy. Further keys can be varied, too: KEY=VALUE,VALUE.",
    fields: () =>
        [field("vary1", "try", {placeholder: "cluster.nodes=8,16,32", size: 28}),
         field("vary2", "and", {placeholder: "cluster.node=dgx-h100,dgx-a100", size: 28}),
         field("objective", "best by", {placeholder: "tokens_per_s", size: 12}),
         field("any-software", "any software", {type: "checkbox"})],
    path: "view/plan"
  },
  buy: {
    about:
        "Which machines of the catalogue to rent or buy, to train on a number of tokens by a date and within a budget. The whole catalogue takes some seconds.",
    isSlow: true,
    fields: () =>
        [field("tokens", "tokens", {value: "2 T", size: 6}), field("deadline", "by", {value: "90 days", size: 8}),
         field("budget", "for", {value: "10 M USD", size: 9}),
         field("vary1", "among", {placeholder: "cluster.nodes=8,16,32", size: 28})],
    path: "view/buy"
  },
  sweep: {
    about: "Every combination of the values of two keys.",
    fields: () =>
        [field("vary1", "rows", {value: "parallelism.tensor=2,4,8", size: 28}),
         field("vary2", "columns", {value: "parallelism.pipeline=2,4,8", size: 28}),
         field("where", "where", {placeholder: "mfu > 0.3", size: 12})],
    path: "view/sweep"
  },
};
let asking = null, answered = null;
function showQuestion() {
  const form = byId("question"), q = QUESTIONS[state.tab];
  form.replaceChildren();
  if (!q) return;
  form.append(el("p", {className: "soft"}, q.about), ...q.fields(), el("button", {type: "submit"}, "compute"));
  form.onsubmit = e => {
    e.preventDefault();
    answerQuestion();
  };
}
async function answerQuestion() {
  const tab = state.tab, form = byId("question"), values = {}, query = new URLSearchParams();
  for (const input of form.querySelectorAll("input, select")) {
    const value = input.type === "checkbox" ? input.checked : input.value.trim();
    values[input.name] = value;
    if (value) query.append(input.name.replace(/\d$/, ""), value === true ? "" : value);
  }
  state.asked[tab] = values;
  remember();
  if (asking) asking.abort();
  asking = new AbortController();
  const mine = asking, text = state.text, began = performance.now(), bar = el("progress", {max: 1});
  bar.setAttribute("aria-label", "how far the answer is");
  if (!answered || answered.tab !== tab || answered.took_ms >= 2000 || !main.children.length) main.replaceChildren(bar);
  say("computing");
  try {
    const isLong = tab === "plan" || tab === "buy";
    if (isLong) query.append("progress", "");
    const path = QUESTIONS[tab].path + "?" + query, data = isLong ? await askSlowly(path, text, mine.signal, p => {
                                                      bar.value = p.done / p.of;
                                                      say(`${p.part}: ${count(p.done)} of ${count(p.of)}`);
                                                    }) : await ask(path, text, mine.signal);
    if (state.tab !== tab || asking !== mine) return;
    answered = {tab, text, took_ms: performance.now() - began};
    for (const s of data.view.sweeps)
      for (const key of ["sweep_id", "started_at", "version"])
        delete s.about[0][key]; /* of a database that nobody keeps */
    showView(data.view);
    showMistakes(data.diagnostics || []);
    say(data.view.plans.length || data.view.sweeps.length ? "A row or a point opens as the scenario." : "");
  } catch (e) {
    if (e.name === "AbortError" || asking !== mine) return;
    answered = {tab, text, took_ms: performance.now() - began};
    main.replaceChildren();
    showMistakes(e.diagnostics || []);
    say(e.message, true);
  }
}
