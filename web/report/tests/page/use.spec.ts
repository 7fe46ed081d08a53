// Actions of a reader: zoom, point, sort, copy, download, compare.

import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "./open";

async function box(page: Page, selector: string) {
  await page.locator(selector).scrollIntoViewIfNeeded();
  return (await page.locator(selector).boundingBox())!;
}

test("dragging zooms every chart, and a double click shows the whole run", async ({ report }) => {
  const page = await report.open("cpu");
  const range = page.locator(".range");
  const bars = page.locator(".bar:visible");
  await expect(range).toHaveText("0 to 1 h");
  const all = await bars.count();
  const plot = await box(page, "#chart-memory .u-over");
  const y = plot.y + plot.height / 2;
  await page.mouse.move(plot.x + plot.width * 0.5, y);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width * 0.6, y, { steps: 4 });
  await page.mouse.move(plot.x + plot.width * 0.75, y, { steps: 4 });
  await page.mouse.up();
  await expect(range).toHaveText(/^(29|30) min.* to (44|45) min/);
  expect(await bars.count()).toBeLessThan(all);
  await page.mouse.dblclick(plot.x + plot.width * 0.3, y);
  await expect(range).toHaveText("0 to 1 h");
});

test("dragging over the timeline zooms, too", async ({ report }) => {
  const page = await report.open("build");
  const lanes = await box(page, ".lanes");
  const y = lanes.y + lanes.height - 4;
  await page.mouse.move(lanes.x + lanes.width * 0.8, y);
  await page.mouse.down();
  await page.mouse.move(lanes.x + lanes.width * 0.5, y, { steps: 4 });
  await page.mouse.up();
  await expect(page.locator(".range")).toHaveText(/^4[67](\.\d+)? s to 1 min 15/);
  await page.mouse.dblclick(lanes.x + lanes.width * 0.9, y);
  await expect(page.locator(".range")).toHaveText("0 to 1 min 34 s");
});

test("the cursor shows the values of every chart in its legend", async ({ report }) => {
  const page = await report.open("cpu");
  const when = page.locator(".when");
  await expect(when.first()).toHaveText("peak");
  const plot = await box(page, "#chart-cpu .u-over");
  await page.mouse.move(plot.x + plot.width / 2, plot.y + 20);
  for (const text of await when.allTextContents()) expect(text).toMatch(/^at (29|30) min/);
  await expect(page.locator("#chart-memory .legend-item").first()).toContainText("private 1.02 GB");
  await page.mouse.move(5, 5);
  await expect(when.first()).toHaveText("peak");
});

test("private and shared memory add up to the job's", async ({ report }) => {
  const page = await report.open("cpu");
  const plot = await box(page, "#chart-memory .u-over");
  for (const share of [0.2, 0.5, 0.8]) {
    await page.mouse.move(plot.x + plot.width * share, plot.y + 20);
    const amount = async (label: string) => {
      const item = page.locator("#chart-memory .legend-item", { hasText: label }).first();
      const [digits, unit] = (await item.locator(".value").innerText()).split(" ");
      return Number(digits) * { MB: 1e6, GB: 1e9 }[unit!]!;
    };
    const parts = (await amount("private")) + (await amount("shared"));
    expect(Math.abs(parts / (await amount("job")) - 1)).toBeLessThan(0.01); // the values have three digits
  }
});

test("a line can be hidden and shown", async ({ report }) => {
  const page = await report.open("cpu");
  const host = page.locator("#chart-memory .legend-item", { hasText: "host" });
  await expect(host).toHaveAttribute("aria-pressed", "false");
  await host.click();
  await expect(host).toHaveAttribute("aria-pressed", "true");
  await expect(host.locator(".value")).toBeVisible();
});

test("charts follow the keyboard", async ({ report }) => {
  const page = await report.open("cpu");
  await page.locator("#chart-cpu .plot").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#announcer")).toContainText("28.13 s: main 0.76");
  await page.keyboard.press("+");
  await expect(page.locator(".range")).not.toHaveText("0 to 1 h");
  await page.keyboard.press("0");
  await expect(page.locator(".range")).toHaveText("0 to 1 h");
});

