"use strict";
/* The workbench. Its state is a scenario as text, the one that is pinned, and the question that is asked; the address holds all
   of it. The server computes and draws, report.js shows. */

const START = `schema: tsim/v1
name: workbench
model: llama2-70b
cluster:
  node: dgx-h100
  nodes: 16
  fabric: ib-ndr
training:
  sequence_length: 4096
  global_batch_size: 512
  micro_batch_size: 1
  precision: bf16
  tokens: 2 T
parallelism:
  tensor: 8
  pipeline: 4
  virtual_pipeline: 5
  sequence: true
  zero: 1
energy: {price: 0.10 USD/kWh, carbon: 0.4 kg/kWh, pue: 1.1}
`;
const TABS = ["run", "scale", "plan", "buy", "campaign", "sweep", "accuracy", "runs"];
const state = {text: START, pinned: null, tab: "run", asked: {}};
let schema = {properties: {}}, catalogue = {}, resolved = {}, extra = [];

const byId = id => document.getElementById(id), say = (text, isWarning) => { byId("state").textContent = text; byId("state").className = isWarning ? "warn" : ""; };

/* ---- the server ---- */
async function ask(path, body, signal) {
  const answer = await fetch(path, {method: body === undefined ? "GET" : "POST", body, signal, headers: body === undefined ? {} : {"Content-Type": "application/yaml"}});
  const text = await answer.text();
  let json = {};
  try { json = JSON.parse(text); } catch (e) { json = {text}; }
  if (!answer.ok) throw Object.assign(new Error(json.error || (json.diagnostics || []).map(d => d.message).join("; ") || answer.statusText), {status: answer.status, diagnostics: json.diagnostics});
  return json;
}
/* Lines of progress, then the answer. */
async function askSlowly(path, body, signal, onProgress) {
  const answer = await fetch(path, {method: "POST", body, signal, headers: {"Content-Type": "application/yaml"}}), reader = answer.body.getReader(), decoder = new TextDecoder();
  let text = "", last = {};
  for (;;) {
    const {done, value} = await reader.read();
    text += decoder.decode(value || new Uint8Array(), {stream: !done});
    const lines = text.split("\n");
    text = done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) { last = JSON.parse(line); if (last.progress) onProgress(last.progress); }
    if (done) break;
  }
  if (last.status === 200) return last.answer;
  const told = last.answer || last;
  throw Object.assign(new Error(told.error || (told.diagnostics || []).map(d => d.message).join("; ")), {diagnostics: told.diagnostics});
}

