// load_time.mjs PAGE... - measures the load time of pages in Chromium, compared with an empty
// page.
//
// Measures from the start of the navigation until the load event has ended, and until the next
// frame is painted, which includes the charts of the first screen. The pages take turns, so
// that other load on the machine slows down all of them. The CPU time of the page's main thread
// does not depend on other load.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "@playwright/test";

const ROUNDS = 15;

// Measures until the first frame after the load event.
function watch() {
  addEventListener("load", () => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        window.paintedAt = performance.now();
      };
      port2.postMessage(null);
    });
  });
}

async function load(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(watch);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(url, { waitUntil: "load" });
  await page.waitForFunction(() => window.paintedAt !== undefined);
  const { metrics } = await devtools.send("Performance.getMetrics");
  const times = await page.evaluate(() => ({
    loaded: performance.getEntriesByType("navigation")[0].loadEventEnd,
    painted: window.paintedAt,
  }));
  await page.close();
  return { ...times, cpu: metrics.find(({ name }) => name === "TaskDuration").value * 1e3 };
}

function line(name, values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, middle, most] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)];
  return `${name.padEnd(16)} ${[least, middle, most].map((ms) => ms.toFixed(0).padStart(6)).join("")}`;
}

const empty = join(mkdtempSync(join(tmpdir(), "spoor-load-time-")), "empty page.html");
writeFileSync(empty, "<!doctype html><title>empty</title><p>empty");
const files = [empty, ...process.argv.slice(2).map((path) => resolve(path))];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const results = new Map(files.map((file) => [file, []]));
for (let round = 0; round <= ROUNDS; round++)
  for (const file of files) {
    const times = await load(browser, pathToFileURL(file).href);
    if (round > 0) results.get(file).push(times); // the first round only fills caches
  }
await browser.close();

for (const moment of ["loaded", "painted", "cpu"]) {
  console.log(`${moment}, ms`.padEnd(16), "   min   med   max");
  for (const [file, times] of results)
    console.log(
      line(
        basename(file, ".html"),
        times.map((each) => each[moment]),
      ),
    );
}
