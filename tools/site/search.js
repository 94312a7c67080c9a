// The site's search, in place of the theme's own, which needs a server (a worker and a request) and builds its index on every page.
// SEARCH_INDEX, from search_index.js, has the sections of all pages: {location, title, text}. A section is found when each word of the
// query begins one of its words; words in titles count most.
(function() {
const results = document.getElementById("mkdocs-search-results"),
      field = document.getElementById("mkdocs-search-query");
if (!results) return;
const SHOWN = 40, AROUND = 100;  // sections, and characters on each side of the first hit

function find(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const patterns =
      words.map((word) => new RegExp("(?<![\\p{L}\\p{N}])" + word.replace(/[^\p{L}\p{N}_]/gu, "\\$&"), "giu"));
  const count = (text) => patterns.map((pattern) => (text.match(pattern) || []).length);
  return SEARCH_INDEX.docs
      .map((section) => {
        const is_page = !section.location.includes("#");  // has the text of its sections once more
        const title = count(section.title), text = count(is_page ? "" : section.text);
        const all = words.length > 0 && words.every((word, i) => title[i] + text[i] > 0);
        const sum = (counts) => counts.reduce((total, n) => total + Math.min(n, 5), 0);
        return {section, score: all ? 20 * sum(title) + sum(text) : 0, at: section.text.search(patterns[0])};
      })
      .filter((hit) => hit.score > 0)
      .sort((a, b) => b.score - a.score);
}

function show() {
  const hits = find(field.value), page = {};
  SEARCH_INDEX.docs.forEach((section) => {
    page[section.location.split("#")[0]] ||= section.title;
  });
  results.replaceChildren(...hits.slice(0, SHOWN).map(({section, at}) => {
    const article = document.createElement("article"), title = document.createElement("h3"),
          text = document.createElement("p");
    const link = document.createElement("a"), start = Math.max(0, at - AROUND),
          of = page[section.location.split("#")[0]];
    link.href = base_url + "/" + section.location;
    link.textContent = of && of !== section.title ? `${section.title} (${of})` : section.title;
    text.textContent = (start > 0 ? "... " : "") + section.text.slice(start, start + 2 * AROUND) + " ...";
    title.append(link);
    article.append(title, text);
    return article;
  }));
  if (!hits.length) results.textContent = field.value.trim() ? "No section has all of these words." : "";
}

const index = document.createElement("script");
index.src = base_url + "/search/search_index.js";
index.addEventListener("load", () => {
  field.value = new URLSearchParams(location.search).get("q") || "";
  field.addEventListener("input", show);
  show();
});
document.head.append(index);
})();
