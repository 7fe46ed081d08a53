// The security policy of the page: only its own script and style run, in Chromium and in
// Firefox.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { FIREFOX, Firefox } from "./firefox";
import { expect, test } from "./open";
import { FOLDER, TEMPLATE } from "./setup";

// HTML that is added to a page afterwards.
const ADDED = `<script>document.title = "owned"</script>
<img src="data:," onerror="document.title = 'owned'">
<iframe srcdoc="<script>parent.document.title = 'owned'</script>"></iframe>
<a id="run" href="javascript:document.title = 'owned'">run</a>
<base href="http://127.0.0.1:9/">
<form id="send" action="http://127.0.0.1:9/"><button>send</button></form>`;

function attacked(name: string): string {
  const page = readFileSync(join(FOLDER, "cpu.html"), "utf8");
  const file = join(FOLDER, `${name}.html`);
  writeFileSync(file, page.replace('<div id="runs">', `${ADDED}$&`));
  return pathToFileURL(file).href;
}

const PRESS =
  'document.getElementById("run").click(); document.querySelector("#send button").click()';

test("scripts that were added to a page do not run", async ({ page }) => {
  await page.addInitScript(() => {
    const refused: string[] = [];
    Object.assign(window, { refused });
    addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
  });
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  const url = attacked("attacked");
  await page.goto(url);
  await expect(page.locator("#chart-cpu canvas")).toBeVisible();
  await page.evaluate(PRESS);
  const refused = () =>
    page.evaluate(() => [...new Set((window as unknown as { refused: string[] }).refused)].sort());
  await expect
    .poll(refused)
    .toEqual(["base-uri", "form-action", "script-src-attr", "script-src-elem"]);
  expect(await page.title()).toBe("assembly - spoor report");
  expect(await page.evaluate(() => [document.baseURI, location.href])).toEqual([url, url]);
  expect(requests.filter((request) => !/^(file|data):/.test(request))).toEqual([]);
});

test("the policy allows the page's own script and style by their hashes", () => {
  const text = readFileSync(TEMPLATE, "utf8");
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)!;
  expect(policy).toMatch(/script-src 'sha256-[^' ]{44}'; style-src 'sha256-[^' ]{44}';/);
  expect(policy).not.toContain("unsafe");
});

test("the page carries the license of uPlot", () => {
  const [, comment] = readFileSync(TEMPLATE, "utf8")
    .split(/<!--\n|-->\n/)
    .slice(-3);
  expect(comment).toMatch(
    /uPlot[\s\S]*Copyright \(c\) \d+ Leon Sorokin[\s\S]*Permission is hereby granted/,
  );
});

test("Firefox draws the page without a complaint, and runs nothing else", async () => {
  test.skip(!existsSync(FIREFOX), "there is no Firefox");
  const firefox = await Firefox.start();
  try {
    for (const name of ["cpu", "gpu", "several"]) {
      const url = pathToFileURL(join(FOLDER, `${name}.html`)).href;
      await firefox.open(url);
      await expect
        .poll(() =>
          firefox.evaluate("return document.querySelector(\"main[aria-busy='false']\") !== null"),
        )
        .toBe(true);
      const drawn = await firefox.evaluate<number[]>(
        "return ['.plot', '.plot canvas'].map((each) => document.querySelectorAll(each).length)",
      );
      expect(drawn[0]).toBeGreaterThan(2);
      expect(drawn[1]).toBe(drawn[0]);
      expect(await firefox.complaints(url)).toEqual([]);
    }
    const url = attacked("attacked-firefox");
    await firefox.open(url);
    await firefox.evaluate(PRESS);
    await expect
      .poll(
        async () =>
          (await firefox.complaints(url)).filter((text) => /Content.Security/.test(text)).length,
      )
      .toBeGreaterThanOrEqual(4);
    expect(await firefox.evaluate("return [document.title, document.baseURI]")).toEqual([
      "assembly - spoor report",
      url,
    ]);
  } finally {
    await firefox.stop();
  }
});
