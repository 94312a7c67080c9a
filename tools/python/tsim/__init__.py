"""tsim in Python: predict how a neural network trains on a cluster of accelerators.

    import tsim
    run = tsim.run("scenario.yaml", cluster__nodes=64)
    run["step"]["time_s"], run["throughput"]["mfu"]
    run.chart("step")                                   # a notebook shows it
    tsim.sweep("scenario.yaml", {"parallelism.tensor": [4, 8]}).frame()

A scenario is a file (a path), YAML (a text with a line break), or a dictionary. Keywords set its keys, with "__" for the
dots, and so does a dictionary as the second argument: {"cluster.nodes": 64} or {"cluster": {"nodes": 64}}. Values are those of the scenario's
file: numbers, texts such as "3 USD/h", True, lists.

Results are dictionaries, the same as the objects that `tsim COMMAND --json` prints (docs/guide.md). Nothing is written to a
database or a file. A mistake raises ScenarioError, whose text names file, line and column, and whose `diagnostics` hold them."""
import json
import os

from .binding import ScenarioError, TsimError, command, version
from .results import Chart, Result, Table, charts_of, flat

__all__ = ["run", "check", "explain", "compare", "sweep", "plan", "buy", "scale", "validate", "catalogue", "show", "command",
           "ScenarioError", "TsimError", "Result", "Table", "Chart", "version"]
__version__ = version()


def _ask(name, scenarios, rows, *, words=(), settings=None, overrides=None, vary=None, zip=None, charts=False, options=None):
    """A command as a Result; `rows` makes the table of its object."""
    texts = {}
    words = [*[_operand(s, n, texts) for n, s in scenarios.items()], *words, *_settings(settings, overrides or {}), *_axes("vary", vary), *_axes("zip", zip),
             *_options(options or {})]
    answer = command(name, *words, *(["--report=-"] if charts else []), texts=texts)
    value = json.loads(answer.text)
    draw = lambda chart: command("export", *words, "--format=svg", f"--chart={chart}", texts=texts).text
    return Result(value, answer, rows(value), charts_of(answer.view), draw if name == "run" else None)


def _operand(scenario, name, texts):
    """The word that stands for a scenario on the command line."""
    if isinstance(scenario, dict):
        texts[name] = json.dumps(scenario)
    elif isinstance(scenario, str) and "\n" in scenario:
        texts[name] = scenario
    else:
        return os.fspath(scenario)
    return name


def _flat_settings(settings, prefix=""):
    """{"cluster": {"nodes": 64}} as {"cluster.nodes": 64}."""
    paths = {}
    for key, value in settings.items():
        paths.update(_flat_settings(value, prefix + key + ".") if isinstance(value, dict) else {prefix + key: value})
    return paths


def _value(value):
    return value if isinstance(value, str) else json.dumps(value)


def _settings(settings, overrides):
    merged = _flat_settings(settings or {})
    merged.update(_flat_settings({key.replace("__", "."): value for key, value in overrides.items()}))
    return [f"--set={path}={_value(value)}" for path, value in merged.items()]


def _axes(option, axes):
    listed = lambda values: values if isinstance(values, str) else ",".join(_value(v) for v in values)
    return [f"--{option}={path}={listed(values)}" for path, values in (axes or {}).items()]


def _options(options):
    """Options with a value, bare ones (True), and those that are not given (None, False)."""
    words = []
    for name, value in options.items():
        if value is True:
            words.append("--" + name.replace("_", "-"))
        elif value is not None and value is not False:
            listed = value if isinstance(value, (str, int, float)) else ",".join(str(v) for v in value)
            words.append(f"--{name.replace('_', '-')}={listed}")
    return words


def _point(point):
    """A point or a plan as a row: what was set, then its figures."""
    row = {**point.get("set", {}), **point.get("summary", {}), **{k: v for k, v in point.items() if k not in ("set", "summary")}}
    return flat(row)


def _whole(value):
    return [flat(value)]


