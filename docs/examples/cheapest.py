"""cheapest.py TSIM SCENARIO - tsim from Python through its JSON: one run, and the cheapest of some numbers of nodes.

Needs nothing but Python. The exit statuses are those of docs/guide.md: 4 is a result, too (it does not fit in memory).
"""

import json
import subprocess
import sys


def tsim(*arguments):
    """Returns what a command prints as JSON, and raises its messages where it fails."""
    done = subprocess.run([program, *arguments, "--json", "--no-db", "--quiet"], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


program, scenario = sys.argv[1:]

run = tsim("run", scenario)
print(f"{run['scenario']}: {run['step']['time_s']:.3f} s a step, MFU {run['throughput']['mfu']:.1%}")
for name, seconds in run["step"].items():
    if name != "time_s" and seconds > 0:
        print(f"  {name:<24} {seconds / run['step']['time_s']:6.1%}")

points = tsim("sweep", scenario, "--vary", "cluster.nodes=32,64,128")["points"]
fitting = [point for point in points if point["status"] == "ok"]
for point in fitting:
    campaign = point["summary"]["campaign"]
    nodes = point["set"]["cluster.nodes"]
    print(f"{nodes:4} nodes: {campaign['days']:6.1f} days, {campaign['rent_usd'] / 1e6:.2f} M USD")
best = min(fitting, key=lambda point: point["summary"]["campaign"]["rent_usd"])
print(f"cheapest: {best['set']['cluster.nodes']} nodes")
