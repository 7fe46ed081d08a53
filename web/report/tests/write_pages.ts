// Writes a page for each fixture: write_pages(FOLDER).

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillTemplate, pages } from "./fixtures";

export function writePages(template: string, folder: string): void {
  const text = readFileSync(template, "utf8");
  mkdirSync(folder, { recursive: true });
  for (const [name, data] of Object.entries(pages))
    writeFileSync(join(folder, `${name}.html`), fillTemplate(text, data()));
}
