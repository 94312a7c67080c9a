/* Controls of the scenario's values. */

const GROUPS = [
  ["What and where", ["model", "cluster.node", "cluster.nodes", "cluster.fabric", "software"]],
  [
    "Training",
    [
      "training.global_batch_size", "training.micro_batch_size", "training.sequence_length", "training.precision",
      "training.optimizer", "training.recompute", "training.tokens"
    ]
  ],
  [
    "Plan",
    [
      "parallelism.tensor", "parallelism.pipeline", "parallelism.virtual_pipeline", "parallelism.context",
      "parallelism.expert", "parallelism.sequence", "parallelism.zero", "parallelism.schedule"
    ]
  ],
  ["Money and energy", ["cost.rent", "energy.price", "energy.carbon", "energy.pue"]],
  [
    "Failures",
    [
      "reliability.node_mtbf", "reliability.checkpoint.bandwidth", "reliability.restart", "reliability.spares",
      "reliability.replications"
    ]
  ],
];
const IDS = {
  model: "models",
  "cluster.node": "nodes",
  "cluster.fabric": "fabrics",
  software: "software"
};
const WORDS = {
  "training.recompute": ["none", "selective", "full", "sqrt"]
}; /* the key takes other shapes, too */
const START_VALUES = {
  "reliability.node_mtbf": "50000 h",
  "reliability.checkpoint.bandwidth": "50 GB/s",
  "reliability.restart": "600 s",
  "reliability.replications": 100
};
const NAMES = {
  "parallelism.zero": "ZeRO stage",
  "parallelism.sequence": "sequence parallel",
  "cost.rent": "rent of one",
  "energy.price": "electricity",
  "energy.pue": "PUE",
  "reliability.node_mtbf": "node MTBF",
  "reliability.checkpoint.bandwidth": "checkpoint speed"
};
const schemaOf = path => path.split(".").reduce((s, k) => ((s || {}).properties || {})[k], schema);
const allPaths = (s, prefix) =>
    Object.entries(s.properties || {}).flatMap(([k, v]) => v.properties ? allPaths(v, prefix + k + ".") : [prefix + k]);

const parseQuantity = v => {
  const m = /^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/i.exec(String(v));
  return m ? {number: +m[1], unit: m[2]} : null;
};
const quantityOf = (number, unit) =>
    (unit ? quantityText(`${number} ${unit}`) : scaled(number, "", 0).trim()).replace(/,/g, "");

function set(path, value) {
  state.text = setInText(state.text, path.split("."), value);
  byId("yaml").value = state.text;
  changed();
}

/* A slider takes the whole numbers of a small range one by one and doubles those of a large one; it takes other quantities by
   twentieths of a decade, a decade to each side of the value. */
function slider(path, spec, input) {
  const isCount = Array.isArray(spec.type) && spec.type[0] === "integer", least = spec.minimum || 0,
        most = Math.min(spec.maximum || 65536, 65536);
  const isFew = isCount && most - least <= 16, first = Math.max(1, least),
        nDoublings = Math.floor(Math.log2(most / first)), range = el("input", {type: "range", step: 1, tabIndex: 0});
  range.setAttribute("aria-label", path + ", slider");
  const floor = !isCount && !spec["x-unit"] && spec["x-least"] || 0;
  let base = {number: 1, unit: ""};
  const placeOf = n => isFew ? n : n < first ? 0 : Math.round(Math.log2(n / first)) + (first - least);
  const countAt = place => isFew ? place : place < first - least ? 0 : first * 2 ** (place - (first - least));
  [range.min, range.max] = isFew ? [least, most] : isCount ? [0, nDoublings + (first - least)] : [-20, 20];
  range.place = value => {
    const q = parseQuantity(value);
    if (!q) return;
    base = q;
    if (floor) range.min = Math.max(-20, Math.floor(20 * Math.log10(floor / base.number)));
    range.value = isCount ? placeOf(q.number) : 0;
    range.setAttribute("aria-valuetext", String(value));
  };
  range.addEventListener("input", () => {
    input.value = isCount
        ? countAt(+range.value)
        : quantityOf(Math.max(floor, +(base.number * 10 ** (range.value / 20)).toPrecision(3)), base.unit);
    range.setAttribute("aria-valuetext", input.value);
    set(path, isCount ? +input.value : input.value);
  });
  range.addEventListener("change", () => range.place(input.value));
  return range;
}

