// The verdict, the warnings, and the resources to request for the next run.

import { button, h, section } from "./dom";
import { count, counted, memoryStep, timeStep } from "./format";
import {
  type Choice,
  number,
  type Recommendation,
  type Request,
  type Run,
  recommendationOf,
} from "./report";
import { copyButton } from "./save";
import { verdictOf } from "./verdict";

const REMEMBERED = "spoor-request-format";

function verdict(run: Run): HTMLElement {
  const warnings = run.warnings ?? [];
  return section(
    "verdict",
    "Verdict",
    h("ul", { class: "sentences" }, ...verdictOf(run).map((text) => h("li", {}, text))),
    warnings.length > 0 &&
      h(
        "ul",
        { class: "warnings", "aria-label": "Warnings" },
        ...warnings.map(({ message }) => h("li", {}, h("strong", {}, "Warning: "), message)),
      ),
  );
}

function amounts(recommendation: Recommendation): [string, string, string][] {
  const { cpus, memory_bytes: memory, gpus, vram_bytes: vram, seconds } = recommendation;
  const hasGpus = number(gpus?.value) > 0;
  const all: [string, typeof cpus, (value: number) => string][] = [
    ["CPUs", cpus, count],
    ["Memory", memory, memoryStep],
    ["GPUs", hasGpus ? gpus : undefined, count],
    ["GPU memory", hasGpus ? vram : undefined, memoryStep],
    ["Time", seconds, timeStep],
  ];
  return all
    .filter(([, need]) => need !== undefined)
    .map(([name, need, text]) => {
      const value = number(need!.value);
      const shown = Number.isNaN(value) ? "n/a" : text(value);
      return [name, need!.guess && !Number.isNaN(value) ? `≥ ${shown}` : shown, need!.why];
    });
}

// Some browsers refuse storage to pages opened from a file.
function remember(name?: string): string | null {
  try {
    if (name) localStorage.setItem(REMEMBERED, name);
    return localStorage.getItem(REMEMBERED);
  } catch {
    return null;
  }
}

function requestLines(requests: Request[], integration: string): HTMLElement {
  const code = h("code");
  const pre = h("pre", { tabindex: "0", "aria-label": "Lines to copy" }, code);
  const choose = (index: number) => {
    code.textContent = requests[index]!.text.trimEnd();
    for (const [at, tab] of tabs.entries()) tab.setAttribute("aria-pressed", String(at === index));
  };
  const tabs = requests.map(({ name, title }, index) =>
    button(title, title, () => {
      choose(index);
      remember(name);
    }),
  );
  const preferred = integration === "Metaflow" ? "metaflow" : remember();
  choose(
    Math.max(
      0,
      requests.findIndex(({ name }) => name === preferred),
    ),
  );
  return h(
    "div",
    { class: "requests" },
    h(
      "div",
      { class: "choices-row" },
      h("div", { class: "choices", role: "group", "aria-label": "Syntax of the lines" }, ...tabs),
      copyButton(() => code.textContent ?? ""),
    ),
    pre,
  );
}

// Returns "Choices: 1 CPU, 14 h 30 min; 2 CPUs, 8 h 00 min".
function choicesText(choices: Choice[]): string {
  const texts = choices.map((each) => `${counted(each.cpus, "CPU")}, ${timeStep(each.seconds)}`);
  return `Choices: ${texts.join("; ")}`;
}

function recommendation(run: Run): HTMLElement | null {
  const recommendation = recommendationOf(run);
  if (!recommendation) return null;
  const { note, choices = [], requests = [] } = recommendation;
  return section(
    "next",
    "Request for the next run",
    h(
      "dl",
      { class: "amounts" },
      ...amounts(recommendation).map(([name, text, reason]) =>
        h("div", { title: reason }, h("dt", {}, name), h("dd", {}, text)),
      ),
    ),
    note && h("p", { class: "dim note" }, note),
    choices.length > 1 && h("p", { class: "dim" }, choicesText(choices)),
    requests.length > 0 && requestLines(requests, run.context?.integration ?? ""),
    h(
      "details",
      { class: "why" },
      h("summary", {}, "Why these amounts"),
      h(
        "dl",
        {},
        ...amounts(recommendation).map(([name, , reason]) =>
          h("div", {}, h("dt", {}, name), h("dd", {}, reason)),
        ),
      ),
    ),
  );
}

export function adviceOf(run: Run): HTMLElement {
  return h("div", { class: "advice" }, verdict(run), recommendation(run));
}
