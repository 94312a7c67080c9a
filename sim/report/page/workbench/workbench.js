/* Tabs, the address, the pin, downloads; and the beginning. */

function choose(tab) {
  state.tab = tab;
  answered = null;
  fade(false);
  for (const t of byId("tabs").children) {
    t.setAttribute("aria-selected", t.dataset.tab === tab);
    t.tabIndex = t.dataset.tab === tab ? 0 : -1;
    if (t.dataset.tab === tab) t.scrollIntoView({block: "nearest", inline: "nearest"});
  }
  main.replaceChildren();
  say("");
  showQuestion();
  changed();
  if (QUESTIONS[tab] && (!QUESTIONS[tab].isSlow || state.asked[tab])) answerQuestion();
  if (LISTS[tab]) LISTS[tab]().catch(e => say(e.message, true));
}
function buildTabs() {
  const tabs = byId("tabs");
  tabs.replaceChildren(...TABS.map(tab => {
    const b = el("button", {type: "button", onclick: () => choose(tab)}, tab);
    b.setAttribute("role", "tab");
    b.dataset.tab = tab;
    return b;
  }));
  tabs.addEventListener("keydown", e => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[e.key], all = [...tabs.children],
          at = all.indexOf(document.activeElement);
    if (step && at >= 0) {
      const next = all[(at + step + all.length) % all.length];
      next.focus();
      next.click();
    }
  });
}
const encode = text => btoa(Array.from(new TextEncoder().encode(text), c => String.fromCharCode(c)).join(""))
                           .replace(/\+/g, "-")
                           .replace(/\//g, "_")
                           .replace(/=+$/, "");
const decode = text =>
    new TextDecoder().decode(Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), c => c.charCodeAt(0)));
const remember = () => history.replaceState(null, "", "#" + encode(JSON.stringify(state)));
const isScenario = text => typeof text === "string";
function recall() {
  try {
    const {text, tab = "run", pinned = null, asked = {}} = JSON.parse(decode(location.hash.slice(1)));
    if (!isScenario(text) || !TABS.includes(tab) || !(pinned === null || isScenario(pinned)) ||
        !(asked instanceof Object))
      throw new Error();
    Object.assign(state, {text, tab, pinned, asked});
  } catch (e) {
    if (location.hash.length > 1) say("The address holds no scenario.", true);
  }
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
const fetchText = async path => {
  const r = await fetch(path, {method: "POST", body: state.text, headers: {"Content-Type": "application/yaml"}});
  if (!r.ok) throw new Error(`${path}: ${r.status}`);
  return r.text();
};
function png(svg) {
  const image = new Image(),
        [, , width, height] =
            /viewBox="(\S+) (\S+) (\S+) (\S+)"/.exec(svg).slice(1).map(Number).reduce((a, v, i) => (a[i] = v, a), []);
  image.onload = () => {
    const canvas = el("canvas", {width: 2 * width, height: 2 * height}), pen = canvas.getContext("2d");
    pen.scale(2, 2);
    pen.drawImage(image, 0, 0, width, height);
    canvas.toBlob(b => save(nameOf() + ".png", "image/png", b));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
}
const CHARTS = ["step", "memory", "streams", "roofline", "links", "sensitivity"];
const SAVES = {
  YAML: () => save(nameOf() + ".yaml", "application/yaml", state.text),
  JSON: async () => save(nameOf() + ".json", "application/json", await fetchText("api/run")),
  report: async () => save(nameOf() + ".html", "text/html", await fetchText("api/report")),
  ...Object.fromEntries(CHARTS.map(
      c =>
          [`${c}, SVG`,
           async () =>
               save(`${nameOf()}-${c}.svg`, "image/svg+xml", await fetchText(`api/export?format=svg&chart=${c}`))])),
  "step, PNG": async () => png(await fetchText("api/export?format=svg&chart=step"))
};

async function begin() {
  recall();
  buildTabs();
  showPin();
  byId("save").append(...Object.keys(SAVES).map(k => el("option", {value: k}, k)));
  byId("save").addEventListener("change", async e => {
    const k = e.target.value;
    e.target.value = "";
    try {
      await SAVES[k]();
    } catch (x) {
      say(x.message, true);
    }
  });
  byId("pin").addEventListener("click", () => {
    state.pinned = state.pinned === null ? state.text : null;
    showPin();
    state.tab === "run" ? changed() : choose("run");
  });
  byId("copy").addEventListener("click", async () => {
    remember();
    try {
      await navigator.clipboard.writeText(location.href);
      say("The link is copied.");
    } catch (e) {
      say("The address of this page is the link.");
    }
  });
  addEventListener("hashchange", () => {
    recall();
    showPin();
    byId("yaml").value = state.text;
    choose(state.tab);
  });
  byId("skip").addEventListener("click", e => {
    e.preventDefault();
    main.focus();
  }); /* the address is the scenario's */
  const isWide = matchMedia("(min-width: 56rem)"), unfold = () => {
    byId("scenario").open = isWide.matches;
  }; /* a telephone shows the results first */
  isWide.addEventListener("change", unfold);
  unfold();
  buildControls();
  choose(state.tab);
  [schema, catalogue] = await Promise.all([ask("api/schema"), ask("api/catalogue")]);
  buildControls();
  fillControls();
}
begin();
