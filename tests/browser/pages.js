// The pages in a browser: nothing on the console, charts drawn with data, the Gantt zooms and tells, keys switch, tables sort
// and filter, text stays text, both themes, print, and charts without scripts. node pages.js CHROMIUM FOLDER
"use strict";
const assert = require("assert"), fs = require("fs");
const {chromium} = require("playwright-core");
const [executablePath, folder] = process.argv.slice(2);
let passed = 0;

async function open(browser, file, theme) {
  const page = await browser.newPage({viewport: {width: 1200, height: 900}, colorScheme: theme});
  page.on("console", m => {
    throw new Error(`${file}: ${m.type()}: ${m.text()}`);
  });
  page.on("pageerror", e => {
    throw new Error(`${file}: ${e.message}`);
  });
  page.on("dialog", d => {
    throw new Error(`${file}: a script of the scenario ran: ${d.message()}`);
  });
  page.on("request", r => {
    if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) throw new Error(`${file} asks for ${r.url()}`);
  });
  await page.goto(`file://${folder}/${file}`);
  return page;
}
// Each drawing has a name, so many shapes beside its keys, and so many colours of these together.
const charts = page => page.evaluate(
    () => [...document.querySelectorAll("figure.chart > svg")]
              .filter(s => s.getBoundingClientRect().width > 0)
              .map(s => {
                const shapes = [...s.querySelectorAll("rect:not(.paper), circle, path, line")].filter(
                          e => !e.closest(".key")),
                      style = e => getComputedStyle(e);
                return {
                  name: s.getAttribute("aria-label").split(":")[0],
                  shapes: shapes.length,
                  colours: new Set(shapes.flatMap(e => [style(e).fill, style(e).stroke]).filter(c => c !== "none")).size
                };
              }));
const drawn = (c, name) => assert(c && c.shapes > 1 && c.colours > 0, `${name}: ${JSON.stringify(c)}`);
async function test(name, f) {
  await f();
  passed++;
  console.log("ok", name);
}