test("a phase can be zoomed to", async ({ report }) => {
  const page = await report.open("cpu");
  await page.getByRole("button", { name: "Zoom to the phase sort" }).click();
  await expect(page.locator(".range")).toHaveText("25 min 12 s to 33 min");
  // The name of a process that started earlier must not be cut off.
  await expect(page.locator(".bar.main")).toHaveCSS("left", "0px");
  await page.getByRole("button", { name: "Whole run" }).click();
  await expect(page.locator(".range")).toHaveText("0 to 1 h");
});

test("the timeline shows the command of a process, with pointer and keyboard", async ({
  report,
}) => {
  const page = await report.open("build");
  const details = page.locator(".details");
  await page.locator(".bar", { hasText: "ld" }).hover();
  await expect(details).toContainText("/usr/bin/ld -o spoor main.o libspoor.a");
  await expect(details).toContainText("peak 600 MB, exit code 0");
  await page.locator(".bar.main").focus();
  await expect(details).toContainText("ninja -C build");
  await page.keyboard.press("ArrowRight");
  await expect(details).toContainText("src/module_2.c");
});

test("the table is sorted by any column", async ({ report }) => {
  const page = await report.open("cpu");
  const header = page.locator("#processes th", { hasText: "Peak memory" });
  const cells = page.locator("#processes tbody tr td:nth-child(3)");
  await header.getByRole("button").click();
  await expect(header).toHaveAttribute("aria-sort", "descending");
  await expect(cells.first()).toHaveText("1.05 GB");
  await header.getByRole("button").click();
  await expect(header).toHaveAttribute("aria-sort", "ascending");
  await expect(cells.first()).toHaveText("1.90 MB");
});

test("a figure links to its method", async ({ report }) => {
  const page = await report.open("cpu");
  await expect(page.locator("#sources table")).toBeHidden();
  await page.getByRole("button", { name: "5.85 GB: how it was measured" }).click();
  const row = page.locator("#source-memory-combined-total_rss_bytes");
  await expect(row).toBeFocused();
  await expect(row).toContainText("procfs.status.VmHWM");
  await expect(row).toContainText("5.85 GB to 6.08 GB");
});

