// Pictures of parts of reports: node pictures.js CHROMIUM FOLDER OUT light|dark|print FILE:HEADING:NAME...
// Each is the part of FOLDER/FILE under the heading (all: the whole page), written to OUT/NAME.png.
"use strict";
const {chromium} = require("playwright-core");
const [executablePath, folder, out, theme, ...shots] = process.argv.slice(2);

(async () => {
  const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});
  for (const shot of shots) {
    const [file, heading, name] = shot.split(":");
    const page = await browser.newPage({viewport: {width: 900, height: 700}, colorScheme: theme === "print" ? "dark" : theme});
    await page.goto(`file://${folder}/${file}`);
    if (theme === "print") { await page.emulateMedia({media: "print", colorScheme: "light"}); await page.evaluate(() => dispatchEvent(new Event("beforeprint"))); }
    if (heading === "all") await page.screenshot({path: `${out}/${name}.png`, fullPage: true});
    else await page.locator("section.part", {has: page.getByRole("heading", {name: heading, exact: true})}).first().screenshot({path: `${out}/${name}.png`});
    await page.close();
  }
  await browser.close();
})().catch(e => { console.error(e.message); process.exit(1); });