/* ---- the scenario's text: one key is changed where it stands, and comments stay ---- */
const plainText = v => v && typeof v === "object" || typeof v === "string" && !/^[\w][\w .\/%+-]*$/.test(v) ? JSON.stringify(v) : String(v);
const keyOf = line => /^(\s*)(?:- )?("?)([\w.-]+)\2:(?:\s+|$)(.*)$/.exec(line);
const indentOf = line => /^\s*/.exec(line)[0].length;
const isBlank = line => /^\s*(#|$)/.test(line);
const splitComment = rest => { const m = /^((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"']|(?<=\S)#)*?)(\s+#.*)?$/.exec(rest); return m ? [m[1].trimEnd(), m[2] || ""] : [rest, ""]; };

/* {a: 1, b: {c: 2}} on one line: its parts at the top. */
function flowParts(text) {
  const parts = [];
  let depth = 0, quote = "", start = 1;
  for (let i = 1; i < text.length; i++) {
    const c = text[i];
    if (quote) quote = c === quote ? "" : quote;
    else if (c === "\"" || c === "'") quote = c;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && depth) depth--;
    else if ((c === "," && !depth) || i === text.length - 1) { if (text.slice(start, i).trim()) parts.push(text.slice(start, i).trim()); start = i + 1; }
  }
  return parts;
}
function setInFlow(text, path, value) {
  const parts = flowParts(text), at = parts.findIndex(p => (/^"?([\w.-]+)"?:/.exec(p) || [])[1] === path[0]);
  const old = at >= 0 ? parts[at].replace(/^"?[\w.-]+"?:\s*/, "") : "";
  parts.splice(at >= 0 ? at : parts.length, 1, `${path[0]}: ${path.length > 1 ? setInValue(old, path.slice(1), value) : plainText(value)}`);
  return `{${parts.join(", ")}}`;
}
/* A value on one line: a mapping, or an id that is amended. */
const setInValue = (old, path, value) => old.startsWith("{") ? setInFlow(old, path, value) : setInFlow(old ? `{extends: ${old}}` : "{}", path, value);

function setInText(text, path, value) {
  const lines = text.replace(/\n*$/, "\n").split("\n");
  let from = 0, to = lines.length - 1, indent = 0;
  for (let i = 0; i < path.length; i++) {
    let at = -1;
    for (let l = from; l < to && at < 0; l++) { const k = !isBlank(lines[l]) && keyOf(lines[l]); if (k && k[1].length === indent && k[3] === path[i]) at = l; }
    if (at < 0) {
      let end = to;
      while (end > from && isBlank(lines[end - 1])) end--;
      const added = path.slice(i).map((key, d) => " ".repeat(indent + 2 * d) + key + ":" + (i + d === path.length - 1 ? " " + plainText(value) : ""));
      lines.splice(end, 0, ...added);
      return lines.join("\n");
    }
    const k = keyOf(lines[at]), head = lines[at].slice(0, lines[at].length - k[4].length).replace(/:\s*$/, ": ");
    let end = at + 1; /* deeper lines belong to the key, and lines that are blank between them */
    while (end < to && (isBlank(lines[end]) || indentOf(lines[end]) > indent)) end++;
    while (end > at + 1 && isBlank(lines[end - 1])) end--;
    let [old, comment] = splitComment(k[4]);
    if (/^[{[]/.test(old) && end > at + 1) { old = [old, ...lines.slice(at + 1, end).map(l => splitComment(l)[0].trim())].join(" "); lines.splice(at + 1, end - at - 1); end = at + 1; }
    if (i === path.length - 1) { lines.splice(at, end - at, head + plainText(value) + comment); return lines.join("\n"); }
    if (old) { lines[at] = head + setInValue(old, path.slice(i + 1), value) + comment; return lines.join("\n"); }
    from = at + 1;
    to = end;
    const first = lines.slice(from, to).find(l => !isBlank(l));
    indent = first ? indentOf(first) : indent + 2;
  }
  return lines.join("\n");
}
const valueAt = (object, path) => path.reduce((o, k) => (o === undefined || o === null ? undefined : o[k]), object);

/* ---- controls ---- */
const GROUPS = [
  ["What and where", ["model", "cluster.node", "cluster.nodes", "cluster.fabric", "software"]],
  ["Training", ["training.global_batch_size", "training.micro_batch_size", "training.sequence_length", "training.precision", "training.optimizer", "training.recompute", "training.tokens"]],
  ["Plan", ["parallelism.tensor", "parallelism.pipeline", "parallelism.virtual_pipeline", "parallelism.context", "parallelism.expert", "parallelism.sequence", "parallelism.zero", "parallelism.schedule"]],
  ["Money and energy", ["cost.rent", "energy.price", "energy.carbon", "energy.pue"]],
  ["Failures", ["reliability.node_mtbf", "reliability.checkpoint.bandwidth", "reliability.restart", "reliability.spares", "reliability.replications"]],
];
const IDS = {model: "models", "cluster.node": "nodes", "cluster.fabric": "fabrics", software: "software"};
const WORDS = {"training.recompute": ["none", "selective", "full", "sqrt"]}; /* the key takes other shapes, too */
const START_VALUES = {"reliability.node_mtbf": "50000 h", "reliability.checkpoint.bandwidth": "50 GB/s", "reliability.restart": "600 s", "reliability.replications": 100};
const NAMES = {"parallelism.zero": "ZeRO stage", "parallelism.sequence": "sequence parallel", "cost.rent": "rent of one", "energy.price": "electricity", "energy.pue": "PUE", "reliability.node_mtbf": "node MTBF", "reliability.checkpoint.bandwidth": "checkpoint speed"};
const schemaOf = path => path.split(".").reduce((s, k) => ((s || {}).properties || {})[k], schema);
const allPaths = (s, prefix) => Object.entries(s.properties || {}).flatMap(([k, v]) => v.properties ? allPaths(v, prefix + k + ".") : [prefix + k]);

const parseQuantity = v => { const m = /^\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*(.*)$/i.exec(String(v)); return m ? {number: +m[1], unit: m[2]} : null; };
const quantityOf = (number, unit) => (unit ? quantityText(`${number} ${unit}`) : scaled(number, "", 0).trim()).replace(/,/g, "");

function set(path, value) {
  state.text = setInText(state.text, path.split("."), value);
  byId("yaml").value = state.text;
  changed();
}

/* A slider takes the whole numbers of a small range one by one and doubles those of a large one; it takes other quantities by
   twentieths of a decade, a decade to each side of the value. */
function slider(path, spec, input) {
  const isCount = Array.isArray(spec.type) && spec.type[0] === "integer", least = spec.minimum || 0, most = Math.min(spec.maximum || 65536, 65536);
  const isFew = isCount && most - least <= 16, first = Math.max(1, least), nDoublings = Math.floor(Math.log2(most / first)), range = el("input", {type: "range", step: 1, tabIndex: 0});
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
    input.value = isCount ? countAt(+range.value) : quantityOf(Math.max(floor, +(base.number * 10 ** (range.value / 20)).toPrecision(3)), base.unit);
    range.setAttribute("aria-valuetext", input.value);
    set(path, isCount ? +input.value : input.value);
  });
  range.addEventListener("change", () => range.place(input.value));
  return range;
}

function control(path) {
  const spec = schemaOf(path) || {}, id = "c-" + path, words = spec.enum || WORDS[path];
  const label = el("label", {htmlFor: id, title: `${path}: ${spec.description || ""}`}, NAMES[path] || path.split(".").pop().replace(/_/g, " ")), row = el("div", {className: "control"}, label);
  row.dataset.path = path;
  let input;
  if (IDS[path]) {
    row.classList.add("wide");
    input = el("input", {id, type: "search", spellcheck: false, autocomplete: "off", list: "ids-" + IDS[path]});
    input.setAttribute("list", "ids-" + IDS[path]);
    input.addEventListener("change", () => { if (input.value) { input.placeholder = input.value; set(path, input.value); } });
    input.addEventListener("focus", () => { input.placeholder = input.value; input.value = ""; }); /* the list shows the names that have what is typed: all of them at first */
    input.addEventListener("blur", () => { input.value = input.value || input.placeholder; });
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
    input.addEventListener("change", () => { if (input.value.trim()) set(path, /^-?[\d.]+$/.test(input.value.trim()) ? +input.value : input.value.trim()); });
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
  byId("scenario").querySelector("summary").textContent = cluster.node ? `the scenario: ${resolved.model.name}, ${count(cluster.nodes)} x ${cluster.node.name}` : "the scenario";
  for (const row of document.querySelectorAll("#controls .control[data-path]")) {
    const path = row.dataset.path, at = valueAt(resolved, path.split(".")), value = IDS[path] ? (at || {}).name : at, input = row.input;
    row.classList.toggle("open", value === undefined || (resolved.derived || []).includes(path));
    if (input.type === "checkbox") input.checked = value === true;
    else if (input !== document.activeElement || row.range === document.activeElement) {
      const shown = value === undefined ? "" : typeof value === "string" && /^[\d.e+-]+ \S/.test(value) ? quantityOf(...Object.values(parseQuantity(value))) : path === "training.tokens" && +value ? quantityOf(+value, "") : typeof value === "object" ? "" : String(value);
      if (input.value !== shown && (input.tagName !== "SELECT" || [...input.options].some(o => o.value === shown))) input.value = shown;
      if (input.tagName !== "SELECT" && input.placeholder !== (START_VALUES[path] || "")) input.placeholder = START_VALUES[path] || "";
    }
    if (row.range && row.range !== document.activeElement) row.range.place(value === undefined ? START_VALUES[path] || 1 : value);
  }
}

function buildControls() {
  const side = byId("controls"), more = el("input", {id: "more", type: "search", placeholder: "any other key", "aria-label": "add a control for a key"});
  more.setAttribute("list", "all-keys");
  const others = el("fieldset", {}, el("legend", {}, "More"), ...extra.map(control), more);
  more.addEventListener("change", () => { if (!schemaOf(more.value) || extra.includes(more.value)) return; extra.push(more.value); others.insertBefore(control(more.value), more); more.value = ""; fillControls(); });
  const start = el("input", {id: "start", type: "search", placeholder: "open a scenario of the catalogue", "aria-label": "open a scenario of the catalogue"});
  start.setAttribute("list", "ids-scenarios");
  start.addEventListener("change", async () => { if (!(catalogue.scenarios || []).includes(start.value)) return; state.text = (await ask("api/scenario?id=" + encodeURIComponent(start.value))).text; start.value = ""; byId("yaml").value = state.text; changed(); });
  const yaml = el("textarea", {id: "yaml", spellcheck: false, value: state.text, "aria-label": "the scenario as YAML"});
  const gutter = el("div", {id: "gutter"});
  gutter.setAttribute("aria-hidden", "true");
  yaml.addEventListener("input", () => { state.text = yaml.value; changed(); });
  yaml.addEventListener("scroll", () => { gutter.scrollTop = yaml.scrollTop; });
  side.replaceChildren(el("div", {className: "control wide"}, el("label", {htmlFor: "start"}, "scenario"), start),
    ...GROUPS.map(([title, paths], i) => i < 4 ? el("fieldset", {}, el("legend", {}, title), ...paths.map(control)) : el("details", {}, el("summary", {}, title), el("fieldset", {}, ...paths.map(control)))), others,
    el("details", {open: true}, el("summary", {}, "YAML"), el("div", {className: "editor"}, gutter, yaml), el("ul", {id: "mistakes"})),
    ...Object.entries(catalogue).map(([kind, ids]) => el("datalist", {id: "ids-" + kind}, ids.map(id => el("option", {value: id.id || id})))), el("datalist", {id: "all-keys"}, allPaths(schema, "").map(p => el("option", {value: p}))));
}

/* The numbers of the lines; those with a mistake are marked, and say it. */
function numberLines(list) {
  const said = new Map();
  for (const d of list) if (d.line) said.set(d.line, [...(said.get(d.line) || []), d]);
  const gutter = byId("gutter"), lines = byId("yaml").value.split("\n");
  if (said.size || gutter.querySelector("[title]") || gutter.childElementCount !== lines.length) gutter.replaceChildren(...lines.map((line, i) => {
    const told = said.get(i + 1);
    return el("span", told ? {className: told.some(d => d.severity === "error") ? "error" : "warning", title: told.map(d => d.message).join("\n")} : {}, String(i + 1));
  }));
  gutter.scrollTop = byId("yaml").scrollTop;
}

function showMistakes(list) {
  const yaml = byId("yaml");
  numberLines(list);
  yaml.setAttribute("aria-invalid", list.some(d => d.severity === "error"));
  byId("mistakes").replaceChildren(...list.map(d => el("li", {className: d.severity}, el("button", {type: "button", onclick: () => {
    const lines = state.text.split("\n"), start = lines.slice(0, Math.max(0, d.line - 1)).reduce((n, l) => n + l.length + 1, 0);
    yaml.focus();
    if (d.line && yaml.value === state.text) { yaml.setSelectionRange(start + Math.max(0, d.column - 1), start + (lines[d.line - 1] || "").length); yaml.scrollTop = (d.line - 4) * yaml.scrollHeight / lines.length; }
  }}, `${d.line ? `line ${d.line}, ${d.column}: ` : ""}${d.field ? d.field + ": " : ""}${d.message}${d.hint ? " - " + d.hint : ""}`))));
}

/* ---- results ---- */
/* The page shows another scenario than the one at the side. */
const fade = isOld => main.classList.toggle("old", isOld);
/* The figures that a telephone shows while its controls fill the screen. */
const glance = (text, isWarning) => { byId("glance").textContent = text; byId("glance").className = isWarning ? "warn" : ""; };
const atAGlance = s => s.step ? [seconds(s.step.time_s), "MFU " + percent((s.throughput || {}).mfu), memory(s.memory.peak_bytes), has((s.campaign || {}).days) ? lasting(s.campaign.days) : "", usd((s.campaign || {}).rent_usd)].filter(t => t).join(" \u00b7 ") : "does not fit in memory";

const rooms = () => [...main.querySelectorAll("[data-part]")]; /* of the parts of a run (report.js) */
/* Puts something else on the page: its drawings are lent to `put`, and what was unfolded stays so. */
function redraw(charts, put) {
  const open = new Set([...main.querySelectorAll("details[open] > summary")].map(s => s.textContent));
  drawings.innerHTML = charts; /* drawn by the server, which escapes all names */
  put();
  drawings.replaceChildren();
  for (const s of open.size ? main.querySelectorAll("details > summary") : []) if (open.has(s.textContent)) s.parentNode.open = true;
  fade(false);
}
let followed = null; /* the parts that are of this scenario; null: all */
/* A part that is out of sight is not drawn (workbench.css), and takes the height that it had. */
function showView(data) {
  const top = scrollY, heights = new Map(rooms().map(room => [room.dataset.part, room.offsetHeight]));
  redraw(data.charts, () => { main.replaceChildren(); showReport(data); });
  followed = null;
  for (const room of rooms()) if (heights.has(room.dataset.part)) room.style.containIntrinsicBlockSize = `auto ${heights.get(room.dataset.part)}px`;
  scrollTo(0, top);
}

/* While a control is moved, the parts of a run that are in sight follow, and no others: the server computes and draws less, and
   so does the page. Two parts come with the whole answer alone. */
const COMES_LATER = ["advice", "sensitivities"], NEEDS = {gantt: "timeline", layer: "timeline", roofline: "tables", links: "tables"};
const isInSight = e => { const {top, bottom} = e.getBoundingClientRect(); return bottom >= 0 && top <= innerHeight; };
function follow(data, names) {
  followed = names;
  nameEntries(data);
  redraw(data.charts, () => {
    const fresh = new Map([...showRun(data.runs[0], names).children].map(room => [room.dataset.part, room]));
    for (const room of rooms()) if (fresh.has(room.dataset.part)) room.replaceWith(fresh.get(room.dataset.part)); else if (COMES_LATER.includes(room.dataset.part)) room.classList.add("old");
    data.comparisons.forEach(c => main.querySelector("article.comparison").replaceWith(showComparison(c)));
  });
}
const namesInSight = () => rooms().filter(isInSight).map(room => room.dataset.part).filter(name => !COMES_LATER.includes(name));
addEventListener("scroll", () => { if (followed && namesInSight().some(name => !followed.includes(name))) changed(); }, {passive: true});
/* "a.b=1 --set c=2: step ..., 7 % faster" is what report.js shows as advice. */
applies = text => {
  for (const setting of text.replace(/: step .*$/, "").split(" --set ")) {
    const equals = setting.indexOf("="), value = setting.slice(equals + 1).replace(/^'(.*)'$/, "$1");
    state.text = setInText(state.text, setting.slice(0, equals).split("."), /^\d+$/.test(value) ? +value : value === "true" || value === "false" ? value === "true" : value);
  }
  byId("yaml").value = state.text;
  changed();
};
/* A plan or a point that is opened: {"path": value}. Replicas follow from the rest, so that it can be changed further. */
opens = (settings, tab = "run") => {
  for (const [path, value] of Object.entries(settings)) state.text = setInText(state.text, path.split("."), path === "parallelism.data" ? "auto" : value);
  byId("yaml").value = state.text;
  choose(tab);
};
function openText(text) {
  state.text = text;
  byId("yaml").value = text;
  choose("run");
}
/* A scenario with every key, as YAML. */
const toYaml = (value, indent = "") => Object.entries(value).map(([k, v]) => indent + k + ":" + (v && typeof v === "object" && !Array.isArray(v) && Object.keys(v).length ? "\n" + toYaml(v, indent + "  ") : " " + (v && typeof v === "object" ? JSON.stringify(v) + "\n" : plainText(v) + "\n"))).join("");

/* The parts of a run's page that are about the whole run. */
const OF_CAMPAIGN = ["title", "headline", "advice", "wholeRun", "energyAndCost", "owned"];
function showCampaign() {
  for (const room of rooms()) if (!OF_CAMPAIGN.includes(room.dataset.part)) room.remove();
  if (!resolved.reliability) main.append(el("p", {}, "Nothing fails in this scenario. ", el("button", {type: "button", onclick: () => opens(START_VALUES, "campaign")}, "let nodes fail")));
}

let running = null, waiting = null, later = 0;
async function compute(isBrief) {
  if (running) { waiting = waiting === null ? isBrief : waiting && isBrief; if (!running.isBrief) running.abort(); return; }
  const text = state.text;
  running = Object.assign(new AbortController(), {isBrief});
  try {
    const began = performance.now(), isOfRun = state.tab === "run" || state.tab === "campaign", isBeside = state.pinned !== null && isOfRun, before = main.querySelector("article.comparison");
    /* The parts that follow; null: all, as they are not those of the last answer. */
    const seen = isBrief && isOfRun && rooms().length && Boolean(before) === isBeside ? namesInSight() : null;
    const needs = isBrief ? ["brief", ...new Set((isOfRun ? seen || Object.keys(NEEDS) : []).map(name => NEEDS[name]).filter(n => n))] : [];
    const [answer, beside] = await Promise.all([ask("view/run" + (needs.length ? "?" + needs.join("&") : ""), text, running.signal), isBeside && (!seen || isInSight(before)) ? ask("view/compare", JSON.stringify({a: state.pinned, b: text}), running.signal) : null]);
    const data = answer.view, isShown = state.tab === "run" || state.tab === "campaign";
    if (beside) {
      beside.view.comparisons.forEach(c => { c.a = "pinned"; c.b = "as it is now"; });
      data.comparisons = beside.view.comparisons;
      data.charts += beside.view.charts;
    }
    resolved = data.runs[0].scenario;
    showMistakes(answer.diagnostics);
    fillControls();
    glance(atAGlance(data.runs[0].summary), !data.runs[0].summary.memory.fits);
    if (!isShown || text !== state.text && !isBrief) throw new DOMException("", "AbortError");
    if (seen && !rooms().length) throw new DOMException("", "AbortError"); /* another question was asked meanwhile */
    if (seen) follow(data, seen);
    else showView(data);
    if (state.tab === "campaign" && !seen) showCampaign();
    say(isBrief ? "" : `computed in ${Math.round(performance.now() - began)} ms`);
  } catch (e) {
    if (e.name !== "AbortError") { showMistakes(e.diagnostics || []); say(e.message, true); glance(e.message, true); fade(true); }
  }
  running = null;
  if (waiting !== null) { const next = waiting; waiting = null; compute(next); }
}
function changed() {
  clearTimeout(later);
  compute(true);
  remember();
  later = setTimeout(() => { compute(false); askAgain(); }, 400);
}
/* An answer to a question is of the scenario as it was: a short one is asked for again, a long one is faint until it is wanted. */
function askAgain() {
  if (!QUESTIONS[state.tab] || !answered || answered.tab !== state.tab || answered.text === state.text) return;
  if (answered.took_ms < 2000) answerQuestion();
  else { fade(true); say("The scenario has changed since. Press compute to ask again."); }
}

/* ---- questions: what a command is asked beside the scenario ---- */
const field = (name, label, attributes) => {
  const input = el(attributes.options ? "select" : "input", attributes.options ? {} : attributes, attributes.options ? attributes.options.map(o => el("option", {value: o}, o || "default")) : []);
  input.name = name;
  if (attributes.list) input.setAttribute("list", attributes.list);
  const kept = (state.asked[state.tab] || {})[name];
  if (kept !== undefined) input.type === "checkbox" ? input.checked = kept : input.value = kept;
  return el("label", {}, label + " ", input);
};
const OBJECTIVES = ["", "tokens_per_s", "mfu", "cost", "energy"];
const QUESTIONS = {
  scale: {about: "How speed grows with the number of accelerators, where the curve bends, and why.", fields: () => [field("gpus", "accelerators", {placeholder: "128,256,512"}), field("weak", "weak", {type: "checkbox"}), field("until-efficiency", "until efficiency", {placeholder: "0.8", size: 5})], path: "view/scale"},
  plan: {about: "The fastest plans for the model on the cluster, and those that are best in time, cost or energy. Further keys can be varied, too: KEY=VALUE,VALUE.", fields: () => [field("vary1", "try", {placeholder: "cluster.nodes=8,16,32", size: 28}), field("vary2", "and", {placeholder: "cluster.node=dgx-h100,dgx-a100", size: 28}), field("objective", "best by", {placeholder: "tokens_per_s", size: 12}), field("any-software", "any software", {type: "checkbox"})], path: "view/plan"},
  buy: {about: "Which machines of the catalogue to rent or buy, to train on a number of tokens by a date and within a budget. The whole catalogue takes some seconds.", isSlow: true, fields: () => [field("tokens", "tokens", {value: "2 T", size: 6}), field("deadline", "by", {value: "90 days", size: 8}), field("budget", "for", {value: "10 M USD", size: 9}), field("vary1", "among", {placeholder: "cluster.nodes=8,16,32", size: 28})], path: "view/buy"},
  sweep: {about: "Every combination of the values of two keys.", fields: () => [field("vary1", "rows", {value: "parallelism.tensor=2,4,8", size: 28}), field("vary2", "columns", {value: "parallelism.pipeline=2,4,8", size: 28}), field("where", "where", {placeholder: "mfu > 0.3", size: 12})], path: "view/sweep"},
};
let asking = null, answered = null;
function showQuestion() {
  const form = byId("question"), q = QUESTIONS[state.tab];
  form.replaceChildren();
  if (!q) return;
  form.append(el("p", {className: "soft"}, q.about), ...q.fields(), el("button", {type: "submit"}, "compute"));
  form.onsubmit = e => { e.preventDefault(); answerQuestion(); };
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
    const path = QUESTIONS[tab].path + "?" + query, data = isLong ? await askSlowly(path, text, mine.signal, p => { bar.value = p.done / p.of; say(`${p.part}: ${count(p.done)} of ${count(p.of)}`); }) : await ask(path, text, mine.signal);
    if (state.tab !== tab || asking !== mine) return;
    answered = {tab, text, took_ms: performance.now() - began};
    for (const s of data.view.sweeps) for (const key of ["sweep_id", "started_at", "version"]) delete s.about[0][key]; /* of a database that nobody keeps */
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

/* ---- measured runs, and the runs of the database ---- */
const LISTS = {accuracy: showAccuracy, runs: showRuns};
function parseCsv(text) {
  const [head, ...rows] = text.split("\n").filter(l => l && !l.startsWith("#")).map(l => l.split(","));
  return rows.map(r => Object.fromEntries(head.map((k, i) => [k, r[i] !== "" && !isNaN(r[i]) ? +r[i] : r[i]])));
}
async function showAccuracy() {
  const rows = parseCsv((await ask("api/accuracy")).text).map(r => Object.assign(r, {measured_s: r.step_time_s * r.measured_over_predicted, error: 1 / r.measured_over_predicted - 1, opens: () => openCase(r.case)}));
  if (state.tab !== "accuracy") return;
  const filter = el("input", {type: "search", placeholder: "words that a run must have", "aria-label": "filter"}), told = el("p", {}), room = el("div", {});
  const columns = [{title: "run", key: "case", text: true}, {title: "measured step", key: "measured_s", show: seconds}, {title: "predicted", key: "step_time_s", show: seconds}, {title: "error", key: "error", show: v => (v > 0 ? "+" : "") + percent(v)}, {title: "accelerators", key: "accelerators", show: count}, {title: "accelerator", key: "accelerator", text: true}, {title: "software", key: "software", text: true, whole: true}, {title: "kind of model", key: "model", text: true}, {title: "precision", key: "precision", text: true}];
  const sorted = sortable(columns, rows, "case", false, "many"), lines = rows.map(r => columns.map(c => r[c.key]).join(" ").toLowerCase());
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(w => w), kept = rows.filter((r, i) => words.every(w => lines[i].includes(w))), errors = kept.map(r => r.error);
    state.asked.accuracy = filter.value;
    remember();
    sorted.show(kept);
    told.textContent = kept.length ? `${count(kept.length)} measured runs of ${new Set(kept.map(r => r.source)).size} sources: ${percent(errors.reduce((a, e) => a + Math.abs(e), 0) / kept.length)} off on average, ${percent(errors.reduce((a, e) => a + e, 0) / kept.length)} with the sign (+: predicted too slow).` : "No run matches all of these words.";
    room.replaceChildren(kept.length ? el("figure", {className: "chart"}, accuracyChart(kept, dotOf)) : "");
  };
  filter.value = state.asked.accuracy || "";
  filter.addEventListener("input", apply);
  part(main, "Predicted beside measured", el("div", {className: "tools"}, filter), told, room, sorted.element);
  apply();
  say("A row opens the run as the scenario.");
}
const dotOf = (dot, text, run) => { dot.dataset.hint = text; dot.style.cursor = "pointer"; dot.addEventListener("click", run.opens); };
const openCase = async id => openText((await ask("api/scenario?id=" + encodeURIComponent(id))).text);
async function showRuns() {
  const listed = await ask("api/runs");
  if (state.tab !== "runs") return;
  const rows = listed.runs.map(r => Object.assign(r, {opens: async () => openText(toYaml((await ask("view/report?run=" + r.run_id)).view.runs[0].scenario))}));
  part(main, "Runs of the database", rows.length ? sortable([{title: "run", key: "run_id"}, {title: "started", key: "started_at", text: true, whole: true}, {title: "scenario", key: "scenario", text: true}, {title: "status", key: "status", text: true}, {title: "accelerators", key: "accelerators", show: count}, {title: "step", key: "step_time_s", show: seconds}, {title: "tokens/s", key: "tokens_per_s", show: amount}, {title: "MFU", key: "mfu", show: percent}], rows, "run_id").element : el("p", {}, "None yet: the button below logs the scenario as it is, and so does ", el("code", {}, "tsim run"), " with the same database."));
  const logs = el("button", {type: "button", onclick: async () => { try { const run = await ask("api/run?log", state.text); main.replaceChildren(); await showRuns(); say(`logged as run ${run.run_id}`); } catch (e) { say(e.message, true); } }}, "log the scenario as a run");
  main.append(el("p", {}, logs));
  if (listed.sweeps.length) part(main, "Sweeps of the database", sortable([{title: "sweep", key: "sweep_id"}, {title: "started", key: "started_at", text: true, whole: true}, {title: "scenario", key: "scenario", text: true}, {title: "points", key: "points", show: count}, {title: "ok", key: "ok", show: count}, {title: "axes", key: "axes", text: true}], listed.sweeps.map(s => Object.assign(s, {opens: async () => { const shown = await ask("view/report?run=sweep:" + s.sweep_id); showView(shown.view); }})), "sweep_id").element);
}

/* ---- tabs, the address, the pin, downloads ---- */
function choose(tab) {
  state.tab = tab;
  answered = null;
  fade(false);
  for (const t of byId("tabs").children) { t.setAttribute("aria-selected", t.dataset.tab === tab); t.tabIndex = t.dataset.tab === tab ? 0 : -1; }
  main.replaceChildren();
  say("");
  showQuestion();
  changed();
  if (QUESTIONS[tab] && (!QUESTIONS[tab].isSlow || state.asked[tab])) answerQuestion();
  if (LISTS[tab]) LISTS[tab]().catch(e => say(e.message, true));
}
function buildTabs() {
  const tabs = byId("tabs");
  tabs.replaceChildren(...TABS.map(tab => { const b = el("button", {type: "button", onclick: () => choose(tab)}, tab); b.setAttribute("role", "tab"); b.dataset.tab = tab; return b; }));
  tabs.addEventListener("keydown", e => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key], all = [...tabs.children], at = all.indexOf(document.activeElement);
    if (step && at >= 0) { const next = all[(at + step + all.length) % all.length]; next.focus(); next.click(); }
  });
}
const encode = text => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const decode = text => new TextDecoder().decode(Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt(0)));
const remember = () => history.replaceState(null, "", "#" + encode(JSON.stringify(state)));
function recall() {
  try { Object.assign(state, JSON.parse(decode(location.hash.slice(1)))); } catch (e) { if (location.hash.length > 1) say("The address holds no scenario.", true); }
}
function showPin() {
  byId("pin").setAttribute("aria-pressed", state.pinned !== null);
  byId("pin").textContent = state.pinned === null ? "pin" : "unpin";
}
function save(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], {type})), a = el("a", {href: url, download: name});
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
const nameOf = () => (/^name:\s*(\S+)/m.exec(state.text) || [null, "scenario"])[1];
const fetchText = async path => { const r = await fetch(path, {method: "POST", body: state.text, headers: {"Content-Type": "application/yaml"}}); if (!r.ok) throw new Error(`${path}: ${r.status}`); return r.text(); };
function png(svg) {
  const image = new Image(), [, , width, height] = /viewBox="(\S+) (\S+) (\S+) (\S+)"/.exec(svg).slice(1).map(Number).reduce((a, v, i) => (a[i] = v, a), []);
  image.onload = () => { const canvas = el("canvas", {width: 2 * width, height: 2 * height}), pen = canvas.getContext("2d"); pen.scale(2, 2); pen.drawImage(image, 0, 0, width, height); canvas.toBlob(b => save(nameOf() + ".png", "image/png", b)); };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
}
const CHARTS = ["step", "memory", "streams", "roofline", "links", "sensitivity"];
const SAVES = {YAML: () => save(nameOf() + ".yaml", "application/yaml", state.text), JSON: async () => save(nameOf() + ".json", "application/json", await fetchText("api/run")), report: async () => save(nameOf() + ".html", "text/html", await fetchText("api/report")),
  ...Object.fromEntries(CHARTS.map(c => [`${c}, SVG`, async () => save(`${nameOf()}-${c}.svg`, "image/svg+xml", await fetchText(`api/export?format=svg&chart=${c}`))])), "step, PNG": async () => png(await fetchText("api/export?format=svg&chart=step"))};