test("the lines for the next run are shown and copied", async ({ report, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await report.open("gpu");
  await expect(page.locator("#next pre")).toHaveText("#SBATCH --cpus-per-task=5\n#SBATCH --mem=7G");
  await page.getByRole("button", { name: "Kubernetes" }).click();
  await page.getByRole("button", { name: "Copy these lines" }).click();
  await expect(page.locator("#announcer")).toHaveText("Copied");
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toBe("resources:\n  requests:");
});

test("data is downloaded as JSON and CSV", async ({ report }) => {
  const page = await report.open("cpu");
  const download = async (name: string) => {
    const promise = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    const file = await promise;
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
  };
  const json = await download("JSON: download the report");
  expect(json.name).toBe("assembly.json");
  expect(JSON.parse(json.text).schema).toBe("spoor/1");
  const curves = await download("Curves CSV: download the curves");
  expect(curves.text.split("\n")[0]).toContain("elapsed_seconds,main_cpu_cores,");
  expect(curves.text.trim().split("\n")).toHaveLength(257);
  const processes = await download("Processes CSV: download the processes");
  expect(processes.text.trim().split("\n")).toHaveLength(42);
});

test("several runs are side by side", async ({ report }) => {
  const page = await report.open("several");
  await expect(page.locator("h1")).toHaveText("3 runs");
  await expect(page.locator(".compare thead th")).toHaveText([
    "assembly",
    "assembly with more cores",
    "make -j4 check",
  ]);
  const row = page.locator(".compare tbody tr", { hasText: "Wall time" });
  await expect(row).toContainText("48 min 00 s −20 %");
  await expect(page.locator("#side-by-side")).toContainText("relative to the first run");
  await expect(page.locator(".chart h3").first()).toHaveText("CPU cores");
  await page.getByRole("button", { name: "make -j4 check" }).first().click();
  await expect(page.locator("h1")).toHaveText("make -j4 check");
  await expect(page.locator("#chart-cpu canvas")).toBeVisible();
});

test("a bench has box plots and a list of its runs", async ({ report }) => {
  const page = await report.open("bench");
  await expect(page.locator("h1")).toHaveText("3 commands");
  await expect(page.locator("#runs button")).toHaveText(["All runs"]);
  await expect(page.locator(".warnings li")).toHaveText("every run of '<b>xz</b>' failed");
  await expect(page.locator(".bench-name")).toHaveText([
    "gzip -kf data",
    "zstd -qf data",
    "<b>xz</b>",
  ]);
  await expect(page.locator(".box-plot")).toHaveCount(2); // no run of one command counts
  await expect(page.locator(".box-plot .dot")).toHaveCount(24);
  await expect(page.locator(".bench-row").first()).toContainText("3.00 times (2.85 to 3.15)");
  await expect(page.locator(".bench-row").nth(1)).toContainText("lowest");
  const outside = await page.locator(".box-plot").evaluateAll((plots) =>
    plots.flatMap((plot) => {
      const { left, right } = plot.getBoundingClientRect();
      return [...plot.querySelectorAll(".dot")]
        .map((dot) => dot.getBoundingClientRect())
        .filter((dot) => dot.left < left || dot.right > right);
    }),
  );
  expect(outside).toEqual([]);
  await expect(page.locator("#runs-list tbody tr")).toHaveCount(36);
  await page.getByRole("button", { name: "Run 2", exact: true }).click();
  await expect(page.locator("h1")).toHaveText("zstd -qf data");
  await page.getByRole("button", { name: "All runs" }).click();
  await expect(page.locator("h1")).toHaveText("3 commands");
});

test("five runs fit on a screen of 1280 pixels", async ({ page, report }) => {
  await page.setViewportSize({ width: 1280, height: 900 });
  await report.open("five");
  const area = page.locator("#side-by-side .table-scroll");
  expect(await area.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  await expect(area).not.toHaveClass(/more/);
  const cut = await area
    .locator("th, td")
    .evaluateAll((cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
  expect(cut).toBe(0);
});

test("columns scroll below the first, and fade at the end", async ({ page, report }) => {
  await page.setViewportSize({ width: 700, height: 900 });
  await report.open("five");
  const area = page.locator("#side-by-side .table-scroll");
  await expect(area).toHaveClass("table-scroll more-after");
  const first = page.locator(".compare tbody th").first();
  const before = (await first.boundingBox())!;
  await area.evaluate((each) => each.scrollTo(each.scrollWidth, 0));
  await expect(area).toHaveClass("table-scroll more-before");
  expect(await first.boundingBox()).toEqual(before);
  const { x, y, height } = before;
  const top = await page.evaluate(
    ([x, y]) => document.elementFromPoint(x!, y!)?.textContent,
    [x + 4, y + height / 2],
  );
  expect(top).toBe("Status");
});

test("the zoom bar hides what scrolls below it", async ({ report }) => {
  const page = await report.open("cpu");
  await page
    .locator("#chart-disk")
    .evaluate((chart) => scrollTo(0, scrollY + chart.getBoundingClientRect().top));
  const section = (await page.locator("#charts").boundingBox())!;
  expect(section.y).toBeLessThan(-100);
  const atTop = (share: number) =>
    page.evaluate(
      ([x, y]) => document.elementFromPoint(x!, y!)?.closest("h2, .tools, canvas")?.nodeName,
      [section.x + section.width * share, 12],
    );
  for (const share of [0.02, 0.3, 0.6]) expect(await atTop(share)).toBe("H2");
  expect(await atTop(0.95)).toBe("DIV"); // the zoom buttons
});
