/* Two runs side by side. */

const timeText = s => s % 31557600 === 0 && s ? digits(s / 31557600) + " y"
    : s >= 7200                               ? digits(s / 3600) + " h"
    : s >= 120 && s % 60 === 0                ? digits(s / 60) + " min"
                                              : seconds(s);
/* "3350000000000 B/s" -> "3.35 TB/s", "1800 s" -> "30 min", "2e+12" -> "2 T"; other texts as they are. */
const quantityText = text => tick(() => exactly(text)), exactly = text => {
  const m = /^(-?[\d.]+(?:e[-+]?\d+)?) (s|B|B\/s|b\/s|W|J|FLOP\/s|Hz)$/.exec(text);
  return m ? closely(4, () => m[2] === "s" ? timeText(Number(m[1])) : scaled(Number(m[1]), m[2]))
      : /^\d+(e\+?\d+)?$/.test(text) && text >= 1e6
      ? closely(4, () => amount(Number(text)))
      : text.replace(/^([-\d.e+]+) (\/s|USD\/s|USD\/J|kg\/J)$/, (_, x, unit) => {
          const [factor, name] = RATES[unit];
          return `${closely(4, () => digits(factor * x))} ${name}`;
        });
};
const RATES = {
  "/s": [3600, "/h"],
  "USD/s": [3600, "USD/h"],
  "USD/J": [3.6e6, "USD/kWh"],
  "kg/J": [3.6e6, "kg/kWh"]
};

function showComparison(c) {
  const a = el("article", {className: "comparison"}), signed = (x, text) => {
    if (!has(x)) return "";
    const t = text(Math.abs(x));
    return (/[1-9]/.test(t) ? x > 0 ? "+" : "-" : "") + t;
  };
  a.append(
      el("h1", {}, "A beside B"), el("p", {}, el("b", {}, "A "), c.a, el("br", {}), el("b", {}, "B "), c.b),
      el("p", {},
         has(c.step_change) ? `B's step takes ${
                                  c.step_change > 1 ? digits(1 + c.step_change) + " times as long as"
                                                    : percent(1 + c.step_change) + " of"} A's${
                                  has(c.waterfall[0]) ? `: ${seconds(c.waterfall[c.waterfall.length - 1].a_s)} and ${
                                                            seconds(c.waterfall[c.waterfall.length - 1].b_s)}`
                                                      : ""}.`
                            : "At least one of the two does not fit in memory."));
  if (c.waterfall.length) {
    const s = part(
        a, "From A's step to B's",
        el("p", {className: "soft"},
           "Red terms take longer in B, green ones take less time; together they are the difference between the two steps."));
    chart(s, c.id + "waterfall");
    s.append(table(
        [
          {title: "", text: true, of: r => r.term}, {title: "A", of: r => seconds(r.a_s)},
          {title: "B", of: r => seconds(r.b_s)}, {title: "B - A", of: r => signed(r.change_s, seconds)},
          {title: "of A's step", of: r => signed(r.change_of_step, percent)}
        ],
        c.waterfall, "even tight"));
  }
  const others = c.inputs.map(r => r.path).filter(p => /\.name$/.test(p)).map(p => p.slice(0, -4)),
        follows = r => others.some(
            o => r.path.startsWith(o) && r.path !== o + "name"); /* values of another entry of the catalogue */
  const inputs = rows => table(
            [
              {title: "input", text: true, of: r => r.path.replace(/\.name$/, "")},
              {title: "A", text: true, of: r => quantityText(r.a)}, {title: "B", text: true, of: r => quantityText(r.b)}
            ],
            rows, "even"),
        own = c.inputs.filter(r => !follows(r)), rest = c.inputs.filter(follows);
  part(
      a, c.inputs.length ? "What differs in the inputs" : "The inputs are the same", own.length ? inputs(own) : null,
      rest.length ? el("details", {},
                       el("summary", {},
                          `${count(rest.length)} ${
                              rest.length === 1 ? "value that differs" : "values that differ"} because of these`),
                       inputs(rest))
                  : null);
  if (c.outputs.length)
    part(
        a, "What that changes",
        table(
            [
              {title: "figure", text: true, of: r => r.figure}, {title: "A", of: r => r.a_text},
              {title: "B", of: r => r.b_text}, {title: "change", of: r => signed(r.change, percent)}
            ],
            c.outputs, "even"));
  if (c.verdict) a.append(el("p", {}, c.verdict));
  return a;
}

function compareRuns(runs) {
  if (runs.length < 2) return;
  part(
      main, "The runs side by side",
      table(
          [
            {title: "run", text: true, of: r => `${r.summary.run_id || ""} ${r.name}`},
            {title: "accelerators", of: r => count(r.summary.accelerators)},
            {title: "step", of: r => seconds((r.summary.step || {}).time_s)}, {
              title: "throughput",
              of: r => {
                const t = r.summary.throughput || {}, v = r.of_samples ? t.samples_per_s : t.tokens_per_s;
                return has(v) ? amount(v) + (r.of_samples ? " samples/s" : " tokens/s") : "";
              }
            },
            {title: "MFU", of: r => percent((r.summary.throughput || {}).mfu)},
            {title: "memory", of: r => memory(r.summary.memory.peak_bytes)}, {
              title: "days",
              of: r => {
                const d = (r.summary.campaign || {}).days;
                return has(d) ? digits(d) : "";
              }
            },
            {title: "rent", of: r => usd((r.summary.campaign || {}).rent_usd)}
          ],
          runs));
}
