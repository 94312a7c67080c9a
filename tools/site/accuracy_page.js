// The site's page of accuracy draws the runs of the repository, of one accelerator or kind of model where that is asked for.
// ACCURACY_RUNS has a row a run: name, accelerator, kind of model, number of accelerators, predicted seconds, measured over predicted.
(function() {
const place = document.getElementById("accuracy-chart");
if (!place) return;
const runs = ACCURACY_RUNS.map(
    ([name, accelerator, model, accelerators, predicted_s, ratio]) =>
        ({case: name, accelerator, model, accelerators, measured_s: predicted_s * ratio, error: 1 / ratio - 1}));
const filters = ["accelerator", "model"].map((key) => {
  const select = document.createElement("select");
  select.setAttribute("aria-label", key);
  select.add(new Option("every " + key, ""));
  [...new Set(runs.map((run) => run[key]))].sort().forEach((value) => select.add(new Option(value, value)));
  select.addEventListener("change", draw);
  place.append(select);
  return [select, key];
});
const said = document.createElement("p"), room = document.createElement("div");
place.append(said, room);

function say(dot, text) {
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = text;
  dot.append(title);
}

function draw() {
  const kept = runs.filter((run) => filters.every(([select, key]) => !select.value || run[key] === select.value));
  const mean = kept.reduce((sum, run) => sum + Math.abs(run.error), 0) / kept.length;
  said.textContent = kept.length
      ? `${kept.length} runs, ${(100 * mean).toFixed(1)} % off on average. Point at one for its name.`
      : "No run is of both.";
  room.replaceChildren(...(kept.length ? [accuracyChart(kept, say)] : []));
}
draw();
})();
