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
/* A part that is out of sight is not drawn (workbench.css), and takes the height that it had. */
function showView(data) {
  const top = scrollY, heights = new Map(rooms().map(room => [room.dataset.part, room.offsetHeight]));
  redraw(data.charts, () => {
    main.replaceChildren();
    showReport(data);
  });
  followed = null;
  for (const room of rooms())
    if (heights.has(room.dataset.part))
      room.style.containIntrinsicBlockSize = `auto ${heights.get(room.dataset.part)}px`;
  scrollTo(0, top);
}

/* While a control is moved, the parts of a run that are in sight follow, and no others: the server computes and draws less, and
   so does the page. Two parts come with the whole answer alone. */
const COMES_LATER = ["advice", "sensitivities"], NEEDS = {
  gantt: "timeline",
  layer: "timeline",
  roofline: "tables",
  links: "tables"
};
const isInSight = e => {
  const {top, bottom} = e.getBoundingClientRect();
  return bottom >= 0 && top <= innerHeight;
};
function follow(data, names) {
  followed = names;
  nameEntries(data);
  redraw(data.charts, () => {
    const fresh = new Map([...showRun(data.runs[0], names).children].map(room => [room.dataset.part, room]));
    for (const room of rooms())
      if (fresh.has(room.dataset.part))
        room.replaceWith(fresh.get(room.dataset.part));
      else if (COMES_LATER.includes(room.dataset.part))
        room.classList.add("old");
    data.comparisons.forEach(c => main.querySelector("article.comparison").replaceWith(showComparison(c)));
  });
}
const namesInSight = () =>
    rooms().filter(isInSight).map(room => room.dataset.part).filter(name => !COMES_LATER.includes(name));
addEventListener("scroll", () => {
  if (followed && namesInSight().some(name => !followed.includes(name))) changed();
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

let running = null, waiting = null, later = 0;
async function compute(isBrief) {
  if (running) {
    waiting = waiting === null ? isBrief : waiting && isBrief;
    if (!running.isBrief) running.abort();
    return;
  }
  const text = state.text;
  running = Object.assign(new AbortController(), {isBrief});
  try {
    const began = performance.now(), isOfRun = state.tab === "run" || state.tab === "campaign",
          isBeside = state.pinned !== null && isOfRun, before = main.querySelector("article.comparison");
    /* The parts that follow; null: all, as they are not those of the last answer. */
    const seen = isBrief && isOfRun && rooms().length && Boolean(before) === isBeside ? namesInSight() : null;
    const needs = isBrief
        ? ["brief", ...new Set((isOfRun ? seen || Object.keys(NEEDS) : []).map(name => NEEDS[name]).filter(n => n))]
        : [];
    const [answer, beside] = await Promise.all([
      ask("view/run" + (needs.length ? "?" + needs.join("&") : ""), text, running.signal),
      isBeside && (!seen || isInSight(before))
          ? ask("view/compare", JSON.stringify({a: state.pinned, b: text}), running.signal)
          : null
    ]);
    const data = answer.view, isShown = state.tab === "run" || state.tab === "campaign";
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
    if (!isShown || text !== state.text && !isBrief) throw new DOMException("", "AbortError");
    if (seen && !rooms().length) throw new DOMException("", "AbortError"); /* another question was asked meanwhile */
    if (seen)
      follow(data, seen);
    else
      showView(data);
    if (state.tab === "campaign" && !seen) showCampaign();
    say(isBrief ? "" : `computed in ${Math.round(performance.now() - began)} ms`);
  } catch (e) {
    if (e.name !== "AbortError") {
      showMistakes(e.diagnostics || []);
      say(e.message, true);
      glance(e.message, true);
      fade(true);
    }
  }
  running = null;
  if (waiting !== null) {
    const next = waiting;
    waiting = null;
    compute(next);
  }
}
function changed() {
  clearTimeout(later);
  compute(true);
  remember();
  later = setTimeout(() => {
    compute(false);
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
