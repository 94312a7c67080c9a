/* The page's answer to the scenario. */

/* The page shows another scenario than the one at the side. */
const fade = isOld => main.classList.toggle("old", isOld);
/* The figures that a telephone shows while its controls fill the screen. */
const glance = (text, isWarning) => {
  byId("glance").textContent = text;
  byId("glance").className = isWarning ? "warn" : "";
};
const atAGlance = s => s.step ? [seconds(s.step.time_s), "MFU " + percent((s.throughput || {}).mfu), memory(s.memory.peak_bytes), has((s.campaign || {}).days) ? lasting(s.campaign.days) : "", usd((s.campaign || {}).rent_usd)].filter(t => t).join(" \u00b7 ") : "does not fit in memory";

const rooms = () => [...main.querySelectorAll("[data-part]")]; /* of the parts of a run (report.js) */
/* Puts something else on the page: its drawings are lent to `put`, and what was unfolded stays so. */
function redraw(charts, put) {
  const open = new Set([...main.querySelectorAll("details[open] > summary")].map(s => s.textContent));
  drawings.innerHTML = charts; /* drawn by the server, which escapes all names */
  put();
  drawings.replaceChildren();
  for (const s of open.size ? main.querySelectorAll("details > summary") : [])
    if (open.has(s.textContent)) s.parentNode.open = true;
  fade(false);
}
let followed = null; /* the parts that are of this scenario; null: all */
/* A part that is out of sight is not drawn (workbench.css), and takes the height that it had, so that nothing jumps. */
const heights = () => new Map(rooms().map(room => [room.dataset.part, room.offsetHeight]));
const keepHeight = (room, of) => {
  if (of.has(room.dataset.part)) room.style.containIntrinsicBlockSize = `auto ${of.get(room.dataset.part)}px`;
};
/* Parts that come later stay, faint, until they do. */
function showView(data) {
  const top = scrollY, before = rooms(), were = heights();
  redraw(data.charts, () => {
    main.replaceChildren();
    showReport(data);
  });
  followed = null;
  for (const room of rooms()) keepHeight(room, were);
  for (const room of before.filter(room => COMES_LAST.includes(room.dataset.part))) {
    const place = rooms().find(r => r.dataset.part === room.dataset.part);
    if (place) place.replaceWith(room);
    room.classList.add("old");
  }
  scrollTo(0, top);
}

/* An answer comes in three steps. While a control is moved, the parts of a run that are in sight follow, and no others: the
   server computes and draws less, and so does the page. When the control rests, so do all others but two, for which the server
   runs the scenario again and again: they come last. A timeline follows as long as its beginning is looked at. */
const COMES_LAST = ["advice", "sensitivities"], NEEDS = {
  gantt: "passes",
  layer: "kernels",
  roofline: "tables",
  links: "tables"
};
const comesLater = name => {
  const look = lookAt("runs-0-");
  return COMES_LAST.includes(name) || name === "gantt" && (look.at !== "beginning" || look.streams);
};
const isInSight = e => {
  const {top, bottom} = e.getBoundingClientRect();
  return bottom >= 0 && top <= innerHeight;
};
function follow(data, names) {
  const were = heights();
  nameEntries(data);
  redraw(data.charts, () => {
    const fresh = new Map([...showRun(data.runs[0], names).children].map(room => [room.dataset.part, room]));
    for (const room of rooms())
      if (fresh.has(room.dataset.part)) {
        keepHeight(fresh.get(room.dataset.part), were);
        room.replaceWith(fresh.get(room.dataset.part));
      }
    data.comparisons.forEach(c => main.querySelector("article.comparison").replaceWith(showComparison(c)));
  });
}
const namesInSight = () => rooms().filter(isInSight).map(room => room.dataset.part).filter(name => !comesLater(name));
addEventListener("scroll", () => {
  if (followed && namesInSight().some(name => !followed.includes(name))) compute("seen");
}, {passive: true});
/* "a.b=1 --set c=2: step ..., 7 % faster" is what report.js shows as advice. */
applies = text => {
  for (const setting of text.replace(/: step .*$/, "").split(" --set ")) {
    const equals = setting.indexOf("="), value = setting.slice(equals + 1).replace(/^'(.*)'$/, "$1");
    state.text = setInText(
        state.text, setting.slice(0, equals).split("."),
        /^\d+$/.test(value)                         ? +value
            : value === "true" || value === "false" ? value === "true"
                                                    : value);
  }
  byId("yaml").value = state.text;
  changed();
};
/* A plan or a point that is opened: {"path": value}. Replicas follow from the rest, so that it can be changed further. */
opens = (settings, tab = "run") => {
  for (const [path, value] of Object.entries(settings))
    state.text = setInText(state.text, path.split("."), path === "parallelism.data" ? "auto" : value);
  byId("yaml").value = state.text;
  choose(tab);
};
function openText(text) {
  state.text = text;
  byId("yaml").value = text;
  choose("run");
}
/* A scenario with every key, as YAML. */
const toYaml = (value, indent = "") =>
    Object.entries(value)
        .map(
            ([k, v]) => indent + k + ":" +
                (v && typeof v === "object" && !Array.isArray(v) && Object.keys(v).length
                     ? "\n" + toYaml(v, indent + "  ")
                     : " " + (v && typeof v === "object" ? JSON.stringify(v) + "\n" : plainText(v) + "\n")))
        .join("");

