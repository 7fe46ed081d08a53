// Different readers: light and dark mode, a phone, a screen reader, paper.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { expect, test } from "./open";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function faults(page: Page): Promise<string[]> {
  await page.locator("#sources summary, .why summary").evaluateAll((summaries) => {
    for (const summary of summaries) (summary.parentElement as HTMLDetailsElement).open = true;
  });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe.run(),
  );
  return violations
    .filter(
      ({ id, impact }) => ["serious", "critical"].includes(impact) || id === "landmark-unique",
    )
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
}

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

const audited = [
  ["cpu", "light"],
  ["cpu", "dark"],
  ["gpu", "dark"],
  ["oom", "light"],
  ["several", "light"],
  ["flow", "light"],
  ["bench", "light"],
  ["bench", "dark"],
  ["group", "light"],
  ["group", "dark"],
] as const;

for (const [name, scheme] of audited)
  test(`axe finds no serious fault: ${name}, ${scheme}`, async ({ page, report }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await report.open(name);
    expect(await faults(page)).toEqual([]);
  });

test("the colors follow the reader's setting", async ({ page, report }) => {
  await page.emulateMedia({ colorScheme: "light" });
  await report.open("cpu");
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const chart = () =>
    page
      .locator("#chart-cpu canvas")
      .evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  const [light, lightChart] = [await paper(), await chart()];
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(paper).not.toBe(light);
  await expect.poll(chart).not.toBe(lightChart);
});

for (const name of ["cpu", "gpu", "build", "hostile", "several", "empty", "bench", "group-hostile"])
  test(`nothing is wider than a phone: ${name}`, async ({ page, report }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await report.open(name);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  });

test("charts follow the width of the window", async ({ page, report }) => {
  await report.open("cpu");
  const width = () => page.locator("#chart-cpu canvas").evaluate((canvas) => canvas.clientWidth);
  const before = await width();
  await page.setViewportSize({ width: 600, height: 800 });
  await expect.poll(width).toBeLessThan(before);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(600);
});

test("paper is light, and has no buttons", async ({ page, report }) => {
  await page.emulateMedia({ colorScheme: "dark", media: "print" });
  await report.open("cpu");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
    "rgb(255, 255, 255)",
  );
  await expect(page.locator(".downloads button").first()).toBeHidden();
  await expect(page.locator("#chart-cpu canvas")).toBeVisible();
});

test("paper states how many rows it lacks", async ({ page, report }) => {
  await report.open("build");
  const missing = page.locator("#processes .on-paper");
  await expect(missing).toBeHidden();
  await page.emulateMedia({ media: "print" });
  await expect(missing).toHaveText("15 of 202 rows are printed. To print all, show them first.");
  await expect(missing).toBeVisible();
  await page.emulateMedia({ media: "screen" });
  await page.getByRole("button", { name: "Show all 202 rows" }).click();
  await page.emulateMedia({ media: "print" });
  await expect(missing).toBeHidden();
  await expect(page.locator("#processes tbody tr")).toHaveCount(202);
});

test("on a phone the zoom buttons scroll away with the charts", async ({ page, report }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await report.open("cpu");
  await page.locator("#chart-pressure").scrollIntoViewIfNeeded();
  await expect(page.locator(".tools")).not.toBeInViewport();
});

for (const name of ["cpu", "gpu", "many-gpus", "build", "several", "group"])
  test(`nothing is wider than paper: ${name}`, async ({ page, report }) => {
    await page.setViewportSize({ width: 718, height: 1000 }); // A4
    await page.emulateMedia({ media: "print" });
    await report.open(name);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(718);
  });

test("charts are described for screen readers", async ({ report }) => {
  const page = await report.open("cpu");
  await expect(page.locator("#chart-memory .plot")).toHaveAttribute(
    "aria-label",
    /^Memory over time\. job: peak 5\.\d+ GB at 4\d min.*limit: 8\.00 GB\.$/,
  );
});