function control(path) {
  const spec = schemaOf(path) || {}, id = "c-" + path, words = spec.enum || WORDS[path];
  const label =
            el("label", {htmlFor: id, title: `${path}: ${spec.description || ""}`},
               NAMES[path] || path.split(".").pop().replace(/_/g, " ")),
        row = el("div", {className: "control"}, label);
  row.dataset.path = path;
  let input;
  if (IDS[path]) {
    row.classList.add("wide");
    input = el("input", {id, type: "search", spellcheck: false, autocomplete: "off", list: "ids-" + IDS[path]});
    input.setAttribute("list", "ids-" + IDS[path]);
    input.addEventListener("change", () => {
      if (input.value) {
        input.placeholder = input.value;
        set(path, input.value);
      }
    });
    input.addEventListener("focus", () => {
      input.placeholder = input.value;
      input.value = "";
    }); /* the list shows the names that have what is typed: all of them at first */
    input.addEventListener("blur", () => {
      input.value = input.value || input.placeholder;
    });
    row.append(input);
  } else if (words) {
    row.classList.add("wide");
    input = el("select", {id}, words.map(w => el("option", {value: w}, w)));
    input.addEventListener("change", () => set(path, input.value));
    row.append(input);
  } else if (spec.type === "boolean") {
    input = el("input", {id, type: "checkbox"});
    input.addEventListener("change", () => set(path, input.checked));
    row.append(input);
  } else {
    input = el("input", {id, spellcheck: false});
    input.addEventListener("change", () => {
      if (input.value.trim()) set(path, /^-?[\d.]+$/.test(input.value.trim()) ? +input.value : input.value.trim());
    });
    const range = slider(path, spec, input);
    row.append(range, input);
    row.range = range;
  }
  row.input = input;
  return row;
}

/* Each control shows its value in the scenario, which is said or follows from it. */
function fillControls() {
  const cluster = resolved.cluster || {};
  byId("scenario").querySelector("summary").textContent = cluster.node
      ? `the scenario: ${resolved.model.name}, ${count(cluster.nodes)} x ${cluster.node.name}`
      : "the scenario";
  for (const row of document.querySelectorAll("#controls .control[data-path]")) {
    const path = row.dataset.path, at = valueAt(resolved, path.split(".")), value = IDS[path] ? (at || {}).name : at,
          input = row.input;
    row.classList.toggle("open", value === undefined || (resolved.derived || []).includes(path));
    if (input.type === "checkbox")
      input.checked = value === true;
    else if (input !== document.activeElement || row.range === document.activeElement) {
      const shown = value === undefined ? ""
          : typeof value === "string" && /^[\d.e+-]+ \S/.test(value)
          ? quantityOf(...Object.values(parseQuantity(value)))
          : path === "training.tokens" && +value ? quantityOf(+value, "")
          : typeof value === "object"            ? ""
                                                 : String(value);
      if (input.value !== shown && (input.tagName !== "SELECT" || [...input.options].some(o => o.value === shown)))
        input.value = shown;
      if (input.tagName !== "SELECT" && input.placeholder !== (START_VALUES[path] || ""))
        input.placeholder = START_VALUES[path] || "";
    }
    if (row.range && row.range !== document.activeElement)
      row.range.place(value === undefined ? START_VALUES[path] || 1 : value);
  }
}

