/* Charts are drawn already: the scripts put them in their places, show hints, and switch what a key names. */

const hint = document.getElementById("hint");
function showHint(e) {
  const shape = e.target.closest && e.target.closest("[data-hint]");
  hint.textContent = shape ? shape.dataset.hint : "";
  if (!shape) return;
  const left = e.clientX + 14, top = e.clientY + 14;
  hint.style.left = Math.max(0, Math.min(left, innerWidth - hint.offsetWidth - 8)) + "px";
  hint.style.top = (top + hint.offsetHeight > innerHeight ? e.clientY - hint.offsetHeight - 10 : top) + "px";
}
function switchOff(svg, key) {
  const name = "." + key.firstElementChild.classList[0], off = key.classList.toggle("off");
  for (const shape of svg.querySelectorAll(name))
    if (!shape.closest(".key")) shape.classList.toggle("off", off);
  key.setAttribute("aria-pressed", !off);
}
function enliven(svg) {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number), title = svg.querySelector("title"),
                    head = svg.querySelector(".head");
  svg.setAttribute("viewBox", `0 30 ${width} ${height - 30}`); /* the page has a heading of its own */
  svg.setAttribute("aria-label", title.textContent);
  title.remove();
  head.remove();
  const plot = svg.querySelector(
      ".plot"); /* its slices are thousands: each gives its hint when the pointer first comes to it (gantt) */
  for (const t of svg.querySelectorAll("title"))
    if (!plot || !plot.contains(t)) {
      t.parentNode.dataset.hint = t.textContent;
      t.remove();
    }
  for (const key of svg.querySelectorAll(".key")) {
    key.setAttribute("role", "button");
    key.setAttribute("tabindex", "0");
    key.addEventListener("click", () => switchOff(svg, key));
    key.addEventListener("keydown", e => {
      if (e.key === "Enter" || e.key === " ") {
        e.preventDefault();
        switchOff(svg, key);
      }
    });
  }
}
/* The drawing of that name, put into `parent`; null: there is nothing to draw. */
function chart(parent, name) {
  const figure = drawings.querySelector("#" + name), svg = figure && figure.querySelector("svg");
  if (svg) {
    enliven(svg);
    parent.append(figure);
  }
  return svg;
}

/* A page that can change its scenario says how: to take a piece of advice, and to open what a plan or a point sets. */
let applies = null, opens = null;
/* A row or a dot with these attributes opens the plan or point that it stands for, by a click or the Enter key; null on a page that cannot. */
const opening = (settings, own) => {
  const open = own || (() => opens(settings));
  return opens && settings || own ? {
    tabIndex: 0,
    title: "open it",
    onclick: open,
    onkeydown: e => {
      if (e.key === "Enter") open();
    }
  }
                                  : null;
};
/* A row of a table opens where it has what it sets. */
const rowOf = r => {
  const opener = opening(r.set || (r.plan || {}).set, r.opens);
  return opener ? {className: "opens", ...opener} : {};
};
/* Dots whose class has the place of a plan or a point: `of` finds what it sets. */
function openDots(svg, of) {
  for (const dot of svg ? svg.querySelectorAll("circle") : []) {
    const place = [...dot.classList].find(k => /^p\d/.test(k)), opener = place && opening(of(dot, +place.slice(1)));
    if (!opener) continue;
    dot.classList.add("opens");
    dot.setAttribute("tabindex", "0");
    dot.setAttribute("role", "button");
    dot.setAttribute("aria-label", `open ${dot.dataset.hint || ""}`.replace(/\n/g, ", "));
    dot.addEventListener("click", opener.onclick);
    dot.addEventListener("keydown", opener.onkeydown);
  }
}
