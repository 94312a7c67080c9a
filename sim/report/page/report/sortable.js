/* Tables that sort. */

/* A row with an `instead` has that in place of the columns behind its status. */
function sortable(columns, rows, first, descending = true, className = "") {
  let key = first, down = descending, shown = rows;
  const body = el("tbody", {}), head = el("tr", {});
  const compare = (a, b) => !has(a) ? (has(b) ? 1 : 0)
      : !has(b)
      ? -1
      : (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))) * (down ? -1 : 1);
  function fill() {
    body.replaceChildren(
        ...[...shown]
            .sort((a, b) => compare(a[key], b[key]))
            .map(
                r => el(
                    "tr", rowOf(r),
                    (has(r.instead) ? columns.slice(0, 1 + columns.findIndex(c => c.key === "status")) : columns)
                        .map(c => {
                          const value = r[c.key];
                          return el(
                              "td", {
                                className: c.whole ? "text whole"
                                    : c.text       ? (String(value).length > 40 ? "text long" : "text")
                                                   : ""
                              },
                              has(value) ? (c.show ? c.show(value) : String(value)) + (c.mark ? c.mark(r) : "") : "");
                        }),
                    has(r.instead) ? el("td", {
                      className: "text soft",
                      colSpan: columns.length - 1 - columns.findIndex(c => c.key === "status"),
                      style: "white-space: normal"
                    },
                                        r.instead)
                                   : null)));
    [...head.children].forEach(
        (th, i) => th.setAttribute("aria-sort", columns[i].key === key ? (down ? "descending" : "ascending") : "none"));
  }
  for (const c of columns)
    head.append(
        el("th", {className: c.text ? "text" : "", scope: "col"},
           el("button", {
             title: "sort",
             onclick: () => {
               down = c.key === key ? !down : !c.text;
               key = c.key;
               fill();
             }
           },
              c.title)));
  fill();
  return {
    element: el("div", {className: "scroll tall"}, el("table", {className}, el("thead", {}, head), body)),
    show: r => {
      shown = r;
      fill();
    }
  };
}