function buildControls() {
  const side = byId("controls"),
        more =
            el("input",
               {id: "more", type: "search", placeholder: "any other key", "aria-label": "add a control for a key"});
  more.setAttribute("list", "all-keys");
  const others = el("fieldset", {}, el("legend", {}, "More"), ...extra.map(control), more);
  more.addEventListener("change", () => {
    if (!schemaOf(more.value) || extra.includes(more.value)) return;
    extra.push(more.value);
    others.insertBefore(control(more.value), more);
    more.value = "";
    fillControls();
  });
  const start = el("input", {
    id: "start",
    type: "search",
    placeholder: "open from the catalogue",
    "aria-label": "open a scenario of the catalogue"
  });
  start.setAttribute("list", "ids-scenarios");
  start.addEventListener("change", async () => {
    if (!(catalogue.scenarios || []).includes(start.value)) return;
    state.text = (await ask("api/scenario?id=" + encodeURIComponent(start.value))).text;
    start.value = "";
    byId("yaml").value = state.text;
    changed();
  });
  const yaml = el("textarea", {id: "yaml", spellcheck: false, value: state.text, "aria-label": "the scenario as YAML"});
  const gutter = el("div", {id: "gutter"});
  gutter.setAttribute("aria-hidden", "true");
  yaml.addEventListener("input", () => {
    state.text = yaml.value;
    changed();
  });
  yaml.addEventListener("scroll", () => {
    gutter.scrollTop = yaml.scrollTop;
  });
  side.replaceChildren(
      el("div", {className: "control wide"}, el("label", {htmlFor: "start"}, "scenario"), start),
      ...GROUPS.map(
          ([title, paths], i) => i < 4
              ? el("fieldset", {}, el("legend", {}, title), ...paths.map(control))
              : el("details", {}, el("summary", {}, title), el("fieldset", {}, ...paths.map(control)))),
      others,
      el("details", {open: true}, el("summary", {}, "YAML"), el("div", {className: "editor"}, gutter, yaml),
         el("ul", {id: "mistakes"})),
      ...Object.entries(catalogue).map(
          ([kind, ids]) => el("datalist", {id: "ids-" + kind}, ids.map(id => el("option", {value: id.id || id})))),
      el("datalist", {id: "all-keys"}, allPaths(schema, "").map(p => el("option", {value: p}))));
}

/* The numbers of the lines; those with a mistake are marked, and say it. */
function numberLines(list) {
  const said = new Map();
  for (const d of list)
    if (d.line) said.set(d.line, [...(said.get(d.line) || []), d]);
  const gutter = byId("gutter"), lines = byId("yaml").value.split("\n");
  if (said.size || gutter.querySelector("[title]") || gutter.childElementCount !== lines.length)
    gutter.replaceChildren(...lines.map((line, i) => {
      const told = said.get(i + 1);
      return el(
          "span",
          told ? {
            className: told.some(d => d.severity === "error") ? "error" : "warning",
            title: told.map(d => d.message).join("\n")
          }
               : {},
          String(i + 1));
    }));
  gutter.scrollTop = byId("yaml").scrollTop;
}

function showMistakes(list) {
  const yaml = byId("yaml");
  numberLines(list);
  yaml.setAttribute("aria-invalid", list.some(d => d.severity === "error"));
  byId("mistakes")
      .replaceChildren(...list.map(
          d => el(
              "li", {className: d.severity},
              el("button", {
                type: "button",
                onclick: () => {
                  const lines = state.text.split("\n"),
                        start = lines.slice(0, Math.max(0, d.line - 1)).reduce((n, l) => n + l.length + 1, 0);
                  yaml.focus();
                  if (d.line && yaml.value === state.text) {
                    yaml.setSelectionRange(start + Math.max(0, d.column - 1), start + (lines[d.line - 1] || "").length);
                    yaml.scrollTop = (d.line - 4) * yaml.scrollHeight / lines.length;
                  }
                }
              },
                 `${d.line ? `line ${d.line}, ${d.column}: ` : ""}${d.field ? d.field + ": " : ""}${d.message}${
                     d.hint ? " - " + d.hint : ""}`))));
}