async function begin() {
  recall();
  buildTabs();
  showPin();
  byId("save").append(...Object.keys(SAVES).map(k => el("option", {value: k}, k)));
  byId("save").addEventListener("change", async e => { const k = e.target.value; e.target.value = ""; try { await SAVES[k](); } catch (x) { say(x.message, true); } });
  byId("pin").addEventListener("click", () => { state.pinned = state.pinned === null ? state.text : null; showPin(); state.tab === "run" ? changed() : choose("run"); });
  byId("copy").addEventListener("click", async () => { remember(); try { await navigator.clipboard.writeText(location.href); say("The link is copied."); } catch (e) { say("The address of this page is the link."); } });
  addEventListener("hashchange", () => { recall(); showPin(); byId("yaml").value = state.text; choose(state.tab); });
  byId("skip").addEventListener("click", e => { e.preventDefault(); main.focus(); }); /* the address is the scenario's */
  const isWide = matchMedia("(min-width: 56rem)"), unfold = () => { byId("scenario").open = isWide.matches; }; /* a telephone shows the results first */
  isWide.addEventListener("change", unfold);
  unfold();
  buildControls();
  choose(state.tab);
  [schema, catalogue] = await Promise.all([ask("api/schema"), ask("api/catalogue")]);
  buildControls();
  fillControls();
}
begin();