/* The parts of a run's page that are about the whole run. */
const OF_CAMPAIGN = ["title", "headline", "advice", "wholeRun", "energyAndCost", "owned"];
function showCampaign() {
  for (const room of rooms())
    if (!OF_CAMPAIGN.includes(room.dataset.part)) room.remove();
  if (!resolved.reliability)
    main.append(
        el("p", {}, "Nothing fails in this scenario. ",
           el("button", {type: "button", onclick: () => opens(START_VALUES, "campaign")}, "let nodes fail")));
}

const STEPS = ["seen", "whole", "last"], due = new Set(),
      isOfRun = () => state.tab === "run" || state.tab === "campaign";
let running = null, later = 0, since = 0;
/* A step waits for the one that runs, unless it comes before that. */
async function compute(step) {
  due.add(step);
  if (running) {
    if (STEPS.indexOf(step) >= STEPS.indexOf(running.step)) return;
    due.add(running.step);
    running.abort();
    return;
  }
  for (let next; (next = STEPS.find(s => due.delete(s)));) await take(next);
}
async function take(step) {
  if (step !== "seen" && !isOfRun()) return; /* other questions have answers of their own */
  const text = state.text;
  running = Object.assign(new AbortController(), {step});
  if (step !== "last") since = performance.now();
  try {
    const isBeside = state.pinned !== null && isOfRun(), before = main.querySelector("article.comparison");
    /* The parts that follow; null: all, as they are not those of the last answer. */
    const names = step === "last"                                                        ? COMES_LAST
        : step === "seen" && isOfRun() && rooms().length && Boolean(before) === isBeside ? namesInSight()
                                                                                         : null;
    const needs = step === "last" ? ["advice"]
        : step === "whole"        ? ["streams", "kernels", "tables"]
        : isOfRun()               ? (names || Object.keys(NEEDS)).map(name => NEEDS[name]).filter(n => n)
                                  : [];
    const [answer, beside] = await Promise.all([
      ask("view/run?parts=" + [...new Set(needs)].join(), text, running.signal),
      isBeside && step !== "last" && (!names || isInSight(before))
          ? ask("view/compare", JSON.stringify({a: state.pinned, b: text}), running.signal)
          : null
    ]);
    const data = answer.view;
    if (beside) {
      beside.view.comparisons.forEach(c => {
        c.a = "pinned";
        c.b = "as it is now";
      });
      data.comparisons = beside.view.comparisons;
      data.charts += beside.view.charts;
    }
    resolved = data.runs[0].scenario;
    showMistakes(answer.diagnostics);
    fillControls();
    glance(atAGlance(data.runs[0].summary), !data.runs[0].summary.memory.fits);
    if (!isOfRun() || text !== state.text && step !== "seen") throw new DOMException("", "AbortError");
    if (names && !rooms().length) throw new DOMException("", "AbortError"); /* another question was asked meanwhile */
    if (names)
      follow(data, names);
    else
      showView(data);
    if (state.tab === "campaign" && !names) showCampaign();
    if (step === "seen") {
      followed = names;
      rooms().filter(room => comesLater(room.dataset.part)).forEach(room => room.classList.add("old"));
    }
    say(step === "seen"       ? ""
            : step === "last" ? `computed in ${Math.round(performance.now() - since)} ms`
                              : "Advice and sensitivities follow.");
    if (step === "whole") due.add("last");
  } catch (e) {
    if (e.name !== "AbortError") {
      showMistakes(e.diagnostics || []);
      say(e.message, true);
      glance(e.message, true);
      fade(true);
    }
  }
  running = null;
}
function changed() {
  clearTimeout(later);
  compute("seen");
  for (const step of ["whole", "last"]) due.delete(step); /* of another scenario; when the control rests */
  remember();
  later = setTimeout(() => {
    compute("whole");
    askAgain();
  }, 400);
}
/* An answer to a question is of the scenario as it was: a short one is asked for again, a long one is faint until it is wanted. */
function askAgain() {
  if (!QUESTIONS[state.tab] || !answered || answered.tab !== state.tab || answered.text === state.text) return;
  if (answered.took_ms < 2000)
    answerQuestion();
  else {
    fade(true);
    say("The scenario has changed since. Press compute to ask again.");
  }
}
