// Every section of the page, for every kind of job.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { HIDDEN_PEAK, HOSTILE } from "../fixtures";
import { expect, type Report, test } from "./open";
import { FOLDER, TEMPLATE } from "./setup";

test("a CPU job has every section", async ({ report }) => {
  const page = await report.open("cpu");
  await expect(page.locator("h1")).toHaveText("assembly");
  await expect(page.locator(".status")).toHaveText("exit code 0");
  await expect(page.locator(".facts")).toContainText("spoor 0.1.0");
  await expect(page.locator(".sentences li")).toHaveText([
    "Peak memory 5.85 GB of 8.00 GB allowed (73 %).",
    "43 % of 12 cores were used.",
    "The job waited for I/O 14 % of the time.",
  ]);
  for (const title of ["Machine", "Limits", "Cost of tracking"])
    await expect(page.getByRole("region", { name: title, exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Energy" })).toHaveCount(0); // not measured
  await expect(page.locator(".chart h3")).toHaveText([
    "CPU cores",
    "Memory",
    "Processes and threads",
    "Disk",
    "Network whole host",
    "Pressure share of time spent waiting",
  ]);
  await expect(page.locator(".phase-strip button")).toHaveCount(5);
  await expect(page.locator(".bar")).toHaveCount(38);
  await expect(page.locator("#phases tbody tr")).toHaveCount(5);
  await expect(page.locator("#processes")).toContainText("5 h 10 min of the job's 5 h 10 min");
});

test("a GPU job has GPU charts, a cloud and energy", async ({ report }) => {
  const page = await report.open("gpu");
  await expect(page.locator(".sentences")).toContainText("The GPU was idle 67 % of the time");
  for (const id of ["gpu", "gpu-memory", "power", "temperature"])
    await expect(page.locator(`#chart-${id} canvas`)).toBeVisible();
  await expect(page.getByRole("region", { name: "Cloud" })).toContainText("p5en.48xlarge");
  await expect(page.getByRole("region", { name: "Energy" })).toContainText("391 kJ");
  await expect(page.locator("#usage")).toContainText("58.3 GB");
  await expect(page.locator("#processes thead")).toContainText("GPU memory");
});

test("eight GPUs have a line each", async ({ report }) => {
  const page = await report.open("many-gpus");
  await expect(page.locator("#chart-gpu .legend-item")).toHaveCount(8);
  const tops = await page
    .locator(".phase-strip button")
    .evaluateAll((labels) => labels.map((label) => (label as HTMLElement).style.top));
  expect(tops).toEqual(["0px", "22px", "22px", "0px"]); // two phases inside another phase
});

test("a failed job has its exit code in the verdict", async ({ report }) => {
  const page = await report.open("failed");
  await expect(page.locator(".status.bad")).toHaveText("exit code 2");
  await expect(page.locator(".sentences li").first()).toHaveText(
    "The job failed with exit code 2.",
  );
  await expect(page.locator("#next .note")).toHaveText(
    "The run failed: a complete run may need more.",
  );
  await expect(page.locator(".bar.failed")).toHaveCount(2);
  await expect(page.locator("td.bad")).toHaveText(["SIGSEGV", "2"]);
  await expect(page.locator(".details")).toContainText("Outlined in red: killed by a signal");
  await expect(page.locator(".phase-strip")).toHaveCount(0);
});

test("an out-of-memory kill is described, with more memory for the next run", async ({
  report,
}) => {
  const page = await report.open("oom");
  await expect(page.locator(".status.bad")).toHaveText("out of memory: killed by SIGKILL");
  await expect(page.locator(".sentences li").first()).toHaveText(
    "The job ran out of memory and was killed.",
  );
  await expect(page.locator(".warnings li")).toHaveCount(2);
  await expect(page.locator(".amounts")).toContainText("≥ 8 GiB");
  await expect(page.locator(".meter.full")).toHaveCount(1);
});

test("an empty job has no charts", async ({ report }) => {
  const page = await report.open("empty");
  await expect(page.locator("h1")).toHaveText("true");
  await expect(page.locator("#next .note")).toHaveText("The run took less than 10 s.");
  await expect(page.locator("#charts, #processes, #phases")).toHaveCount(0);
});

test("the largest of 5,000 processes are drawn and the others summed", async ({ report }) => {
  const page = await report.open("build");
  await expect(page.locator("#processes")).toContainText("The 198 largest of 5032 processes");
  await expect(page.locator(".bar")).toHaveCount(198);
  await expect(page.locator("#next")).toContainText("Choices: 4 CPUs, 4 min; 7 CPUs, 2 min");
  await expect(page.locator("#processes tbody tr")).toHaveCount(15);
  await page.getByRole("button", { name: "Show all 202 rows" }).click();
  await expect(page.locator("#processes tbody tr")).toHaveCount(202);
  await expect(page.locator("#processes tbody")).toContainText("other processes × 30");
});

test("a million samples are reduced and keep every peak", async ({ report }) => {
  expect(statSync(join(FOLDER, "million.html")).size).toBeLessThan(3e6);
  const page = await report.open("million");
  await expect(page.locator("#chart-keys")).toContainText(
    "1000000 samples are drawn as 2000 points",
  );
  const cache = page.locator("#chart-memory .legend-item", { hasText: "page cache" });
  expect(HIDDEN_PEAK).toBe(4.321e9);
  await expect(cache.locator(".value")).toHaveText("4.32 GB");
});

// The charts and process rows that exist at the load event.
interface Loaded {
  charts: string[];
  processes: number;
}

const CHARTS = ["cpu", "memory", "processes", "disk", "network", "pressure"];
async function openHour(page: Page, report: Report, print: boolean): Promise<Loaded> {
  await page.addInitScript((print) => {
    addEventListener("load", () => {
      if (print) dispatchEvent(new Event("beforeprint"));
      const drawn = [...document.querySelectorAll(".chart:has(canvas)")];
      const loaded: Loaded = {
        charts: drawn.map(({ id }) => id),
        processes: document.querySelectorAll("#processes tbody tr").length,
      };
      Object.assign(window, { loaded });
    });
  }, print);
  await report.open("hour");
  await expect(page.locator(".chart:has(canvas)")).toHaveCount(CHARTS.length);
  await expect(page.locator("#processes tbody tr")).toHaveCount(15);
  return page.evaluate(() => (window as unknown as { loaded: Loaded }).loaded);
}

test("the first screen is drawn when the page is loaded, the rest later", async ({
  page,
  report,
}) => {
  const { charts, processes } = await openHour(page, report, false);
  expect(charts[0]).toBe("chart-cpu");
  expect(charts.length).toBeLessThan(CHARTS.length);
  expect(processes).toBe(0);
});

test("a page that is printed at once is complete", async ({ page, report }) => {
  const loaded = await openHour(page, report, true);
  expect(loaded).toEqual({ charts: CHARTS.map((id) => `chart-${id}`), processes: 15 });
});

test("a machine without a job shows the host", async ({ report }) => {
  const page = await report.open("system");
  await expect(page.locator("h1")).toHaveText("machine node17");
  await expect(page.locator("#chart-cpu .legend-item")).toHaveText([/^host /]);
  await expect(page.locator("#chart-memory .legend-item")).toHaveText([/^host /]);
  await expect(page.locator("#usage tbody th")).toHaveText([
    "CPU",
    "Memory",
    "Disk read",
    "Disk written",
    "Network received",
    "Network sent",
  ]);
  await expect(page.locator("#usage tbody tr").nth(2)).toContainText("13.4 MB/s");
  await expect(page.locator("#next")).toHaveCount(0);
});

test("a step of a flow has earlier runs, servers and its price", async ({ report }) => {
  const page = await report.open("flow");
  await expect(page.locator(".facts")).toContainText("Metaflow");
  await expect(page.locator(".status.bad")).toHaveText("failed");
  await expect(page.locator("#history tbody th")).toHaveText(["this run", "1 before", "2 before"]);
  await expect(page.locator("#history thead")).not.toContainText("GPU");
  await expect(page.locator("#servers tbody")).toContainText("c7g.xlarge");
  await expect(page.getByRole("region", { name: "Price" })).toContainText("$0.0017");
  await expect(page.locator(".amounts")).toContainText("7 GiB");
  await expect(page.locator("#next pre")).toContainText("@resources(");
  await expect(page.getByRole("region", { name: "Cloud" })).toContainText("c7g.xlarge");
  await expect(page.getByRole("region", { name: "Limits" })).toHaveCount(0);
  await expect(page.locator("#chart-memory .legend")).toContainText("job (PSS)");
});

test("a run of three thousand years is drawn", async ({ report }) => {
  const page = await report.open("endless");
  await expect(page.locator(".range")).toHaveText("0 to 1157407 d 9 h");
  const ticks = await page.locator(".ticks span").count();
  expect(ticks).toBeGreaterThan(2);
  expect(ticks).toBeLessThan(12);
});

test("hostile names are shown as text", async ({ report }) => {
  const page = await report.open("hostile");
  await expect(page.locator("h1")).toContainText(HOSTILE);
  await expect(page.locator("h1")).toContainText("\\u202e");
  const command = page.locator("details.command");
  await expect(command.locator("summary")).toHaveText(/…$/);
  await command.locator("summary").click();
  await expect(command.locator("> code")).toHaveText(/x{10000}$/);
  expect(await page.title()).not.toBe("owned");
  expect(await page.locator("img").count()).toBe(0);
  expect(await page.locator("script").count()).toBe(2);
  await page.getByRole("button", { name: "Show all 41 rows" }).click();
  await expect(page.locator("#processes tbody")).toContainText(`${HOSTILE}\\x07`);
  await expect(page.locator(".facts")).toContainText("/home/\\u202etxt\\n");
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(1140);
});

test("a page without data explains how to make one", async ({ page }) => {
  await page.goto(`file://${TEMPLATE}`);
  await expect(page.locator("main")).toContainText("spoor report FILE");
});

test("the page without data is smaller than 200 kB", () => {
  expect(statSync(TEMPLATE).size).toBeLessThan(200e3);
  expect(readFileSync(TEMPLATE, "utf8").split("<!--spoor-data-->")).toHaveLength(2);
});
