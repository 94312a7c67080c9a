/* The whole page: what it has in its order, themes, hints and printing. */

const nameEntries = data => {
  for (const kind of ["decisions", "comparisons", "plans", "runs", "sweeps"])
    data[kind].forEach((entry, i) => {
      entry.id = `${kind}-${i}-`;
    });
};
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

const dark = matchMedia("(prefers-color-scheme: dark)");
const setTheme = t => {
  root.dataset.theme = t;
};
document.getElementById("theme").addEventListener(
    "click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
addEventListener("pointermove", showHint);
addEventListener("pointerdown", showHint);
setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
let before = null;
addEventListener("beforeprint", () => {
  before = root.dataset.theme;
  if (before === "dark") setTheme("light");
});
addEventListener("afterprint", () => {
  if (before === "dark") setTheme("dark");
});
