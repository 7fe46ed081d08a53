// Context of the run: machine, cloud, limits, energy, and the cost of tracking.

import { h } from "./dom";
import * as format from "./format";
import {
  elapsedOf,
  type Gpu,
  gpusOf,
  measureAt,
  number,
  type Run,
  type Section,
  valueAt,
} from "./report";

type Fact = [string, string];

function known(facts: Fact[]): Fact[] {
  return facts.filter(([, text]) => text !== "" && text !== "n/a");
}

function models(gpus: Gpu[]): string {
  const counts = new Map<string, number>();
  for (const gpu of gpus) counts.set(gpu.name ?? "GPU", (counts.get(gpu.name ?? "GPU") ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${count} x ${name}` : name)).join(", ");
}

function machine(run: Run): Fact[] {
  const { host } = run;
  return known([
    ["CPU", (host?.cpu_model ?? "").replace(/\((R|TM)\)/gi, "")],
    ["CPUs", format.count(number(host?.cpus))],
    ["Memory", format.bytes(number(host?.memory_bytes))],
    ["GPUs", models(host?.gpus ?? [])],
    ["System", host?.os ?? ""],
    ["Kernel", host?.kernel ?? ""],
    ["Allocation", run.context?.allocation ?? ""],
  ]);
}

function cloud(run: Run): Fact[] {
  return Object.entries(run.context?.cloud ?? run.host?.cloud ?? {})
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .map(([key, value]) => [format.capitalized(key.replaceAll("_", " ")), String(value)]);
}

function price(run: Run): Fact[] {
  const { usd_per_hour: hourly, cost_usd: cost } = run.context ?? {};
  return known([
    ["This run", format.dollars(number(cost))],
    ["Per hour", format.dollars(number(hourly))],
  ]);
}

// For a job that spoor tracked, null means no limit. Other programs do not record limits, nor
// does a table of samples, which names no machine.
function areLimitsKnown(run: Run): boolean {
  const { cpus, memory_bytes: memory } = run.limits ?? {};
  if (typeof cpus === "number" || typeof memory === "number") return true;
  return !run.context && typeof run.host?.cpus === "number";
}

function limits(run: Run): Fact[] {
  const limits = run.limits ?? {};
  const from = (source: string | null | undefined) => (source ? ` (${source})` : "");
  const cpus = number(limits.cpus);
  const memory = number(limits.memory_bytes);
  const gpus = gpusOf(run).length;
  return [
    [
      "CPUs",
      Number.isNaN(cpus) ? "no limit" : `${Number(cpus.toFixed(2))}${from(limits.cpus_source)}`,
    ],
    [
      "Memory",
      Number.isNaN(memory) ? "no limit" : format.bytes(memory) + from(limits.memory_source),
    ],
    ...(gpus > 0 ? [["GPUs", format.count(gpus)] as Fact] : []),
  ];
}

function connections(run: Run): Fact[] {
  return (run.network?.remotes ?? []).map((remote) => [
    remote.address ?? "others",
    `${format.bytes(remote.received_bytes)} received, ${format.bytes(remote.sent_bytes)} sent, ` +
      format.counted(remote.connections, "connection", "connections"),
  ]);
}

function energy(run: Run): Fact[] {
  const gpu = valueAt(run, "energy.gpu_joules");
  const cpu = valueAt(run, "energy.cpu_joules");
  const carbon = valueAt(run, "energy.co2e_grams");
  const text = (joules: number) =>
    `${format.energy(joules)}, ${format.watts(joules / elapsedOf(run))} on average`;
  if (Number.isNaN(gpu) && Number.isNaN(cpu)) return [];
  return known([
    ["GPUs", Number.isNaN(gpu) ? "" : text(gpu)],
    ["CPUs", Number.isNaN(cpu) ? (measureAt(run, "energy.cpu_joules")?.reason ?? "") : text(cpu)],
    ["CO2 equivalent", Number.isNaN(carbon) ? "" : `${format.short(carbon)} g`],
  ]);
}

function tracking(run: Run): Fact[] {
  const tracker = (run.tracker ?? {}) as Section;
  const cpu = number(tracker.cpu_seconds);
  const elapsed = elapsedOf(run);
  const late = number(tracker.late_samples);
  const share = elapsed >= 0.1 ? ` (${format.percent(cpu / elapsed)} of a core)` : "";
  return known([
    ["CPU time", Number.isNaN(cpu) ? "" : format.duration(cpu) + share],
    ["Memory", format.bytes(number(tracker.max_rss_bytes))],
    ["Samples", format.count(number(run.run.samples)) + (late > 0 ? `, ${late} late` : "")],
    ["Interval", format.duration(number(run.run.interval_seconds))],
  ]);
}

function card(title: string, facts: Fact[]): HTMLElement | null {
  if (facts.length === 0) return null;
  return h(
    "section",
    { class: "card", "aria-label": title },
    h("h3", {}, title),
    h("dl", {}, ...facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
  );
}

export function cardsOf(run: Run): HTMLElement {
  return h(
    "div",
    { class: "cards" },
    card("Machine", machine(run)),
    card("Cloud", cloud(run)),
    card("Price", price(run)),
    card("Limits", areLimitsKnown(run) ? limits(run) : []),
    card("Connections by address", connections(run)),
    card("Energy", energy(run)),
    card("Cost of tracking", tracking(run)),
  );
}
