"""Answers of commands: dictionaries that notebooks show, with tables (pandas where it is there) and charts (the same SVG as in
reports)."""
import html
import re


class Chart:
    """An SVG. A notebook shows it; str() is its text."""

    def __init__(self, svg):
        self.svg = svg

    def __str__(self):
        return self.svg

    def __repr__(self):
        title = re.search(r"<title>(.*?)</title>|aria-label=\"(.*?)\"", self.svg)
        return f"<Chart {html.unescape(title.group(1) or title.group(2))}>" if title else "<Chart>"

    def _repr_svg_(self):
        return self.svg

    def save(self, file):
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.svg)


class Table(list):
    """Rows that are flat dictionaries."""

    def frame(self):
        """A pandas.DataFrame of the rows."""
        import pandas
        return pandas.DataFrame(list(self), columns=self.columns())

    def columns(self):
        return list(dict.fromkeys(key for row in self for key in row))

    def _repr_html_(self):
        cells = lambda tag, values: "".join(f"<{tag}>{html.escape(shown(v))}</{tag}>" for v in values)
        rows = "".join(f"<tr>{cells('td', [row.get(c) for c in self.columns()])}</tr>" for row in self)
        return f"<table><thead><tr>{cells('th', self.columns())}</tr></thead><tbody>{rows}</tbody></table>"


def shown(value):
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def flat(value, prefix=""):
    """{"step": {"time_s": 1}} as {"step.time_s": 1}; lists are left out."""
    row = {}
    for key, item in value.items():
        if isinstance(item, dict):
            row.update(flat(item, prefix + key + "."))
        elif not isinstance(item, list):
            row[prefix + key] = item
    return row


class Result(dict):
    """The object that the program prints with --json. `text` is that text, `warnings` what was said of the scenario; `table` its rows
    (of a run one, of a sweep a row for each point, of a plan the best plans); `charts` those that were asked for."""

    def __init__(self, value, answer, rows, charts=None, draw=None):
        super().__init__(value)
        self.text, self.warnings = answer.text, answer.diagnostics
        self.table, self.charts, self._draw = Table(rows), charts or {}, draw

    def frame(self):
        """The table as a pandas.DataFrame."""
        return self.table.frame()

    def chart(self, name="step"):
        """One chart of a run: step, memory, roofline, links, streams, ..., as `tsim export --format svg --chart NAME` draws it."""
        if self._draw is None:
            if name not in self.charts:
                raise KeyError(f"no chart {name!r}; there are {sorted(self.charts)} (charts=True asks for them)")
            return self.charts[name]
        return Chart(self._draw(name))

    def _repr_html_(self):
        return self.table._repr_html_() + "".join(c.svg for c in self.charts.values())


def charts_of(view):
    """The charts of a page, by name: those of a search "front", "space"; of the run on its page they have their own names, too."""
    if not view:
        return {}
    figures = re.findall(r'<figure class="chart" id="([a-z]+)-\d+-([\w-]+)">(.*?)</figure>', view["charts"], re.S)
    return {name: Chart(svg) for _, name, svg in figures if svg.strip().startswith("<svg")}
