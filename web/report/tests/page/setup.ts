// Runs before the tests: bundles the page, and writes one page for each fixture.

import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { writePages } from "../write_pages";

const TOP = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const FOLDER = join(TOP, "test-results/pages");
export const TEMPLATE = process.env.REPORT_TEMPLATE ?? join(FOLDER, "../report.html");

export default function setup(): void {
  if (!process.env.REPORT_TEMPLATE)
    execFileSync(process.execPath, [join(TOP, "build.mjs"), TEMPLATE], { stdio: "inherit" });
  writePages(TEMPLATE, FOLDER);
}
