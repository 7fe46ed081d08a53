// build.mjs OUTPUT [DEPFILE] - bundles the report page into one HTML file.
//
// The file contains the line <!--spoor-data-->, where the program inserts the data. DEPFILE
// lists the inputs of the page, for ninja. The page's security policy allows only its own
// script and style, by their hashes, so that nothing else in the file can run.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [output = join(here, "dist/report.html"), depfile] = process.argv.slice(2);
const template = join(here, "src/template.html");
const license = join(here, "node_modules/uplot/LICENSE"); // every copy of uPlot must include its license

async function bundle(entry, options) {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(here, entry)],
    absWorkingDir: here,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    legalComments: "none",
    ...options,
  });
  const inputs = Object.keys(metafile.inputs).map((path) => resolve(here, path));
  return { text: outputFiles[0].text.trim(), inputs };
}

const script = await bundle("src/main.ts", { format: "iife", target: "es2021" });
const style = await bundle("src/style.css", { target: "chrome111" });

function hashOf(text) {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

const parts = {
  "SCRIPT-HASH": hashOf(script.text),
  "STYLE-HASH": hashOf(style.text),
  "UPLOT-LICENSE": readFileSync(license, "utf8").trim(),
  "/*style*/": style.text,
  "/*script*/": script.text,
};
let page = readFileSync(template, "utf8");
for (const [place, text] of Object.entries(parts)) {
  if (page.split(place).length !== 2) throw new Error(`expected ${place} exactly once`);
  page = page.replace(place, () => text); // a function, because "$&" in the text would be a pattern
}

if (page.split("<!--spoor-data-->").length !== 2)
  throw new Error("expected <!--spoor-data--> exactly once");
if (/<\/script|<!--/i.test(script.text) || /<\/style/i.test(style.text))
  throw new Error("a bundle ends its own element");
if (parts["UPLOT-LICENSE"].includes("--")) throw new Error("a license ends its comment");
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, page);
if (depfile) {
  const inputs = [
    template,
    license,
    fileURLToPath(import.meta.url),
    ...script.inputs,
    ...style.inputs,
  ];
  const escaped = inputs.map((path) => path.replaceAll(" ", "\\ "));
  writeFileSync(depfile, `${output}: ${escaped.join(" ")}\n`);
}
