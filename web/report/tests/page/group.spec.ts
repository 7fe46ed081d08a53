// The ranks of a group: heat maps, tables, and the view of a single rank.

import { statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { HOSTILE } from "../fixtures";
import { expect, test } from "./open";
import { FOLDER } from "./setup";

const LEFT = 44;

// Returns the color of a map at the middle of a rank's line, at a share of the time.
async function pixel(page: Page, map: string, rank: number, ranks: number, share = 0.5) {
  return page.locator(`#heat-${map} canvas`).evaluate(
    (element, [rank, ranks, share, left]) => {
      const canvas = element as HTMLCanvasElement;
      const x = left! + share! * (canvas.width - left! - 24);
      const y = ((rank! + 0.5) / ranks!) * (canvas.height - 20);
      const copy = document.createElement("canvas").getContext("2d")!;
      copy.drawImage(canvas, -Math.floor(x), -Math.floor(y));
      return [...copy.getImageData(0, 0, 1, 1).data].join();
    },
    [rank, ranks, share, LEFT],
  );
}

async function pointAt(page: Page, map: string, rank: number, ranks: number, share: number) {
  const canvas = page.locator(`#heat-${map} canvas`);
  await canvas.scrollIntoViewIfNeeded();
  const { width, height } = (await canvas.boundingBox())!;
  const x = LEFT + share * (width - LEFT - 24);
  await canvas.hover({ position: { x, y: ((rank + 0.5) / ranks) * (height - 20) } });
}

test("a group has a verdict, heat maps and tables before the other sections", async ({
  report,
}) => {
  const page = await report.open("group");
  await expect(page.locator(".sentences li").first()).toHaveText(
    "15 of 16 ranks reported; rank 7 on n02 has no end.",
  );
  const ids = await page.locator("section[id]").evaluateAll((all) => all.map(({ id }) => id));
  expect(ids.slice(0, 7)).toEqual([
    ...["verdict", "next", "rank-maps", "ranks", "nodes", "usage", "charts"],
  ]);
  await expect(page.locator("#nodes tbody th").first()).toHaveText("n01 (most memory)");
  await expect(page.locator("#nodes td.bad")).toHaveText("3");
});

test("ranks that differ have different colors, in both themes", async ({ page, report }) => {
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await report.open("group");
    const [busy, missing, idle] = await Promise.all(
      [6, 7, 12].map((rank) => pixel(page, "cpu", rank, 16)),
    );
    expect(new Set([busy, missing, idle]).size).toBe(3);
    expect(await pixel(page, "memory", 1, 16)).not.toBe(await pixel(page, "memory", 5, 16));
    expect(await pixel(page, "memory", 1, 16, 0.1)).not.toBe(await pixel(page, "memory", 1, 16));
  }
});

test("a cell shows its rank and values, with pointer and keyboard", async ({ report }) => {
  const page = await report.open("group");
  const details = page.locator("#rank-maps .details");
  await expect(details).toContainText("Red: no report.");
  await pointAt(page, "memory", 12, 16, 0.5);
  await expect(details).toHaveText(/^rank 12 on n04 from 5 min to 5 min 5 s: 0\.01 cores, 83\d MB/);
  await pointAt(page, "cpu", 7, 16, 0.5);
  await expect(details).toHaveText("rank 7 on n02: it has no end");
  const map = page.locator("#heat-cpu .heat-map");
  await map.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowRight");
  await expect(page.locator("#announcer")).toHaveText(/^rank 6 on n02 from 5 min 5 s/);
  await expect(map).toHaveAttribute("aria-label", /Lowest mean: rank 12 on n04, 0\.01\./);
});

test("the heat maps are ordered by rank, node or figures", async ({ report }) => {
  const page = await report.open("group");
  const before = await pixel(page, "memory", 0, 16);
  await page.getByRole("button", { name: "Peak memory" }).first().click();
  expect(await pixel(page, "memory", 0, 16)).not.toBe(before);
  await pointAt(page, "memory", 0, 16, 0.5);
  await expect(page.locator("#rank-maps .details")).toContainText("rank 14 on n04");
  await pointAt(page, "memory", 15, 16, 0.5);
  await expect(page.locator("#rank-maps .details")).toContainText("rank 7 on n02");
});

test("the tables of ranks and nodes are sorted by any column", async ({ report }) => {
  const page = await report.open("group");
  const first = (id: string) => page.locator(`#${id} tbody tr`).first();
  const sort = (id: string, column: string) =>
    page.locator(`#${id} thead`).getByRole("button", { name: column }).click();
  await sort("ranks", "Mean cores");
  await sort("ranks", "Mean cores");
  await expect(first("ranks")).toContainText(/^12n04/);
  await sort("ranks", "Peak memory");
  await expect(first("ranks")).toContainText(/^14n04/);
  await sort("nodes", "Reported");
  await sort("nodes", "Reported");
  await expect(first("nodes")).toContainText("n02");
});

test("a rank has its own view", async ({ report }) => {
  const page = await report.open("group");
  await page.getByRole("button", { name: "Rank 12", exact: true }).click();
  await expect(page.locator("h1")).toHaveText("rank 12 on n04");
  await expect(page.locator("#chart-memory canvas")).toBeVisible();
  await page.getByRole("button", { name: "All ranks" }).click();
  await expect(page.locator("#ranks tbody tr")).toHaveCount(15);
});

test("hostile names of nodes are shown as text", async ({ report }) => {
  const page = await report.open("group-hostile");
  await expect(page.locator(".sentences li").first()).toContainText(`rank 3 on ${HOSTILE}0 has`);
  await expect(page.locator("#ranks tbody")).toContainText(`${HOSTILE}1`);
  await expect(page.locator("#nodes tbody")).toContainText(`${HOSTILE}1`);
  await pointAt(page, "cpu", 3, 8, 0.5);
  await expect(page.locator("#rank-maps .details")).toContainText(HOSTILE);
  expect(await page.title()).not.toBe("owned");
  expect(await page.locator("img").count()).toBe(0);
});

test("1,000 ranks: below 5 MB, and an idle one is seen", async ({ report }) => {
  expect(statSync(join(FOLDER, "group-large.html")).size).toBeLessThan(5e6);
  const page = await report.open("group-large");
  await expect(page.locator("#ranks tbody tr")).toHaveCount(15);
  expect(await pixel(page, "cpu", 334, 1000)).not.toBe(await pixel(page, "cpu", 320, 1000));
  await pointAt(page, "cpu", 334, 1000, 0.5);
  await expect(page.locator("#rank-maps .details")).toContainText("rank 334 on n07");
  await page.locator("#ranks").getByRole("button", { name: "Show all 1000 rows" }).click();
  await page.locator("#ranks thead").getByRole("button", { name: "CPU time" }).click();
  await page.locator("#ranks thead").getByRole("button", { name: "CPU time" }).click();
  await expect(page.locator("#ranks tbody tr").first()).toContainText(/^334n07/);
});
