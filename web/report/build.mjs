// build.mjs OUTPUT - bundle the report page into one HTML file.
//
// The file has the line <!--spoor-data--> where the program puts the data.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? join(here, "dist/report.html");

const options = {
  bundle: true,
  minify: true,
  write: false,
  legalComments: "none",
  target: "es2021",
};
const script = await build({
  ...options,
  entryPoints: [join(here, "src/main.ts")],
  format: "iife",
});
const style = await build({
  ...options,
  entryPoints: [join(here, "src/style.css")],
  target: "chrome111",
});

// Replaced by functions: what a bundle holds is no pattern. No text of ours may end its element.
const text = (result) => result.outputFiles[0].text.trim().replaceAll("</", "<\\/");
const page = readFileSync(join(here, "src/template.html"), "utf8")
  .replace("/*style*/", () => style.outputFiles[0].text.trim())
  .replace("/*script*/", () => text(script));

if (page.split("<!--spoor-data-->").length !== 2)
  throw new Error("the template must have one line <!--spoor-data-->");
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, page);
