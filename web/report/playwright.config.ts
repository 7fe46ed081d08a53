// Tests the page in Debian's Chromium, or in the browser named by CHROMIUM.

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests/page",
  globalSetup: "./tests/page/setup.ts",
  outputDir: "test-results/output",
  fullyParallel: true,
  workers: 2,
  timeout: 120_000, // sufficient on a busy machine
  expect: { timeout: 20_000 },
  reporter: process.env.REPORT_FILE ? [["junit", { outputFile: process.env.REPORT_FILE }]] : "list",
  use: {
    viewport: { width: 1140, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--force-device-scale-factor=1"],
    },
  },
});
