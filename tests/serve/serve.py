#!/usr/bin/env python3
"""tests/serve/serve.py TSIM [long] - tsim serve as its users and its enemies meet it: the answers are those of the commands, mistakes
are told at their places, and nothing that a request holds reaches a file, another request or the server."""
import contextlib, http.client, json, os, re, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time
from pathlib import Path

tsim = os.path.realpath(sys.argv[1])
root = Path(__file__).resolve().parents[2]
whole = (root / "scenarios/llama70b.yaml").read_bytes()
scenario = re.sub(rb"(?m)^model: llama2-70b", b"model: {extends: llama2-70b, layers: 20}", whole)  # is answered in a third of the time
is_long = sys.argv[2:] == ["long"]
SMALL = b"schema: tsim/v1\nname: small\nmodel: gpt2-small\ncluster: {node: single-a100-80gb, nodes: 1}\n"
LONG = "vary=cluster.nodes=16,32,48,64,96,128,192,256,384,512&any-software&vary=cluster.node=dgx-h100,dgx-a100,dgx-b200"
slowness = float(os.environ.get("TSIM_TEST_SLOWNESS", 1))
passed = failed = 0


def check(what, holds, found=""):
    global passed, failed
    if holds:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {what}: {str(found)[:600]}")


@contextlib.contextmanager
def serving(*options, folder=None):
    """The port of a server, in a folder of its own."""
    with tempfile.TemporaryDirectory() as own:
        process = subprocess.Popen([tsim, "serve", "--port", "0", *options], cwd=folder or own, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        address = process.stdout.readline().strip()
        try:
            yield Server(process, address)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


class Server:
    def __init__(self, process, address):
        self.process, self.address = process, address
        self.port = int(re.search(r":(\d+)/", address).group(1))

    def ask(self, path, body=None, headers=None, method=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120 * slowness)
        try:
            connection.request(method or ("GET" if body is None else "POST"), path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def raw(self, data, timeout=30):
        """Whatever comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            with contextlib.suppress(OSError): # the server may have closed it before
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                return s.makefile("rb").read()
        return b""


def processes(server):
    """Those that answer, also where they wait for a request."""
    return set(Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split())


def wait_until(holds):
    """Whether it comes to hold, in a time that is long for what is waited for."""
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05 * slowness)
    return False


def command(*arguments, body=scenario):
    return subprocess.run([tsim, *arguments], input=body, capture_output=True, cwd="/").stdout


def without_simulator(answer):
    return re.sub(rb'^  "simulator": .*\n|"simulator":{.*?}', b"", answer, flags=re.M)


def test_answers(server):
    for name, body, query, options in [
            ("run", scenario, "", []), ("run", scenario, "?set=cluster.nodes=64&set=parallelism.data=auto", ["--set", "cluster.nodes=64", "--set", "parallelism.data=auto"]),
            ("run", SMALL, "?seed=3", ["--seed", "3"]), ("run", (root / "tests/golden/campaign.yaml").read_bytes(), "", []),
            ("run", scenario, "?set=training.micro_batch_size=32&ignore-memory=0", ["--set", "training.micro_batch_size=32"]), # does not fit
            ("check", scenario, "", []), ("explain", scenario, "", []), ("explain", scenario, "?term=mfu", ["TERM"]),
            ("scale", scenario, "?gpus=512,1024&weak", ["--gpus", "512,1024", "--weak"]),
            ("sweep", scenario, "?vary=parallelism.tensor=4,8&set=parallelism.data=auto", ["--vary", "parallelism.tensor=4,8", "--set", "parallelism.data=auto"]),
            ("plan", scenario, "?vary=cluster.nodes=4", ["--vary", "cluster.nodes=4"]),
            ("buy", b"", "?model=gpt2-xl&tokens=10G&deadline=60%20days&vary=cluster.nodes=1",
             ["--model=gpt2-xl", "--tokens=10G", "--deadline=60 days", "--vary", "cluster.nodes=1"])]:
        database = ["--no-db"] if name in ("run", "scale", "sweep") else []
        operands = ["-", "mfu"] if "TERM" in options else ["-"] if body else []
        expected = command(name, "--json", *database, *[o for o in options if o != "TERM"], *operands, body=body)
        status, answer = server.ask(f"/api/{name}{query}", body)
        check(f"{name}{query} is answered as the command does", status == 200 and without_simulator(answer) == without_simulator(expected) and answer, (status, answer))
    resolved = json.loads(server.ask("/api/check", scenario)[1])
    status, answer = server.ask("/api/run", json.dumps(resolved).encode())
    check("a scenario in JSON runs as well", status == 200 and without_simulator(answer) == without_simulator(command("run", "--json", "--no-db", "-")), answer)
    pair = json.dumps({"a": scenario.decode(), "b": resolved})
    status, answer = server.ask("/api/compare?set=cluster.nodes=64&set=parallelism.data=auto", pair)
    check("two scenarios are compared", status == 200 and json.loads(answer)["step_change"] == 0, answer)
    status, answer = server.ask("/api/compare", json.dumps({"a": scenario.decode(), "b": scenario.decode().replace("nodes: 128", "nodes: 64")}))
    change = json.loads(answer).get("step_change", 0)
    check("and differ where they do", change > 0.5, answer)
    for path, arguments in [("/api/catalogue", ["list"]), ("/api/catalogue?kind=models", ["list", "models"]), ("/api/show?id=model/llama2-70b", ["show", "model/llama2-70b"])]:
        check(f"{path} is the catalogue", server.ask(path)[1] == command(*arguments, "--json"), path)
    check("a scenario of the catalogue is its text", server.ask("/api/scenario?id=llama70b")[1] == whole)
    svg = server.ask("/api/export?format=svg&chart=memory", scenario)
    check("a chart is a picture", svg[0] == 200 and svg[1].startswith(b"<svg"), svg)
    drawings = {"passes": "The pipeline ", "kernels": "kernel by kernel", "tables": "Roofline"}
    for part in drawings:
        charts = json.loads(server.ask(f"/view/run?parts={part}", scenario)[1])["view"]["charts"]
        drawn = [name for name in drawings if drawings[name] in charts]
        check(f"a view of {part} draws them alone", drawn == [part], drawn)
    page = server.ask("/api/report", scenario)
    check("a report is one file", page[0] == 200 and page[1].startswith(b"<!DOCTYPE html>") and b"id=\"runs-0-step\"" in page[1], page)


def test_mistakes(server):
    status, answer = server.ask("/api/run", b"schema: tsim/v1\nname: x\nmodel: llama2-70\ncluster:\n  node: dgx-h100\n  nodse: 3\n")
    found = [(d["line"], d["column"], d["severity"]) for d in json.loads(answer)["diagnostics"]]
    check("every mistake has its place", status == 422 and found == [(3, 8, "error"), (6, 3, "error")], answer)
    check("and what would be right", "llama2-70b" in json.loads(answer)["diagnostics"][0]["hint"], answer)
    for what, path, body, expected in [
            ("no scenario", "/api/run", b"", 422), ("no YAML", "/api/run", b"\x00\xff", 422), ("no scenario but a list", "/api/check", b"[1, 2]", 422),
            ("an unknown option", "/api/run?trace=/tmp/x", SMALL, 400), ("an option of another command", "/api/run?weak", SMALL, 400), ("a file to write", "/api/run?report=/tmp/x", SMALL, 400),
            ("a database", "/api/run?db=/tmp/x.db", SMALL, 400), ("a wrong value", "/api/scale?gpus=x", SMALL, 400), ("an unknown term", "/api/explain?term=nothing", SMALL, 400),
            ("a wrong setting", "/api/run?set=cluster.nodes=many", SMALL, 422), ("half a pair", "/api/compare", b"{\"a\": 1}", 400), ("no pair", "/api/compare", b"a: b", 400),
            ("a log without a database", "/api/run?log", SMALL, 403), ("runs without a database", "/api/runs", None, 403), ("an unknown scenario", "/api/scenario?id=../README", None, 404)]:
        status, answer = server.ask(path, body)
        told = json.loads(answer)["diagnostics"]
        check(f"{what} is told", status == expected and told and told[0]["message"], (status, answer))
    for path, method, expected in [("/api/nothing", "GET", 404), ("/api/run", "GET", 405), ("/api/schema", "POST", 405), ("/../../etc/passwd", "GET", 404), ("/%2e%2e/etc/passwd", "GET", 404), ("/report.js/../x", "GET", 404), ("/", "DELETE", 404)]:
        status, _ = server.ask(path, b"" if method == "POST" else None, method=method)
        check(f"{method} {path}", status == expected, status)


def conforms(value, schema):
    """As much of JSON Schema as ours uses."""
    types = schema.get("type", [])
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int}
    if types and not any(isinstance(value, kinds[t]) and (t in ("boolean",) or not isinstance(value, bool)) for t in ([types] if isinstance(types, str) else types)):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if schema.get("additionalProperties") is False and not set(value) <= set(known):
            return False
        if "anyOf" in schema and not any(set(s["required"]) <= set(value) for s in schema["anyOf"]):
            return False
        return all(conforms(v, known.get(k, {})) for k, v in value.items())
    return not isinstance(value, list) or all(conforms(v, schema.get("items", {})) for v in value)


def test_schema(server):
    schema = json.loads(server.ask("/api/schema")[1])
    for file in ["scenarios/llama70b.yaml", "scenarios/dlrm.yaml", "scenarios/t5-11b.yaml", "tests/golden/campaign.yaml", "scenarios/input/resnet50-nvme.yaml"]:
        resolved = json.loads(command("check", "--json", str(root / file)))
        check(f"{file} with all its keys is of the schema", conforms(resolved, schema))
        check("a key more is not", not conforms({**resolved, "modle": 1}, schema))
    check("nor is a word more", not conforms({**resolved, "training": {"precision": "bf61"}}, schema))
    check("nor a number without a unit", not conforms({**resolved, "cost": {"rent": 3}}, schema) and conforms({**resolved, "cost": {"rent": "3 USD/h"}}, schema))
    check("what is missing is said", not conforms({"schema": "tsim/v1", "name": "x"}, schema) and conforms({"extends": "llama70b"}, schema))


def test_strangers(server):
    host = {"Host": f"127.0.0.1:{server.port}"}
    for what, headers, expected in [("another origin", {"Origin": "http://evil.example"}, 403), ("no origin at all", {"Origin": "null"}, 403), ("another name", {"Host": "evil.example"}, 403),
                                    ("a name like ours", {"Host": "127.0.0.1.evil.example"}, 403), ("another site", {**host, "Sec-Fetch-Site": "cross-site"}, 403),
                                    ("another port", {**host, "Origin": f"http://127.0.0.1:{server.port + 1}"}, 403), ("the page itself", {**host, "Origin": f"http://127.0.0.1:{server.port}"}, 200),
                                    ("localhost", {"Host": f"localhost:{server.port}"}, 200), ("a form", {"Content-Type": "multipart/form-data; boundary=x"}, 415)]:
        status, _ = server.ask("/api/check", SMALL, headers)
        check(f"a request of {what}", status == expected, status)
    secret = tempfile.NamedTemporaryFile("w", suffix=".yaml")
    secret.write("hunter2: hunter2\n")
    secret.flush()
    for key in ["extends: {}", "model: {}", "cluster: {{node: {}}}", "energy: {{price_profile: {}}}"]:
        told = []
        for file in [secret.name, secret.name.replace(".yaml", "-not.yaml")]:
            base = SMALL if not key.startswith(("model", "cluster")) else SMALL.replace(b"model: gpt2-small\n" if key.startswith("model") else b"cluster: {node: single-a100-80gb, nodes: 1}\n", b"")
            status, answer = server.ask("/api/check", base + key.format(file).encode() + b"\n")
            told.append(answer.replace(file.encode(), b"FILE"))
            check(f"{key.format('a file')} is refused", status == 422 and b"hunter2" not in answer, answer)
        check("and nobody learns whether it is there", told[0] == told[1], told)
    secret.close()
    for what, data in [("no HTTP", b"\x16\x03\x01\x02\x00\x01\n\n"), ("half a line", b"GET / HT"), ("no host", b"GET / HTTP/1.1\r\n\r\n"), ("a broken chunk", b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                       ("a negative length", b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"), ("a long header", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100000 + b"\r\n\r\n"),
                       ("a body that ends early", b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc"), ("a long path", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")]:
        answer = server.raw(data)
        check(f"{what} is no reason to answer", not answer.startswith(b"HTTP/1.1 2"), answer)
    check("a large body is refused before it is sent", b" 413 " in server.raw(b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n").split(b"\r\n")[0])
    answer = server.raw(b"POST /api/plan HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(scenario) + scenario)
    check("one who stops listening before the answer is told that, and of no limit of time", b" 503 " in answer.split(b"\r\n")[0] and b"closed its side" in answer, answer)
    chunk = b"10000\r\n" + b"#" * 0x10000 + b"\r\n"
    answer = server.raw(b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + 40 * chunk + b"0\r\n\r\n")
    check("so is one that does not say how large it is", not answer.startswith(b"HTTP/1.1 2"), answer)
    check("and the server goes on", server.ask("/api/check", SMALL)[0] == 200)
    text = b"</script><img src=x onerror=alert(1)>"
    status, answer = server.ask("/view/run", SMALL + b"description: '" + text + b"'\n")
    check("names are no markup", status == 200 and b"<img" not in answer, answer)
    answer = server.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    check("the page runs no script but its own", b"Content-Security-Policy: default-src 'none'; script-src 'self';" in answer and b"onclick=" not in answer)


def test_slow_clients(server):
    clients = []
    for _ in range(100):
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nsch")
        clients.append(s)
    check("a hundred clients that send nothing more delay nobody", server.ask("/api/run", SMALL)[0] == 200)
    for i in range(500):  # more than the server takes in all
        s = socket.create_connection(("127.0.0.1", server.port))
        s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-%d: " % i)
        clients.append(s)
    began = time.monotonic()
    check("nor do hundreds that never end their headers", all(server.ask("/api/run", SMALL)[0] == 200 for _ in range(3)) and time.monotonic() - began < 10 * slowness)
    for s in clients[-100:]:
        with contextlib.suppress(OSError):
            s.sendall(b"x")
    check("who sends a byte now and then is served when he has sent all", "200" in complete(clients[-1]))
    for s in clients:
        s.close()


def complete(client):
    client.sendall(b"\r\nConnection: close\r\n\r\n")
    return client.makefile("rb").readline().decode()


def test_load(server):
    expected = without_simulator(command("run", "--json", "--no-db", "-", body=SMALL))
    answers = []
    def ask():
        with contextlib.suppress(OSError):
            answers.append(server.ask("/api/run", SMALL))
    n = 100 if is_long else 20
    threads = [threading.Thread(target=ask) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    good = sum(status == 200 and without_simulator(answer) == expected for status, answer in answers)
    check("many requests at once are answered alike", good == n, (good, [a for a in answers if a[0] != 200][:2]))


def test_processes(server):
    asked = [("/api/run", SMALL), ("/api/check", b"schema: tsim/v1\nmodel: nothing\n"), ("/api/run?set=training.global_batch_size=64", SMALL), ("/api/show?id=model/nothing", None), ("/view/run?parts=", SMALL),
             ("/api/compare", json.dumps({"a": SMALL.decode(), "b": SMALL.decode()})), ("/api/run", b""), ("/api/export?format=svg&chart=step", SMALL), ("/api/explain?term=nothing", SMALL), ("/api/catalogue?kind=models", None)]
    def ask_all(order):
        answers = {i: server.ask(*asked[i]) for i in order}
        return [(answers[i][0], without_simulator(answers[i][1])) for i in range(len(asked))]
    first, others = ask_all(range(len(asked))), [ask_all(reversed(range(len(asked)))), ask_all(sorted(range(len(asked)), key=lambda i: i * 7 % 10))]
    check("an answer is the same whatever was asked before", others == [first, first], others)
    known = processes(server)
    check("processes go on", server.ask("/api/run", SMALL)[0] == 200 and processes(server) == known, processes(server) ^ known)
    for pid in known:
        os.kill(int(pid), signal.SIGSEGV)
    check("waiting ones that end are replaced", wait_until(lambda: not processes(server) & known) and all(server.ask("/api/run", SMALL)[0] == 200 for _ in range(5)) and processes(server), processes(server))
    answers, long = [], whole + b"simulation: {fold: off}\n"
    busy = threading.Thread(target=lambda: answers.append(server.ask("/api/run?set=cluster.nodes=512&set=parallelism.data=auto", long)))
    busy.start()
    time.sleep(0.3 * slowness)
    for pid in processes(server):
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "R":
            os.kill(int(pid), signal.SIGSEGV)
    busy.join()
    check("one that crashes loses its own request alone", answers[0][0] == 500 and server.ask("/api/run", SMALL)[0] == 200, answers)


def test_replaced():
    with serving("--jobs", "1") as server:
        check("a scenario of the catalogue", server.ask("/api/scenario?id=llama70b")[1] == whole)
        known, connection = processes(server), http.client.HTTPConnection("127.0.0.1", server.port, timeout=60 * slowness)
        for _ in range(1000):
            connection.request("GET", "/api/scenario?id=llama70b")
            if connection.getresponse().read() != whole:
                check("a thousand answers are all right", False)
                break
        connection.close()
        check("after a thousand answers another process takes the place", len(known) == 1 and not known & processes(server), (known, processes(server)))


def test_slow_searches(server):
    ended = []
    searches = [threading.Thread(target=lambda: ended.append(server.ask("/api/plan?vary=cluster.nodes=32,64", scenario)[0])) for _ in range(3)]
    for t in searches:
        t.start()
    statuses = [server.ask("/api/run", SMALL)[0] for _ in range(5)]
    check("searches do not hold up runs", statuses == [200] * 5 and len(ended) < 3, (statuses, ended))
    for t in searches:
        t.join()
    check("and all of them are answered", ended == [200] * 3, ended)


def test_searches(server):
    idle = processes(server)
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"POST /api/plan?%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (LONG.encode(), len(scenario)) + scenario)
        began = wait_until(lambda: processes(server) - idle)
    check("a search whose asker went away is stopped", began and wait_until(lambda: processes(server) <= idle), (processes(server), idle))
    status, answer = server.ask("/api/plan?progress&vary=cluster.nodes=32", scenario)
    lines = [json.loads(line) for line in answer.splitlines()]
    expected = json.loads(command("plan", "--json", "--vary", "cluster.nodes=32", "-"))
    check("a search says how far it is, then what it found", status == 200 and all(0 <= l["progress"]["done"] <= l["progress"]["of"] for l in lines[:-1]) and len(lines) > 2 and lines[-1]["answer"] == expected and lines[-1]["status"] == 200, answer[-300:])
    lines = server.ask("/api/plan?progress", SMALL.replace(b"gpt2-small", b"gpt2-smal"))[1].splitlines()
    check("or why it found nothing", json.loads(lines[-1])["status"] == 422, lines)


def test_limits():
    with serving("--timeout", "300 ms", "--max-memory", "3 MB") as server:
        status, answer = server.ask("/api/plan?" + LONG, scenario)
        check("an answer that takes too much is none", status in (504, 507), (status, answer))
        status, answer = server.ask("/api/check", SMALL)
        check("a small one beside it is", status == 200, (status, answer))
    with serving("--timeout", "50 ms") as server:
        status, answer = server.ask("/api/plan?" + LONG, scenario)
        check("a search that takes too long is stopped", status == 504 and b"0.05 s" in answer, (status, answer))
        spent_s = sum(int(ticks) for ticks in Path(f"/proc/{server.process.pid}/stat").read_text().split()[15:17]) / os.sysconf("SC_CLK_TCK")
        check("when it is", spent_s < 2 * slowness, spent_s)
    with serving("--max-memory", "1 MB") as server:
        status, answer = server.ask("/api/run", scenario)
        check("a run that takes too much memory is stopped", status == 507 and b"0.001 GB" in answer, (status, answer))


def test_database():
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder, "runs.db")
        with serving("--db", str(database), folder=folder) as server:
            check("a run that nobody asked to log is not there", server.ask("/api/run", SMALL)[0] == 200 and json.loads(server.ask("/api/runs")[1]) == {"runs": [], "sweeps": []})
            ids = [json.loads(server.ask("/api/run?log", SMALL)[1])["run_id"] for _ in range(5)]
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
        with contextlib.closing(sqlite3.connect(database)) as db:
            kept = [row[0] for row in db.execute("SELECT run_id FROM runs ORDER BY run_id")]
        check("what was answered as logged is there after a kill", kept == ids == [1, 2, 3, 4, 5], (kept, ids))
        with serving("--db", str(database), "--read-only", folder=folder) as server:
            check("a server that only reads logs nothing", server.ask("/api/run?log", SMALL)[0] == 403)
            status, answer = server.ask("/api/runs")
            check("and lists what there is", status == 200 and answer == command("runs", "--json", "--db", str(database)), answer)
            check("and shows it", json.loads(server.ask("/view/report?run=3")[1])["view"]["runs"][0]["summary"]["run_id"] == 3)


    with tempfile.TemporaryDirectory() as folder:
        with serving(folder=folder) as server:
            check("without a database nothing is written", server.ask("/api/run", SMALL)[0] == server.ask("/view/sweep?vary=training.global_batch_size=8,16", SMALL)[0] == 200 and not os.listdir(folder), os.listdir(folder))
        wrong = subprocess.run([tsim, "serve", "--port", "0", "--db", folder], capture_output=True, text=True)
        check("a database that cannot be one is told at once", wrong.returncode == 5 and folder in wrong.stderr and not wrong.stdout, wrong)


def test_token():
    with serving("--bind", "0.0.0.0") as server:
        token = re.search(r"\?token=([0-9a-f]{32})$", server.address)
        check("another address has a token", token, server.address)
        token = token.group(1)
        for what, path, headers, expected in [("no token", "/", {}, 401), ("no token for the API", "/api/schema", {}, 401), ("a wrong one", "/?token=" + "0" * 32, {}, 401), ("half of it", "/?token=" + token[:16], {}, 401),
                                              ("it in the address", "/?token=" + token, {}, 200), ("it in a header", "/api/schema", {"Authorization": "Bearer " + token}, 200), ("it in a cookie", "/api/schema", {"Cookie": "a=b; tsim_token=" + token}, 200),
                                              ("it and another origin", "/api/schema", {"Cookie": "tsim_token=" + token, "Origin": "http://evil.example"}, 403)]:
            status, _ = server.ask(path, headers=headers)
            check(f"a request with {what}", status == expected, status)
    with serving() as server:
        check("this machine's needs none", "token" not in server.address and server.address.startswith("http://127.0.0.1:"), server.address)
        second = subprocess.run([tsim, "serve", "--port", str(server.port)], capture_output=True, text=True)
        check("a port that is taken is said", second.returncode == 5 and str(server.port) in second.stderr, second)
    check("a port that is none is wrong usage", subprocess.run([tsim, "serve", "--port", "65536"], capture_output=True).returncode == 2)


def test_documentation(server):
    blocks = re.findall(r"^```sh server\n(.*?)^```", (root / "docs/serve.md").read_text(), re.S | re.M)
    commands = [line for block in blocks for line in block.splitlines()]
    check("docs/serve.md has examples", len(commands) > 10)
    for line in commands:
        done = subprocess.run(["bash", "-c", line.replace("http://127.0.0.1:8080/", server.address).replace("curl ", "curl --silent --fail ", 1)], capture_output=True, cwd=root)
        check(line, done.returncode == 0 and len(done.stdout) > 20, done.stderr)
    named = set(re.findall(r"/(api/\w+)", (root / "docs/serve.md").read_text()))
    paths = set(re.findall(r'"/(api/\w+)"', (root / "sim/cli/cmd_serve.c").read_text()))
    commands_named = re.search(r"^\| `POST /api/run`, (.*?) \|", (root / "docs/serve.md").read_text(), re.M).group(1)
    check("docs/serve.md names every address", paths <= named | {"api/" + c for c in re.findall(r"`(\w+)`", commands_named)}, paths - named)


with serving() as shared:
    for test in (test_answers, test_mistakes, test_schema, test_strangers, test_slow_clients, test_load, test_processes, test_searches, test_documentation, *([test_slow_searches] if is_long else [])):
        test(shared)
    check("the server has survived all that", shared.process.poll() is None)
for test in (*([test_replaced] if is_long else []), test_limits, test_database, test_token):
    test()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