def run(scenario, settings=None, /, *, seed=None, ignore_memory=False, **overrides):
    """One run: step time, throughput, memory, campaign, cost. Where it does not fit, result["memory"]["fits"] is False, and there is no
    step (ignore_memory simulates it all the same)."""
    return _ask("run", {"scenario": scenario}, _whole, settings=settings, overrides=overrides, options={"seed": seed, "ignore_memory": ignore_memory})


def check(scenario, settings=None, /, **overrides):
    """The scenario with every default filled in."""
    return _ask("check", {"scenario": scenario}, _whole, settings=settings, overrides=overrides)


def explain(scenario, /, term=None, settings=None, **overrides):
    """Where the step and the memory go; of a term ("mfu", "step.compute_s") the formulas, down to each source."""
    return _ask("explain", {"scenario": scenario}, _whole, words=[term] if term else [], settings=settings, overrides=overrides)


def compare(a, b, settings=None, /, *, sensitivity=False, charts=False, **overrides):
    """Two scenarios: what differs, and what that changes. A row of the table is a term of the step's time."""
    return _ask("compare", {"A": a, "B": b}, lambda v: v["waterfall"], settings=settings, overrides=overrides, charts=charts, options={"sensitivity": sensitivity})


def sweep(scenario, /, vary=None, settings=None, *, zip=None, where=None, objective=None, ignore_memory=False, jobs=None, charts=False, **overrides):
    """Every point of a space: vary={"parallelism.tensor": [4, 8]}, or the scenario's own `sweep:` section. A row of the table is a
    point."""
    return _ask("sweep", {"scenario": scenario}, lambda v: [_point(p) for p in v["points"]], settings=settings, overrides=overrides, vary=vary, zip=zip, charts=charts,
                options={"where": where, "objective": objective, "ignore_memory": ignore_memory, "jobs": jobs})


def plan(scenario, /, vary=None, settings=None, *, zip=None, objective=None, any_software=False, sensitivity=False, jobs=None, charts=False, **overrides):
    """The best plans (how a model is cut and placed), over machines where `vary` names some. Ctrl-C ends a long search."""
    return _ask("plan", {"scenario": scenario}, lambda v: [_point(p) for p in v["best"]], settings=settings, overrides=overrides, vary=vary, zip=zip, charts=charts,
                options={"objective": objective, "any_software": any_software, "sensitivity": sensitivity, "jobs": jobs})


def buy(scenario=None, settings=None, /, *, model=None, tokens=None, deadline=None, budget=None, vary=None, objective=None, jobs=None, charts=False, **overrides):
    """Decides what to rent, reserve or buy for a job: buy(model="llama3-70b", tokens="15T", deadline="90 days", budget="20 M USD"). A row of the
    table is a way to do it, the best one first."""
    return _ask("buy", {} if scenario is None else {"scenario": scenario}, lambda v: [_point(d) for d in [v["decision"], *v["alternatives"]] if d], settings=settings, overrides=overrides, vary=vary, charts=charts,
                options={"model": model, "tokens": tokens, "deadline": deadline, "budget": budget, "objective": objective, "jobs": jobs})


def scale(scenario, /, gpus=None, settings=None, *, weak=False, until_efficiency=None, jobs=None, charts=False, **overrides):
    """The same job on more and more accelerators: a row of the table is a number of them."""
    return _ask("scale", {"scenario": scenario}, lambda v: [_point(r) for r in v["rows"]], settings=settings, overrides=overrides, charts=charts,
                options={"gpus": gpus, "weak": weak, "until_efficiency": until_efficiency, "jobs": jobs})


def validate(*scenarios, jobs=None, ignore_memory=False):
    """Predicted beside measured, of scenarios that have a `measured:` section: a row of the table is a measured figure."""
    return _ask("validate", {f"scenario-{i + 1}": s for i, s in enumerate(scenarios)}, lambda v: v["cases"], options={"jobs": jobs, "ignore_memory": ignore_memory})


def catalogue(kind=None):
    """The ids of the catalogue, by kind: of all kinds, or of one ("models", "nodes", "regions", ...)."""
    return json.loads(command("list", *([kind] if kind else [])).text)


def show(entry):
    """One entry of the catalogue, each value with its source: show("accelerator/h100-sxm")."""
    return json.loads(command("show", entry).text)
