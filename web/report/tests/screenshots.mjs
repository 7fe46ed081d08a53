// screenshots.mjs FOLDER - takes the pictures for the documentation: light, dark, and on a
// phone.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "@playwright/test";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];
const pages = mkdtempSync(join(tmpdir(), "spoor-screenshots-"));

const script = join(pages, "write_pages.mjs");
await build({
  entryPoints: [join(here, "write_pages.ts")],
  bundle: true,
  platform: "node",
  format: "esm",
  outfile: script,
});
const { writePages } = await import(pathToFileURL(script).href);
writePages(join(here, "../dist/report.html"), pages);

const shots = [
  { file: "report-light.png", page: "cpu", width: 1100, height: 1560, colorScheme: "light" },
  { file: "report-dark.png", page: "gpu", width: 1100, height: 1560, colorScheme: "dark" },
  { file: "report-phone.png", page: "oom", width: 390, height: 1560, colorScheme: "light" },
  {
    file: "report-ranks.png",
    page: "group-large",
    width: 1100,
    height: 1300,
    colorScheme: "light",
  },
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const { file, page: name, width, height, colorScheme } of shots) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(pathToFileURL(join(pages, `${name}.html`)).href);
  await page.locator("main[aria-busy='false']").waitFor();
  await page.screenshot({ path: join(folder, file) });
}
await browser.close();
