/* Elements of the page and tables. Text is always text, never markup. */

const main = document.getElementById("main"), drawings = document.getElementById("charts"),
      root = document.documentElement;

function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {}))
    key in e && key !== "list" ? (e[key] = value) : e.setAttribute(key, value);
  for (const c of children.flat())
    if (c !== null && c !== undefined) e.append(c);
  return e;
}
function part(parent, title, ...children) {
  const s = el("section", {className: "part"}, el("h2", {}, title), ...children);
  parent.append(s);
  return s;
}
const has = x => x !== undefined && x !== null && x !== "";

function table(columns, rows, className) {
  const head = el("tr", {}, columns.map(c => el("th", {className: c.text ? "text" : "", scope: "col"}, c.title)));
  const body = rows.map(
      r => el("tr", rowOf(r), columns.map(c => {
        const value = c.of(r);
        return el(
            "td", {
              className: c.whole ? "text whole"
                  : c.text       ? (!className && String(value).length > 40 ? "text long" : "text")
                                 : ""
            },
            has(value) ? (className && c.text ? String(value).replace(/[._](?=[a-z])/g, "$&\u200b") : String(value))
                       : "");
      })));
  return el(
      "div", {className: "scroll"},
      el("table", {className: className || ""}, el("thead", {}, head), el("tbody", {}, body)));
}
const pairs = rows => table(
    [{title: "", text: true, whole: true, of: r => r[0]}, {title: "", text: true, of: r => r[1]}],
    rows.filter(r => has(r[1])), "even");
