#!/usr/bin/env python3
"""The cells of a notebook, run without Jupyter: what each shows is compared with what is stored, numbers within a tenth (they are
predictions, which other tests keep). tests/python/notebook.py FILE --update writes the outputs anew."""
import ast, contextlib, io, json, re, sys

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
FORMS = {"text/plain": repr, "text/html": lambda v: v._repr_html_(), "image/svg+xml": lambda v: v._repr_svg_()}


def outputs_of(source, names):
    """As Jupyter has them: what is printed, then the last expression in each form that it offers."""
    body = ast.parse(source).body
    shown = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, outputs, value = io.StringIO(), [], None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if shown:
            value = eval(compile(ast.Expression(shown.value), "cell", "eval"), names)
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        has = {"text/plain": True, "text/html": hasattr(value, "_repr_html_"), "image/svg+xml": hasattr(value, "_repr_svg_")}
        data = {form: write(value).splitlines(True) for form, write in FORMS.items() if has[form]}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def texts_of(outputs):
    return ["".join(text) for output in outputs for text in ([output["text"]] if "text" in output else output["data"].values())]


def is_alike(a, b):
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (a, b)]
    is_picture = a.startswith("<svg") and b.startswith("<svg")  # which lays out what the other tests compare
    return is_picture or NUMBER.sub("#", a) == NUMBER.sub("#", b) and all(abs(x - y) <= 0.1 * max(abs(x), abs(y)) for x, y in zip(*numbers))


def cells_of(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def differences(file):
    """Lists each cell that shows something else than is stored: its source, what is stored, what it shows."""
    with open(file, encoding="utf-8") as text:
        notebook = json.load(text)
    names, wrong = {}, []
    for cell in cells_of(notebook):
        source = "".join(cell["source"])
        stored, found = texts_of(cell["outputs"]), texts_of(outputs_of(source, names))
        if len(stored) != len(found) or not all(map(is_alike, stored, found)):
            wrong.append((source, stored, found))
    return wrong if cells_of(notebook) else ["there are no cells"]


def update(file):
    with open(file, encoding="utf-8") as text:
        notebook = json.load(text)
    names = {}
    for i, cell in enumerate(cells_of(notebook)):
        cell["execution_count"] = i + 1
        cell["outputs"] = outputs_of("".join(cell["source"]), names)
        for output in cell["outputs"]:
            if "execution_count" in output:
                output["execution_count"] = i + 1
    with open(file, "w", encoding="utf-8") as text:
        text.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if sys.argv[2:] == ["--update"]:
        update(sys.argv[1])
    else:
        sys.exit("\n".join(map(str, differences(sys.argv[1]))) or 0)
