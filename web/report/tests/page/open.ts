// Opens a page of the fixtures. Fails the test if the page logs an error or sends a request.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test as base, expect, type Page } from "@playwright/test";
import { FOLDER } from "./setup";

export { expect };

export interface Report {
  open(name: string): Promise<Page>; // opens the page of a fixture
  openFile(path: string): Promise<Page>;
}

export const test = base.extend<{ report: Report }>({
  report: async ({ page }, use) => {
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => {
      if (!/^(file|blob|data):/.test(request.url())) complaints.push(`request ${request.url()}`);
    });
    const openFile = async (path: string) => {
      await page.goto(pathToFileURL(path).href);
      await allDrawn(page);
      return page;
    };
    await use({ openFile, open: (name) => openFile(join(FOLDER, `${name}.html`)) });
    expect(complaints).toEqual([]);
  },
});

// Waits until the page is complete and every chart has its canvas.
async function allDrawn(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const plots = [...document.querySelectorAll(".plot")];
    const isBusy = document.querySelector("main[aria-busy='true']") !== null;
    return !isBusy && plots.every((plot) => plot.querySelector("canvas"));
  });
}