(async () => {
  const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
  for (const theme of ["light", "dark"])
    await test(`a run's charts are drawn, ${theme}`, async () => {
      const page = await open(browser, "run.html", theme), all = await charts(page);
      assert.deepStrictEqual(all.map(c => c.name), [
        "Where the step goes", "Memory by pipeline stage", "The pipeline and its communication over time",
        "Layer 61, kernel by kernel", "Roofline", "Links by load, of capacity over the step",
        "Change of the step's time", "Days of the whole run", "The run's cost, owned and rented"
      ]);
      for (const c of all) drawn(c, c.name);
      assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      const ink = () => page.evaluate(
          () => [getComputedStyle(document.querySelector(".chart .ink")).fill, getComputedStyle(document.body).color]);
      const before = await ink();
      assert.strictEqual(before[0], before[1]);
      await page.click("#theme");
      assert.notStrictEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      const after = await ink();  // pictures follow the page's theme, not the system's
      assert.strictEqual(after[0], after[1]);
      assert.notStrictEqual(after[0], before[0]);
      await page.close();
    });
  await test("colour-blind people tell the colours apart", async () => {
    // How red, green and blue light is seen without one kind of cone: Machado, Oliveira and Fernandes 2009, severity 1. Distances are CIE 1976 (L*a*b*).
    const KINDS = {
      deuteranopia: [[.367322, .860646, -.227968], [.280085, .672501, .047413], [-.01182, .04294, .968881]],
      protanopia: [[.152286, 1.052583, -.204868], [.114503, .786281, .099216], [-.003882, -.048116, 1.051998]],
      tritanopia: [[1.255528, -.076749, -.178779], [-.078411, .930809, .147602], [.004733, .691367, .3039]],
      none: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    };
    const times = (m, v) => m.map(row => row.reduce((sum, x, i) => sum + x * v[i], 0)),
          XYZ = [[.4124, .3576, .1805], [.2126, .7152, .0722], [.0193, .1192, .9505]], WHITE = [.9505, 1, 1.089];
    const linear = c => (c /= 255, c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4),
          root = t => t > .008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116;
    const lab = light => {
      const [x, y, z] = times(XYZ, light.map(c => Math.min(1, Math.max(0, c)))).map((c, i) => root(c / WHITE[i]));
      return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
    };
    for (const theme of ["light", "dark"]) {
      const page = await open(browser, "run.html", theme), fills = await page.evaluate(() => {
        const rect = document.querySelector("figure.chart > svg")
                         .appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
        return [...Array(10).keys()].map(i => {
          rect.setAttribute("class", "k" + i);
          return getComputedStyle(rect).fill.match(/\d+/g).map(Number);
        });
      });
      for (const [kind, seen] of Object.entries(KINDS)) {
        const colours = fills.map(rgb => lab(times(seen, rgb.map(linear))));
        colours.forEach(
            (a, i) => colours.slice(0, i).forEach(
                (b, k) => assert(Math.hypot(...a.map((x, d) => x - b[d])) > 20, `k${k} and k${i}, ${theme}, ${kind}`)));
      }
      await page.close();
    }
  });
  await test("a whole run with failures is drawn", async () => {
    const page = await open(browser, "campaign.html", "light"), all = await charts(page);
    for (const name
             of ["Days of the whole run", "One run over its days", "Power of the facility over one run",
                 "Accelerator hours lost by cause", "The run's cost, owned and rented"])
      drawn(all.find(c => c.name === name), name);
    const dots = await page.locator("#runs-0-days circle")
                     .evaluateAll(dots => dots.map(d => ({x: +d.getAttribute("cx"), hint: d.dataset.hint})));
    assert.deepStrictEqual(
        dots.map(d => d.hint.replace(/[\d.]+ days/, "")),
        ["one in ten within ", "half within ", "nine in ten within "]);
    assert(dots[0].x < dots[1].x && dots[1].x < dots[2].x, JSON.stringify(dots));
    await page.close();
  });
  await test("the step has its interval", async () => {
    const page = await open(browser, "run.html", "light"), card = await page.locator(".card").first().innerText();
    const [step, low, high] = card.match(/[\d.]+\sm?s/g).map(parseFloat);
    assert(card.startsWith("step time") && low < step && step < high, card);
    assert.match(await page.locator("article p.soft").nth(1).innerText(), /^90 % interval from \d+/);
    const bars = await page.locator("#runs-0-step svg").evaluate(svg => {
      const right = r => +r.getAttribute("x") + +r.getAttribute("width"),
            rects = [...svg.querySelectorAll("rect[data-hint]")], y = rects[0].getAttribute("y");
      const [line] = svg.querySelectorAll("g.interval line"), whole = rects.filter(r => r.getAttribute("y") === y);
      return {
        from: +line.getAttribute("x1"),
        to: +line.getAttribute("x2"),
        left: +rects[0].getAttribute("x"),
        end: Math.max(...whole.map(right))
      };
    });
    assert(
        Math.abs((bars.from - bars.left) / (bars.end - bars.left) - low / step) < .01 &&
            Math.abs((bars.to - bars.left) / (bars.end - bars.left) - high / step) < .01,
        JSON.stringify(bars));
    await page.close();
  });
  await test("a comparison falls from A's step to B's", async () => {
    const page = await open(browser, "compare.html", "light"), all = await charts(page);
    const fall = await page.locator("#comparisons-0-waterfall rect[data-hint]")
                     .evaluateAll(bars => bars.map(b => ({
                                                     from: +b.getAttribute("x"),
                                                     to: +b.getAttribute("x") + +b.getAttribute("width"),
                                                     kind: b.getAttribute("class"),
                                                     text: b.dataset.hint
                                                   })));
    drawn(all.find(c => c.name === "From A's step to B's"), "waterfall");
    assert.deepStrictEqual([fall[0].kind, fall[fall.length - 1].kind], ["k0", "k0"]);
    let end = fall[0].to;  // each bar begins where the one before has ended; the last one ends where B does
    for (const b of fall.slice(1, -1)) {
      assert(Math.abs((b.kind === "k3" ? b.from : b.to) - end) < 1.5, JSON.stringify(fall));
      end = b.kind === "k3" ? b.to : b.from;
    }
    assert(Math.abs(end - fall[fall.length - 1].to) < 2, JSON.stringify(fall));
    const steps = (await page.locator(".card:has-text('step time') b").allInnerTexts());
    assert.deepStrictEqual(steps, [fall[0].text, fall[fall.length - 1].text]);
    const inputs = await page.locator("h2:text('What differs in the inputs') + .scroll tbody td:first-child")
                       .allInnerTexts()
                       .then(all => all.map(t => t.replace(/\u200b/g, "")));
    assert(
        inputs.includes("model") && inputs.includes("cluster.node") && !inputs.some(p => p.startsWith("model.")),
        `${inputs}`);  // what an entry of the catalogue brings along is folded away
    assert(await page.locator("section:has(h2:text('What differs in the inputs')) details tbody tr").count() > 5);
    const told = await page.locator("h2:text('What differs in the inputs') + .scroll tbody tr")
                     .allInnerTexts()
                     .then(all => all.map(t => t.replace(/\u200b/g, "").split("\t")));
    const of = (path, side) => told.find(r => r[0] === path)[side];
    assert.deepStrictEqual(
        [
          of("training.tokens", 1), of("reliability.node_mtbf", 2), of("reliability.checkpoint.interval", 2),
          of("reliability.preemption.rate", 2)
        ],
        ["2 T", "3,500 h", "30 min", "0.0002 /h"]);
    assert(!/[+-]0\.0 %/.test(await page.locator("article").first().innerText()));
    await page.close();
  });
  await test("text stays text", async () => {
    const page = await open(browser, "run.html", "light");
    assert.strictEqual(await page.locator("main img, main script").count(), 0);
    assert((await page.locator("article p").first().textContent()).startsWith("</script><script>alert(1)"));
    await page.close();
  });
  await test("the pipeline zooms down to kernels", async () => {
    const page = await open(browser, "run.html", "light"), kernel = page.locator("#runs-0-streams .kernel").first();
    assert(!await kernel.isVisible());
    await page.click("button:has-text('zoom to kernels')");
    for (let i = 0; i < 5; i++) await page.click("button:has-text('zoom in')");
    const boxes = [];
    for (const k of await page.locator("#runs-0-streams .kernel").all()) boxes.push(await k.boundingBox());
    assert(boxes.some(b => b.width > 20), "a kernel can be seen");
    await page.click("button:has-text('show everything')");
    assert(!await kernel.isVisible());
    assert(await page.locator("#runs-0-layer rect").count() > 20);
    await page.close();
  });
  await test("the pipeline zooms, moves and tells", async () => {
    const page = await open(browser, "run.html", "light"), gantt = page.locator("#runs-0-streams > svg"),
          plot = gantt.locator(".plot");
    const range = async () => {
      const [x, , width] = (await plot.getAttribute("viewBox")).split(" ").map(Number);
      return [x, x + width];
    };
    await page.click("button:has-text('show everything')");
    const whole = await range(), ticks = () => gantt.locator(".tick").allTextContents(), labels = await ticks();
    await gantt.scrollIntoViewIfNeeded();
    assert(await plot.locator(".aside").count() > 0 && !await plot.locator(".aside").first().isVisible());
    await page.check("label:has-text('communication streams') input");
    assert(await plot.locator(".aside").first().isVisible());
    await page.uncheck("label:has-text('communication streams') input");
    const box = await plot.locator(".pass.k0").nth(20).boundingBox(),
          at = {x: box.x + box.width / 2, y: box.y + box.height / 2};
    await page.mouse.move(at.x, at.y);
    assert.match(
        await page.locator("#hint").textContent(),
        /^forward, stage \d+\nmicro-batch \d+, chunk 0\n[\d.]+ m?s to [\d.]+ m?s: [\d.]+ ms$/);
    const top = await page.evaluate(() => scrollY);
    await page.mouse.wheel(0, 5);  // who scrolls by does not zoom
    await page.waitForFunction(top => scrollY !== top, top);
    assert.deepStrictEqual(await range(), whole);
    await page.mouse.wheel(0, -5);
    await page.waitForFunction(top => scrollY === top, top);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await page.waitForFunction(
        most => +document.querySelector(".plot").getAttribute("viewBox").split(" ")[2] < most,
        .9 * (whole[1] - whole[0]));
    const near = await range();
    assert.notDeepStrictEqual(await ticks(), labels);
    const same = await plot.locator(".pass.k0").nth(20).boundingBox();  // what is under the pointer stays there
    assert(same.x < at.x && at.x < same.x + same.width && same.width > 1.1 * box.width);
    await page.mouse.down();
    await page.mouse.move(at.x - 100, at.y);
    await page.mouse.up();
    assert((await range())[0] > near[0]);
    await gantt.focus();
    const moved = await range(), pressed = async key => (await page.keyboard.press(key), await range());
    assert((await pressed("ArrowRight"))[0] > moved[0]);
    assert((await pressed("+"))[1] < moved[1]);
    await gantt.dblclick({position: {x: 300, y: 20}});
    assert.deepStrictEqual(await range(), whole);
    assert.deepStrictEqual(await ticks(), labels);
    await page.close();
  });
  await test("keys switch what they name", async () => {
    const page = await open(browser, "run.html", "light"), parts = page.locator("#runs-0-memory rect.k0[data-hint]"),
          key = page.locator("#runs-0-memory .key").first();
    assert(await parts.count() > 1 && await parts.first().isVisible());
    await key.click();
    assert(
        !await parts.first().isVisible() &&
        await page.locator("#runs-0-memory rect.k1[data-hint]").first().isVisible());
    await key.press("Enter");
    assert(await parts.first().isVisible());
    await page.close();
  });
  await test("without scripts the charts are there", async () => {
    const context = await browser.newContext({javaScriptEnabled: false}), page = await context.newPage();
    await page.goto(`file://${folder}/run.html`);
    assert.strictEqual(await page.locator("figure.chart > svg").count(), 9);
    assert(await page.locator("#runs-0-memory .head").isVisible());
    await context.close();
  });
  await test("a sweep's table sorts and filters", async () => {
    const page = await open(browser, "sweep.html", "light"),
          rows = page.locator("section:has(input[type=search]) tbody tr");
    const column = async i => (await rows.locator(`td:nth-child(${i})`).allTextContents()).filter(t => t);
    assert.strictEqual(await rows.count(), 12);
    const heads = await page.locator("section:has(input[type=search]) th").allTextContents(),
          mfu = heads.indexOf("MFU") + 1;
    await page.click("th button:text-is('MFU')");
    const down = (await column(mfu)).map(parseFloat);
    assert.deepStrictEqual(down, [...down].sort((a, b) => b - a));
    await page.click("th button:text-is('MFU')");
    assert.deepStrictEqual((await column(mfu)).map(parseFloat), [...down].sort((a, b) => a - b));
    await page.fill("input[type=search]", "tensor=4 nodes=64");
    assert.strictEqual(await rows.count(), 3);
    await page.close();
  });
  await test("tables of sweeps and plans have room on a screen of 1280 points", async () => {
    for (const file of ["sweep.html", "scale.html", "unfit.html", "clusters.html", "compare.html"]) {
      const page = await open(browser, file, "light");
      await page.setViewportSize({width: 1280, height: 900});
      const cut = await page.evaluate(
          () => [...document.querySelectorAll(".scroll")]
                    .filter(e => e.scrollWidth > e.clientWidth)
                    .map(e => e.textContent.slice(0, 60)));
      assert.deepStrictEqual(cut, [], file);
      await page.close();
    }
    const page =
        await open(browser, "unfit.html", "light"); /* a row that did not run says why in place of its figures */
    assert.match(
        await page.locator("section:has(input[type=search]) tr:has-text('does not fit') td").last().innerText(),
        /^needs .* GB of .* GB/);
    await page.close();
  });
  await test("a sweep's charts are drawn", async () => {
    const page = await open(browser, "sweep.html", "dark"), all = await charts(page);
    assert.deepStrictEqual(all.map(c => c.name), ["Pareto front", "Scaling"]);
    for (const c of all) drawn(c, c.name);
    assert.strictEqual(await page.locator("#sweeps-0-scaling circle[data-hint]").count(), 2);
    // Losses lie between the simulated curve and the ideal one: no area goes above the ideal's line.
    const points = async kind =>
        (await page.locator(`#sweeps-0-scaling path.${kind}, #sweeps-0-scaling polygon.${kind}`)
             .first()
             .evaluate(e => e.getAttribute("d") || e.getAttribute("points")))
            .match(/-?[\d.]+/g)
            .map(Number);
    const line = await points("ideal"),
          above = (x, y) =>
              y < line[1] + (line[line.length - 1] - line[1]) * (x - line[0]) / (line[line.length - 2] - line[0]) - 1;
    for (const kind of ["tax", "rest"]) {
      const area = await points(kind);
      for (let i = 0; i < area.length; i += 2) assert(!above(area[i], area[i + 1]), `${kind} ${area}`);
    }
    // The dots move when other figures are asked for; on a front of memory and speed no point has less of one and more of the other.
    const dots = () =>
        page.locator("#sweeps-0-pareto circle[data-hint]")
            .evaluateAll(
                l => l.map(
                    d => [+d.getAttribute("cx"), +d.getAttribute("cy"), d.classList.contains("k6"), d.dataset.hint]));
    const before = await dots();
    assert.match(before[0][3], /tensor=\d, pipeline=\d, nodes=\d+\nrent .* USD, tokens\/s /);
    await page.selectOption("label:has-text('across') select", "memory_peak_bytes");
    const after = await dots(), front = after.filter(d => d[2]);
    assert.notDeepStrictEqual(after, before);
    assert(front.length > 1 && front.every(f => !after.some(d => d[0] < f[0] && d[1] < f[1])), JSON.stringify(after));
    assert.strictEqual(await page.locator("#sweeps-0-pareto .name-x").textContent(), "memory");
    assert((await page.locator(".heat tbody td").allTextContents()).filter(t => t).length >= 4);
    assert.deepStrictEqual(
        (await page.locator("h2").allInnerTexts()), ["Heat map", "Pareto front", "Scaling", "Every point"]);
    await page.close();
  });
  for (const theme of ["light", "dark"])
    await test(`a search for plans is drawn, ${theme}`, async () => {
      const page = await open(browser, "plan.html", theme), all = await charts(page);
      assert.deepStrictEqual(
          all.slice(0, 4).map(c => c.name),
          ["Where the steps of the best plans go", "Memory of the fullest rank", "Plans", "Plans"]);
      assert.strictEqual(all[4].name, "Where the step goes");  // the best plan's run
      for (const c of all) drawn(c, c.name);
      assert((await page.locator(".card").first().innerText()).startsWith("best plan"));
      const card = await page.locator(".card:has-text('step time')").first().innerText(),
            [step, low, high] = card.match(/[\d.]+\sm?s/g).map(parseFloat);
      assert(low < step && step < high, card);
      // The terms of each step add up to it; the run is of the plan that is recommended.
      const rows = await page.locator("#plans-0-steps rect[data-hint]")
                       .evaluateAll(
                           l => l.map(b => [b.getAttribute("y"), b.dataset.hint.match(/: ([\d.]+) ([mµu]?)s$/)])
                                    .map(([y, [, n, prefix]]) => [y, n * ({m: 1e-3, "": 1}[prefix] || 1e-6)]));
      const sums =
          [...new Set(rows.map(r => r[0]))].map(y => rows.filter(r => r[0] === y).reduce((n, r) => n + r[1], 0));
      assert.strictEqual(sums.length, 5);
      assert(Math.abs(sums[0] / step - 1) < .01, `${sums[0]} ${step}`);
      const run = await page.locator("article:nth-of-type(2) .card:has-text('step time') b").innerText();
      const recommended = await page.evaluate(
          () => JSON.parse(document.getElementById("data").textContent).plans[0].recommended.summary.step.time_s);
      assert(Math.abs(parseFloat(run) / recommended - 1) < .005, `${run} ${recommended}`);
      assert.strictEqual(await page.locator("h3:text('Why the others lose') ~ ul li").count(), 4);
      assert.strictEqual(await page.locator("main img, main script").count(), 0);
      await page.close();
    });
  await test("a search's tables sort", async () => {
    const page = await open(browser, "plan.html", "light"),
          s = page.locator("section:has(h2:text-is('The best plans'))"),
          cells = i => s.locator(`tbody td:nth-child(${i})`).allInnerTexts();
    const heads = await s.locator("th").allInnerTexts(), memory = heads.findIndex(h => h.startsWith("memory")) + 1;
    assert.deepStrictEqual(await cells(1), ["1", "2", "3", "4", "5"]);
    await s.locator("th button", {hasText: /^memory/}).click();
    const down = (await cells(memory)).map(parseFloat);
    assert.deepStrictEqual(down, [...down].sort((a, b) => b - a));
    await page.close();
  });
  await test("a search over clusters compares them", async () => {
    const page = await open(browser, "clusters.html", "light"), all = await charts(page),
          c = all.find(c => c.name === "Time and rent of each cluster's best plan");
    assert(c && c.shapes === 2 * 4 && c.colours === 2, JSON.stringify(c));
    const s = page.locator("section:has(h2:text-is('The best of each cluster'))");
    assert.strictEqual(await s.locator("td:has-text('no plan fits in memory: the smallest needs')").count(), 2);
    const labels = await s.locator("svg .ink").allTextContents();
    assert.deepStrictEqual(
        labels.filter(l => l).map(l => l.replace(/,/g, "")),
        ["3: 512 x h100-sxm", "4: 512 x a100-80gb", "5: 1024 x h100-sxm", "6: 1024 x a100-80gb"]);
    assert.match(await s.locator("p").last().innerText(), /^[\d,]+ x \S+ is .* per token than [\d,]+ x /);
    assert(await s.locator("details tbody tr").count() >= 1);
    await page.close();
  });
  await test("a search that finds nothing says so", async () => {
    const page = await open(browser, "nothing.html", "light");
    assert.match(
        await page.locator(".warn").innerText(),
        /^no plan fits in memory: the smallest needs [\d.]+ GB on an accelerator of 85.90 GB$/);
    assert(await page.locator("h2:text-is('What was searched')").count() === 1);
    await page.close();
  });
  await test("models without tokens have samples", async () => {
    for (const [file, n] of [
             ["images.html", 1], ["recommendation.html", 2]]) {  // a run; a search and a run of its best plan
      const page = await open(browser, file, "light"),
            cards = await page.locator(".card:has-text('throughput') b").allInnerTexts();
      assert.strictEqual(cards.length, n, file);
      for (const card of cards) assert.match(card, /^[\d.,]+ ?[kM]? samples\/s$/, card);
      await page.close();
    }
  });
  await test("a round of post-training has its parts", async () => {
    const page = await open(browser, "round.html", "light"),
          section = page.locator("section:has(> h2:text-is('Where the round goes'))");
    const rows = await section.locator("table")
                     .first()
                     .locator("tbody tr")
                     .evaluateAll(all => all.map(r => [...r.cells].map(c => c.textContent)));
    assert.deepStrictEqual(
        rows.map(r => r[0]),
        ["generation", "scoring", "training", "transfer of the weights", "copies to the host and back"]);
    const shares = rows.map(r => parseFloat(r[2]));
    assert(Math.abs(shares.reduce((a, b) => a + b) - 100) < 0.3, shares.join());
    assert.match(
        await section.locator("table").nth(1).innerText(), /[\d,]+ tokens\/s[^]*longest response\s+[\d,]+ tokens/);
    await page.close();
    const plain = await open(browser, "run.html", "light");
    assert.strictEqual(await plain.locator("h2:text-is('Where the round goes')").count(), 0);
    await plain.close();
  });
  await test("pages fit a telephone, are small, and need nothing else", async () => {
    for (const file
             of ["run.html", "campaign.html", "sweep.html", "compare.html", "plan.html", "clusters.html", "images.html",
                 "recommendation.html", "round.html"]) {
      assert(fs.statSync(`${folder}/${file}`).size < 1e6, file);
      const page = await open(browser, file, "light");
      await page.setViewportSize({width: 360, height: 740});
      await page.waitForFunction(() => document.documentElement.scrollWidth <= 360, null, {timeout: 5000})
          .catch(() => assert.fail(`${file} is wider than a telephone`));
      await page.close();
    }
  });
  await test("pages print", async () => {
    for (const file of ["run.html", "plan.html", "sweep.html"]) {
      const page = await open(browser, file, "dark"), pdf = await page.pdf({format: "A4"});
      assert(pdf.length > 20000, file);
      await page.close();
    }
  });
  await browser.close();
  console.log(`${passed} passed, 0 failed`);
})().catch(e => {
  console.log(`FAIL ${e.stack}\n${passed} passed, 1 failed`);
  process.exit(1);
});
