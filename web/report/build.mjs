// build.mjs OUTPUT [DEPFILE] - bundle the report page into one HTML file.
//
// The file has the line <!--spoor-data-->, where the program puts the data. DEPFILE lists what the
// page was made of, for ninja.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [output = join(here, "dist/report.html"), depfile] = process.argv.slice(2);
const template = join(here, "src/template.html");

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

// Functions, because "$&" in a bundle is not a pattern.
const page = readFileSync(template, "utf8")
  .replace("/*style*/", () => style.text)
  .replace("/*script*/", () => script.text);

if (page.split("<!--spoor-data-->").length !== 2)
  throw new Error("expected <!--spoor-data--> exactly once");
if (/<\/script/i.test(script.text) || /<\/style/i.test(style.text))
  throw new Error("a bundle ends its own element");
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, page);
if (depfile) {
  const inputs = [template, fileURLToPath(import.meta.url), ...script.inputs, ...style.inputs];
  const escaped = inputs.map((path) => path.replaceAll(" ", "\\ "));
  writeFileSync(depfile, `${output}: ${escaped.join(" ")}\n`);
}
