// Opens the built site from its folder: no page has an error or is wider than a telephone, the search finds sections, the chart of the
// accuracy page shows the runs of one accelerator, a dark form exists. node site.js CHROMIUM FOLDER
"use strict";
const {chromium} = require("playwright-core");
const {readdirSync} = require("node:fs");
const [, , executablePath, folder] = process.argv;
const failures = [];

function expect(holds, what) {
  if (!holds) failures.push(what);
}

(async () => {
  const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
  const page = await browser.newPage({viewport: {width: 390, height: 800}, colorScheme: "dark"});
  const open = (name) => page.goto(`file://${folder}/${name}`);
  page.on("pageerror", (error) => failures.push(`${page.url()}: ${error}`));
  page.on("requestfailed", (request) => failures.push(`${page.url()}: ${request.url()} cannot be read`));
  for (const name of readdirSync(folder).filter((file) => file.endsWith(".html") && file !== "404.html")) {
    await open(name);
    const {width, widest} =
        await page.evaluate(() => ({
                              width: document.documentElement.scrollWidth,
                              widest: [...document.querySelectorAll(".rst-content *")]
                                          .find((e) => e.getBoundingClientRect().right > innerWidth + 1)
                                          ?.outerHTML.slice(0, 120),
                            }));
    expect(width <= 390, `${name} is ${width} wide on a telephone: ${widest}`);
  }
  await open("index.html");
  const [red, green, blue] =
      (await page.evaluate(() => getComputedStyle(document.querySelector(".wy-nav-content")).backgroundColor))
          .match(/\d+/g);
  expect(Number(red) + Number(green) + Number(blue) < 150, "the page is light where dark is asked for");
  await open("search.html?q=zero+bubble");
  await page.waitForSelector("#mkdocs-search-results article");
  const found = await page.locator("#mkdocs-search-results article").allInnerTexts();
  expect(/zero.bubble/i.test(found[0]), `the first section found for "zero bubble" is ${found[0]}`);
  await page.fill("#mkdocs-search-query", "xyzzyx");
  expect(/No section/.test(await page.innerText("#mkdocs-search-results")), "nothing is said where nothing is found");
  await open("accuracy.html");
  const said = () => page.innerText("#accuracy-chart p");
  const all = parseInt(await said());
  await page.selectOption("#accuracy-chart select >> nth=0", "h100-sxm");
  const some = parseInt(await said());
  expect(some > 0 && some < all, `the chart has ${all} runs and ${some} of h100-sxm`);
  await browser.close();
  failures.forEach((failure) => console.log(`FAIL ${failure}`));
  process.exit(failures.length ? 1 : 0);
})();
