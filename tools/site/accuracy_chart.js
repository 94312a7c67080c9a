// Predicted beside measured step time of every run in the repository, on the site's page of accuracy. ACCURACY_RUNS has a row
// a run: name, accelerator, kind of model, number of accelerators, measured seconds, measured over predicted.
(function () {
  const place = document.getElementById("accuracy-chart");
  if (!place) return;
  const WIDTH = 760, HEIGHT = 460, LEFT = 60, TOP = 10, BOTTOM = 50;
  const filters = [["accelerator", 1], ["model", 2]].map(([name, column]) => {
    const select = document.createElement("select");
    select.setAttribute("aria-label", name);
    select.add(new Option("every " + name, ""));
    [...new Set(ACCURACY_RUNS.map((run) => run[column]))].sort().forEach((value) => select.add(new Option(value, value)));
    select.addEventListener("change", draw);
    place.append(select);
    return [select, column];
  });
  const said = document.createElement("p"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "error of each predicted step over its measured time");
  place.append(said, svg);

  function add(name, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text) element.textContent = text;
    svg.append(element);
    return element;
  }

  function draw() {
    const runs = ACCURACY_RUNS.filter((run) => filters.every(([select, column]) => !select.value || run[column] === select.value));
    const errors = runs.map((run) => 1 / run[5] - 1);
    const mean = errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;
    said.textContent = runs.length ? `${runs.length} runs, ${(100 * mean).toFixed(1)} % off on average. Point at one for its name.` : "No run is of both.";
    svg.replaceChildren();
    const low = Math.log10(Math.min(...ACCURACY_RUNS.map((run) => run[4]))), high = Math.log10(Math.max(...ACCURACY_RUNS.map((run) => run[4])));
    const most = 0.5;
    const x = (seconds) => LEFT + (WIDTH - LEFT - 10) * (Math.log10(seconds) - low) / (high - low);
    const y = (error) => TOP + (HEIGHT - TOP - BOTTOM) * (0.5 - 0.5 * Math.max(-most, Math.min(most, error)) / most);
    for (const error of [-0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5]) {
      add("line", {x1: LEFT, x2: WIDTH - 10, y1: y(error), y2: y(error), "stroke-width": error === 0 ? 2 : 0.5});
      add("text", {x: LEFT - 6, y: y(error) + 4, "text-anchor": "end"}, (error > 0 ? "+" : "") + 100 * error + " %");
    }
    for (let power = Math.ceil(low); power <= high; power++)
      add("text", {x: x(10 ** power), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle"}, power < 0 ? 1000 * 10 ** power + " ms" : 10 ** power + " s");
    add("text", {x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle"}, "measured step; above the line tsim predicts a longer one");
    runs.forEach((run, i) => {
      const point = add("circle", {cx: x(run[4]), cy: y(errors[i]), r: 4});
      const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
      title.textContent = `${run[0]}: ${run[3]} x ${run[1]}, ${run[4]} s measured, predicted ${(100 * errors[i]).toFixed(1)} % off`;
      point.append(title);
    });
  }
  draw();
})();
