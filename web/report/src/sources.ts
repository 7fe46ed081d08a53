// The source of each number: one row per figure, initially folded.

import { h, scrollArea } from "./dom";
import * as format from "./format";
import { type Measure, measuresOf, type Run } from "./report";

function textOf(path: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return "n/a";
  if (/bytes_per_second$/.test(path)) return format.bytesPerSecond(value);
  if (/bytes$|_chars$/.test(path)) return format.bytes(value);
  if (/seconds$/.test(path)) return format.duration(value);
  if (/joules$/.test(path)) return format.energy(value);
  if (/watts$/.test(path)) return format.watts(value);
  if (/celsius$/.test(path)) return format.celsius(value);
  if (/cores$|gpus$/.test(path)) return format.short(value);
  if (/utilization\.(mean|max)$|_ratio$/.test(path)) return format.percent(value);
  return format.units.count.text(value);
}

function boundsOf(path: string, { low, high }: Measure): string {
  if (low === undefined && high === undefined) return "";
  const [from, to] = [textOf(path, low), textOf(path, high)];
  return to === "n/a" ? `at least ${from}` : `${from} to ${to}`;
}

function idOf(path: string): string {
  return `source-${path.replaceAll(".", "-")}`;
}

export class Sources {
  readonly root: HTMLDetailsElement;
  private readonly body = h("tbody");
  private isFilled = false;

  constructor(private readonly run: Run) {
    const titles = ["Figure", "Value", "How", "Source", "Bounds"];
    this.root = h(
      "details",
      { id: "sources", class: "sources" },
      h("summary", {}, h("h2", {}, "How each number was measured")),
      h(
        "p",
        { class: "dim" },
        "Exact figures are counters of the kernel or of a driver. Sampled figures are read at every interval; a sampled peak has bounds if the kernel provides them.",
      ),
      scrollArea(
        "Sources",
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, ...titles.map((title) => h("th", { scope: "col" }, title)))),
          this.body,
        ),
      ),
    );
    this.root.addEventListener("toggle", () => this.fill());
  }

  private fill(): void {
    if (this.isFilled) return;
    this.isFilled = true;
    for (const [path, measure] of measuresOf(this.run)) {
      const how = measure.value === null ? "unknown" : measure.exact ? "exact" : "sampled";
      this.body.append(
        h(
          "tr",
          { id: idOf(path), tabindex: "-1" },
          h("th", { scope: "row" }, h("code", {}, path)),
          h("td", {}, textOf(path, measure.value)),
          h("td", { class: how }, how),
          h("td", {}, measure.value === null ? (measure.reason ?? "") : (measure.source ?? "")),
          h("td", {}, boundsOf(path, measure)),
        ),
      );
    }
  }

  open(path: string): void {
    this.root.open = true;
    this.fill();
    const row = document.getElementById(idOf(path));
    row?.scrollIntoView({ block: "center" });
    row?.focus({ preventScroll: true });
  }
}
