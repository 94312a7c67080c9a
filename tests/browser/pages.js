// The pages in a browser: nothing on the console, charts drawn with data, the Gantt zooms and tells, tables sort and
// filter, text stays text, both themes, print. node pages.js CHROMIUM FOLDER
"use strict";
const assert = require("assert"), fs = require("fs");
const {chromium} = require("playwright-core");
const [executablePath, folder] = process.argv.slice(2);
let passed = 0;

async function open(browser, file, theme) {
  const page = await browser.newPage({viewport: {width: 1200, height: 900}, colorScheme: theme});
  page.on("console", m => { throw new Error(`${file}: ${m.type()}: ${m.text()}`); });
  page.on("pageerror", e => { throw new Error(`${file}: ${e.message}`); });
  page.on("dialog", d => { throw new Error(`${file}: a script of the scenario ran: ${d.message()}`); });
  page.on("request", r => { if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) throw new Error(`${file} asks for ${r.url()}`); });
  await page.goto(`file://${folder}/${file}`);
  return page;
}
const charts = page => page.evaluate(() => [...document.querySelectorAll("canvas")].map(c => {
  const chart = Chart.getChart(c), pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  const colours = new Set();
  for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 0) colours.add(pixels[i] * 65536 + pixels[i + 1] * 256 + pixels[i + 2]);
  return {name: c.getAttribute("aria-label"), points: chart.data.datasets.reduce((n, d) => n + d.data.length, 0), colours: colours.size};
}));
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
      assert.deepStrictEqual(all.map(c => c.name), ["stacked bar of the terms of the step", "memory of each pipeline stage against capacity", "Gantt chart of the pipeline", "roofline", "mean and highest load of each sort of link", "sensitivity of the step time", "cost of the run when owned and when rented"]);
      for (const c of all) assert(c.points > 0 && c.colours > 5, `${c.name}: ${c.points} points, ${c.colours} colours`);
      assert.strictEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      await page.click("#theme");
      assert.notStrictEqual(await page.evaluate(() => document.documentElement.dataset.theme), theme);
      await page.close();
    });
  await test("a whole run with failures is drawn", async () => {
    const page = await open(browser, "campaign.html", "light"), all = await charts(page);
    for (const name of ["days of the whole run over all replications", "one run over its days", "power of the facility over one run", "accelerator hours lost by cause", "cost of the run when owned and when rented"]) {
      const c = all.find(c => c.name === name);
      assert(c && c.points > 0 && c.colours > 5, `${name}: ${c && c.points} points, ${c && c.colours} colours`);
    }
    const runs = await page.evaluate(() => Chart.getChart(document.querySelector("canvas[aria-label^=days]")).data.datasets[0].data.reduce((a, b) => a + b, 0));
    assert.strictEqual(runs, 50);
    await page.close();
  });
  await test("the step has its interval", async () => {
    const page = await open(browser, "run.html", "light"), card = await page.locator(".card").first().innerText();
    const [step, low, high] = card.match(/[\d.]+ m?s/g).map(parseFloat);
    assert(card.startsWith("step time") && low < step && step < high, card);
    assert.match(await page.locator("article > p.soft").nth(1).innerText(), /^interval: 90 % from \d+/);
    await page.close();
  });
  await test("a comparison falls from A's step to B's", async () => {
    const page = await open(browser, "compare.html", "light"), all = await charts(page);
    const fall = await page.locator("canvas[aria-label^=waterfall]").evaluate(c => { const d = Chart.getChart(c).data; return d.labels.map((label, i) => [label, ...d.datasets[0].data[i]]); });
    assert(all.find(c => c.name.startsWith("waterfall")).colours > 5);
    assert.deepStrictEqual([fall[0][0], fall[fall.length - 1][0]], ["A", "B"]);
    for (let i = 1; i < fall.length - 1; i++) assert.strictEqual(fall[i][1], fall[i - 1][2]);
    assert(Math.abs(fall[fall.length - 2][2] / fall[fall.length - 1][2] - 1) < 1e-6, JSON.stringify(fall));
    const steps = (await page.locator(".card:has-text('step time') b").allInnerTexts()).map(parseFloat);
    assert.strictEqual(steps.length, 2);
    steps.forEach((s, i) => assert(Math.abs(fall[i ? fall.length - 1 : 0][2] / s - 1) < .005));
    assert(await page.locator("h2:text('What differs in the inputs') + .scroll tbody tr").count() > 5);
    await page.close();
  });
  await test("text stays text", async () => {
    const page = await open(browser, "run.html", "light");
    assert.strictEqual(await page.locator("main img, main script").count(), 0);
    assert((await page.locator("article > p").first().textContent()).startsWith("</script><script>alert(1)"));
    await page.close();
  });
  await test("the pipeline zooms, moves and tells", async () => {
    const page = await open(browser, "run.html", "light"), gantt = page.locator("canvas[aria-label^=Gantt]");
    const range = () => gantt.evaluate(c => { const x = Chart.getChart(c).scales.x; return [x.min, x.max]; });
    const whole = await range();
    await gantt.scrollIntoViewIfNeeded();
    const bars = await gantt.evaluate(c => Chart.getChart(c).getSortedVisibleDatasetMetas().flatMap(m => m.data.map(b => ({width: Math.abs(b.x - b.base), edge: b.options.borderWidth}))));
    assert(bars.some(b => b.width < 3) && bars.some(b => b.width > 3), "slices of both kinds");
    assert(bars.every(b => b.edge === (b.width > 3 ? .5 : 0)), "an edge hides a thin slice");
    const at = await gantt.evaluate(c => {
      const chart = Chart.getChart(c), bar = chart.getDatasetMeta(0).data.find(b => Math.abs(b.x - b.base) > 4), box = c.getBoundingClientRect();
      return {x: box.x + (bar.x + bar.base) / 2, y: box.y + bar.y};
    });
    await page.mouse.move(at.x, at.y);
    await page.waitForFunction(() => { const t = Chart.getChart(document.querySelector("canvas[aria-label^=Gantt]")).tooltip; return t && t.body && t.body.length; });
    const tip = await gantt.evaluate(c => Chart.getChart(c).tooltip.body.flatMap(b => b.lines).join(" "));
    assert.match(tip, /forward, stage \d+.*micro-batch \d+/);
    await page.mouse.wheel(0, -300);
    await page.waitForFunction(most => { const x = Chart.getChart(document.querySelector("canvas[aria-label^=Gantt]")).scales.x; return x.max - x.min < most; }, .9 * (whole[1] - whole[0]));
    const near = await range();
    assert(near[1] - near[0] < .9 * (whole[1] - whole[0]));
    await page.mouse.down();
    await page.mouse.move(at.x - 100, at.y);
    await page.mouse.up();
    assert((await range())[0] > near[0]);
    await gantt.dblclick();
    assert.deepStrictEqual(await range(), whole);
    await page.close();
  });
  await test("a sweep's table sorts and filters", async () => {
    const page = await open(browser, "sweep.html", "light"), rows = page.locator("section:has(input[type=search]) tbody tr");
    const column = async i => (await rows.locator(`td:nth-child(${i})`).allTextContents()).filter(t => t);
    assert.strictEqual(await rows.count(), 12);
    const heads = await page.locator("section:has(input[type=search]) th").allTextContents(), mfu = heads.indexOf("MFU") + 1;
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
      const cut = await page.evaluate(() => [...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 60)));
      assert.deepStrictEqual(cut, [], file);
      await page.close();
    }
    const page = await open(browser, "unfit.html", "light"); /* a row that did not run says why in place of its figures */
    assert.match(await page.locator("section:has(input[type=search]) tr:has-text('does not fit') td").last().innerText(), /^needs .* GB of .* GB/);
    await page.close();
  });
  await test("a sweep's charts are drawn", async () => {
    const page = await open(browser, "sweep.html", "dark"), all = await charts(page);
    assert.deepStrictEqual(all.map(c => c.name), ["Pareto front", "scaling curve"]);
    for (const c of all) assert(c.points > 1 && c.colours > 5, c.name);
    const curve = await page.locator("canvas[aria-label='scaling curve']").evaluate(c => Chart.getChart(c).data.datasets.map(d => [d.label, d.data.map(p => p.y)]));
    const named = Object.fromEntries(curve.map(([label, y]) => [label.split(":")[0], y]));
    named.simulated.forEach((y, i) => assert(named["communication tax"][i] > y && named.ideal[i] >= y));
    assert((await page.locator(".heat tbody td").allTextContents()).filter(t => t).length >= 4);
    await page.close();
  });
  for (const theme of ["light", "dark"])
    await test(`a search for plans is drawn, ${theme}`, async () => {
      const page = await open(browser, "plan.html", theme), all = await charts(page);
      assert.deepStrictEqual(all.slice(0, 4).map(c => c.name), ["terms of the step of the best plans", "memory of the best plans against capacity", "plans: time and cost", "plans: time and energy"]);
      assert.strictEqual(all[4].name, "stacked bar of the terms of the step"); // the best plan's run
      for (const c of all) assert(c.points > 0 && c.colours > 5, `${c.name}: ${c.points} points, ${c.colours} colours`);
      assert((await page.locator(".card").first().innerText()).startsWith("best plan"));
      const card = await page.locator(".card:has-text('step time')").first().innerText(), [step, low, high] = card.match(/[\d.]+ m?s/g).map(parseFloat);
      assert(low < step && step < high, card);
      // The terms of each step add up to it; the run is of the plan that is recommended.
      const sums = await page.locator("canvas[aria-label^='terms of']").evaluate(c => { const d = Chart.getChart(c).data; return d.labels.map((_, i) => d.datasets.reduce((n, s) => n + s.data[i], 0)); });
      assert.strictEqual(sums.length, 5);
      assert(Math.abs(sums[0] / step - 1) < .005, `${sums[0]} ${step}`);
      const run = await page.locator("article:nth-of-type(2) .card:has-text('step time') b").innerText();
      const recommended = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).plans[0].recommended.summary.step.time_s);
      assert(Math.abs(parseFloat(run) / recommended - 1) < .005, `${run} ${recommended}`);
      assert.strictEqual(await page.locator("h3:text('Why the others lose') ~ ul li").count(), 4);
      assert.strictEqual(await page.locator("main img, main script").count(), 0);
      await page.close();
    });
  await test("a search's tables sort", async () => {
    const page = await open(browser, "plan.html", "light"), s = page.locator("section:has(h2:text-is('The best plans'))"), cells = i => s.locator(`tbody td:nth-child(${i})`).allInnerTexts();
    const heads = await s.locator("th").allInnerTexts(), memory = heads.findIndex(h => h.startsWith("memory")) + 1;
    assert.deepStrictEqual(await cells(1), ["1", "2", "3", "4", "5"]);
    await s.locator("th button", {hasText: /^memory/}).click();
    const down = (await cells(memory)).map(parseFloat);
    assert.deepStrictEqual(down, [...down].sort((a, b) => b - a));
    await page.close();
  });
  await test("a search over clusters compares them", async () => {
    const page = await open(browser, "clusters.html", "light"), all = await charts(page), c = all.find(c => c.name === "time and rent of each cluster's best plan");
    assert(c && c.points === 2 * 4 && c.colours > 5, JSON.stringify(c));
    const s = page.locator("section:has(h2:text-is('The best of each cluster'))");
    assert.strictEqual(await s.locator("td:has-text('no plan fits in memory: the smallest needs')").count(), 2);
    const labels = await s.locator("canvas").first().evaluate(c => Chart.getChart(c).data.labels); // short enough for a telephone
    assert.deepStrictEqual(labels.map(l => l.replace(/,/g, "")), ["3: 512 h100-sxm", "4: 512 a100-80gb", "5: 1024 h100-sxm", "6: 1024 a100-80gb"]);
    assert.match(await s.locator("p").last().innerText(), /^[\d,]+ x \S+ is .* per token than [\d,]+ x /);
    assert(await s.locator("details tbody tr").count() > 5);
    await page.close();
  });
  await test("a search that finds nothing says so", async () => {
    const page = await open(browser, "nothing.html", "light");
    assert.match(await page.locator(".warn").innerText(), /^no plan fits in memory: the smallest needs [\d.]+ GB on an accelerator of 85.90 GB$/);
    assert(await page.locator("h2:text-is('What was searched')").count() === 1);
    await page.close();
  });
  await test("models without tokens have samples", async () => {
    for (const [file, n] of [["images.html", 1], ["recommendation.html", 2]]) { // a run; a search and a run of its best plan
      const page = await open(browser, file, "light"), cards = await page.locator(".card:has-text('throughput') b").allInnerTexts();
      assert.strictEqual(cards.length, n, file);
      for (const card of cards) assert.match(card, /^[\d.,]+ ?[kM]? samples\/s$/, card);
      await page.close();
    }
  });
  await test("pages fit a telephone, are small, and need nothing else", async () => {
    for (const file of ["run.html", "campaign.html", "sweep.html", "compare.html", "plan.html", "clusters.html", "images.html", "recommendation.html"]) {
      assert(fs.statSync(`${folder}/${file}`).size < 1e6, file);
      const page = await open(browser, file, "light");
      await page.setViewportSize({width: 360, height: 740});
      await page.waitForFunction(() => document.documentElement.scrollWidth <= 360, null, {timeout: 5000}).catch(() => assert.fail(`${file} is wider than a telephone`));
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
})().catch(e => { console.log(`FAIL ${e.stack}\n${passed} passed, 1 failed`); process.exit(1); });
