/* Measured runs, and the runs of the database. */

const LISTS = {
  accuracy: showAccuracy,
  runs: showRuns
};
function parseCsv(text) {
  const [head, ...rows] = text.split("\n").filter(l => l && !l.startsWith("#")).map(l => l.split(","));
  return rows.map(r => Object.fromEntries(head.map((k, i) => [k, r[i] !== "" && !isNaN(r[i]) ? +r[i] : r[i]])));
}
async function showAccuracy() {
  const rows = parseCsv((await ask("api/accuracy")).text).map(r => Object.assign(r, {
    measured_s: r.step_time_s * r.measured_over_predicted,
    error: 1 / r.measured_over_predicted - 1,
    opens: () => openCase(r.case)
  }));
  if (state.tab !== "accuracy") return;
  const filter = el("input", {type: "search", placeholder: "words of a run", "aria-label": "filter"}),
        told = el("p", {}), room = el("div", {});
  const columns = [
    {title: "run", key: "case", text: true}, {title: "measured step", key: "measured_s", show: seconds},
    {title: "predicted", key: "step_time_s", show: seconds},
    {title: "error", key: "error", show: v => (v > 0 ? "+" : "") + percent(v)},
    {title: "accelerators", key: "accelerators", show: count}, {title: "accelerator", key: "accelerator", text: true},
    {title: "software", key: "software", text: true, whole: true}, {title: "kind of model", key: "model", text: true},
    {title: "precision", key: "precision", text: true}
  ];
  const sorted = sortable(columns, rows, "case", false, "many"),
        lines = rows.map(r => columns.map(c => r[c.key]).join(" ").toLowerCase());
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(w => w),
          kept = rows.filter((r, i) => words.every(w => lines[i].includes(w))), errors = kept.map(r => r.error);
    state.asked.accuracy = filter.value;
    remember();
    sorted.show(kept);
    told.textContent = kept.length
        ? `${count(kept.length)} measured runs of ${new Set(kept.map(r => r.source)).size} sources: ${
              percent(errors.reduce((a, e) => a + Math.abs(e), 0) / kept.length)} off on average, ${
              percent(errors.reduce((a, e) => a + e, 0) / kept.length)} with the sign (+: predicted too slow).`
        : "No run matches all of these words.";
    room.replaceChildren(kept.length ? el("figure", {className: "chart"}, accuracyChart(kept, dotOf)) : "");
  };
  filter.value = state.asked.accuracy || "";
  filter.addEventListener("input", apply);
  part(main, "Predicted beside measured", el("div", {className: "tools"}, filter), told, room, sorted.element);
  apply();
  say("A row opens the run as the scenario.");
}
const dotOf = (dot, text, run) => {
  dot.dataset.hint = text;
  dot.style.cursor = "pointer";
  dot.addEventListener("click", run.opens);
};
const openCase = async id => openText((await ask("api/scenario?id=" + encodeURIComponent(id))).text);
async function showRuns() {
  const listed = await ask("api/runs");
  if (state.tab !== "runs") return;
  const rows = listed.runs.map(
      r => Object.assign(
          r, {opens: async () => openText(toYaml((await ask("view/report?run=" + r.run_id)).view.runs[0].scenario))}));
  part(
      main, "Runs of the database",
      rows.length
          ? sortable(
                [
                  {title: "run", key: "run_id"}, {title: "started", key: "started_at", text: true, whole: true},
                  {title: "scenario", key: "scenario", text: true}, {title: "status", key: "status", text: true},
                  {title: "accelerators", key: "accelerators", show: count},
                  {title: "step", key: "step_time_s", show: seconds},
                  {title: "tokens/s", key: "tokens_per_s", show: amount}, {title: "MFU", key: "mfu", show: percent}
                ],
                rows, "run_id")
                .element
          : el("p", {}, "None yet: the button below logs the scenario as it is, and so does ",
               el("code", {}, "tsim run"), " with the same database."));
  const logs =
      el("button", {
        type: "button",
        onclick: async () => {
          try {
            const run = await ask("api/run?log", state.text);
            main.replaceChildren();
            await showRuns();
            say(`logged as run ${run.run_id}`);
          } catch (e) {
            say(e.message, true);
          }
        }
      },
         "log the scenario as a run");
  main.append(el("p", {}, logs));
  if (listed.sweeps.length)
    part(
        main, "Sweeps of the database",
        sortable(
            [
              {title: "sweep", key: "sweep_id"}, {title: "started", key: "started_at", text: true, whole: true},
              {title: "scenario", key: "scenario", text: true}, {title: "points", key: "points", show: count},
              {title: "ok", key: "ok", show: count}, {title: "axes", key: "axes", text: true}
            ],
            listed.sweeps.map(s => Object.assign(s, {
              opens: async () => {
                const shown = await ask("view/report?run=sweep:" + s.sweep_id);
                showView(shown.view);
              }
            })),
            "sweep_id")
            .element);
}
