"use strict";
/* The error of each predicted step over its measured time, for the workbench and for the site's page of accuracy. A run is
   {accelerator, accelerators, case, measured_s, error}; `each` gets its dot, a text on it, and the run. */
function accuracyChart(runs, each) {
  const width = 760, height = 460, left = 60, top = 10, bottom = 50, most = 0.5;
  const shape = (tag, attributes, ...children) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  const powers = runs.map(r => Math.log10(r.measured_s)), low = Math.floor(Math.min(...powers)),
        high = Math.max(low + 1, Math.ceil(Math.max(...powers)));
  const x = power => left + (width - left - 10) * (power - low) / (high - low);
  const y = error => top + (height - top - bottom) * (0.5 - 0.5 * Math.max(-most, Math.min(most, error)) / most);
  const svg = shape("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": "error of each predicted step over its measured time",
    fill: "currentColor",
    "font-size": 12
  });
  for (const error of [-0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5])
    svg.append(
        shape("line", {
          x1: left,
          x2: width - 10,
          y1: y(error),
          y2: y(error),
          stroke: "#888",
          "stroke-opacity": error === 0 ? 0.9 : 0.35
        }),
        shape(
            "text", {x: left - 6, y: y(error) + 4, "text-anchor": "end"}, (error > 0 ? "+" : "") + 100 * error + " %"));
  for (let power = low; power <= high; power++)
    svg.append(shape(
        "text", {x: x(power), y: height - bottom + 16, "text-anchor": power === high ? "end" : "middle"},
        power < 0 ? 1000 * 10 ** power + " ms" : 10 ** power + " s"));
  svg.append(shape(
      "text", {x: (left + width) / 2, y: height - 6, "text-anchor": "middle"},
      "measured step; above the line tsim predicts a longer one"));
  runs.forEach((run, i) => {
    const dot = shape("circle", {cx: x(powers[i]), cy: y(run.error), r: 4, fill: "#3b7dd8", "fill-opacity": 0.5});
    each(
        dot,
        `${run.case}: ${run.accelerators} x ${run.accelerator}, ${
            Number(run.measured_s.toPrecision(3))} s measured, predicted ${(100 * run.error).toFixed(1)} % off`,
        run);
    svg.append(dot);
  });
  return svg;
}
