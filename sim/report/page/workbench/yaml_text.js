/* The scenario's text: one key is changed where it stands, and comments stay. */

const plainText = v => v && typeof v === "object" || typeof v === "string" && !/^[\w][\w .\/%+-]*$/.test(v)
    ? JSON.stringify(v)
    : String(v);
const keyOf = line => /^(\s*)(?:- )?("?)([\w.-]+)\2:(?:\s+|$)(.*)$/.exec(line);
const indentOf = line => /^\s*/.exec(line)[0].length;
const isBlank = line => /^\s*(#|$)/.test(line);
const splitComment = rest => {
  const m = /^((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^#"']|(?<=\S)#)*?)(\s+#.*)?$/.exec(rest);
  return m ? [m[1].trimEnd(), m[2] || ""] : [rest, ""];
};

/* {a: 1, b: {c: 2}} on one line: its parts at the top. */
function flowParts(text) {
  const parts = [];
  let depth = 0, quote = "", start = 1;
  for (let i = 1; i < text.length; i++) {
    const c = text[i];
    if (quote)
      quote = c === quote ? "" : quote;
    else if (c === "\"" || c === "'")
      quote = c;
    else if (c === "{" || c === "[")
      depth++;
    else if ((c === "}" || c === "]") && depth)
      depth--;
    else if ((c === "," && !depth) || i === text.length - 1) {
      if (text.slice(start, i).trim()) parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  return parts;
}
function setInFlow(text, path, value) {
  const parts = flowParts(text), at = parts.findIndex(p => (/^"?([\w.-]+)"?:/.exec(p) || [])[1] === path[0]);
  const old = at >= 0 ? parts[at].replace(/^"?[\w.-]+"?:\s*/, "") : "";
  parts.splice(
      at >= 0 ? at : parts.length, 1,
      `${path[0]}: ${path.length > 1 ? setInValue(old, path.slice(1), value) : plainText(value)}`);
  return `{${parts.join(", ")}}`;
}
/* A value on one line: a mapping, or an id that is amended. */
const setInValue = (old, path, value) =>
    old.startsWith("{") ? setInFlow(old, path, value) : setInFlow(old ? `{extends: ${old}}` : "{}", path, value);

function setInText(text, path, value) {
  const lines = text.replace(/\n*$/, "\n").split("\n");
  let from = 0, to = lines.length - 1, indent = 0;
  for (let i = 0; i < path.length; i++) {
    let at = -1;
    for (let l = from; l < to && at < 0; l++) {
      const k = !isBlank(lines[l]) && keyOf(lines[l]);
      if (k && k[1].length === indent && k[3] === path[i]) at = l;
    }
    if (at < 0) {
      let end = to;
      while (end > from && isBlank(lines[end - 1])) end--;
      const added = path.slice(i).map(
          (key, d) =>
              " ".repeat(indent + 2 * d) + key + ":" + (i + d === path.length - 1 ? " " + plainText(value) : ""));
      lines.splice(end, 0, ...added);
      return lines.join("\n");
    }
    const k = keyOf(lines[at]), head = lines[at].slice(0, lines[at].length - k[4].length).replace(/:\s*$/, ": ");
    let end = at + 1; /* deeper lines belong to the key, and lines that are blank between them */
    while (end < to && (isBlank(lines[end]) || indentOf(lines[end]) > indent)) end++;
    while (end > at + 1 && isBlank(lines[end - 1])) end--;
    let [old, comment] = splitComment(k[4]);
    if (/^[{[]/.test(old) && end > at + 1) {
      old = [old, ...lines.slice(at + 1, end).map(l => splitComment(l)[0].trim())].join(" ");
      lines.splice(at + 1, end - at - 1);
      end = at + 1;
    }
    if (i === path.length - 1) {
      lines.splice(at, end - at, head + plainText(value) + comment);
      return lines.join("\n");
    }
    if (old) {
      lines[at] = head + setInValue(old, path.slice(i + 1), value) + comment;
      return lines.join("\n");
    }
    from = at + 1;
    to = end;
    const first = lines.slice(from, to).find(l => !isBlank(l));
    indent = first ? indentOf(first) : indent + 2;
  }
  return lines.join("\n");
}
const valueAt = (object, path) => path.reduce((o, k) => (o === undefined || o === null ? undefined : o[k]), object);
