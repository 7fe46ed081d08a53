// Data of the program that started the run: earlier runs, and servers for rent.

import { h, section } from "./dom";
import * as format from "./format";
import { number, type PastRun, type Run, type Server } from "./report";
import { Table, type TableColumn } from "./table";

function numeric<Row>(
  title: string,
  key: (row: Row) => number,
  text: (value: number) => string,
): TableColumn<Row> {
  return {
    title,
    key,
    text: (row) => (Number.isNaN(key(row)) ? "" : text(key(row))),
    kind: "number",
  };
}

// Leaves out columns that are empty in every row.
function known<Row>(columns: TableColumn<Row>[], rows: Row[]): TableColumn<Row>[] {
  return columns.filter(({ text }) => rows.some((row) => text(row) !== ""));
}

interface NamedRun {
  name: string;
  run: PastRun;
}

const runColumns: TableColumn<NamedRun>[] = [
  { title: "Run", key: ({ name }) => name, text: ({ name }) => name, isRowHeader: true },
  ...(
    [
      ["Time", "elapsed_seconds", format.duration],
      ["Mean cores", "cpu_mean_cores", format.short],
      ["Peak cores", "cpu_max_cores", format.short],
      ["Mean memory", "memory_mean_bytes", format.bytes],
      ["Peak memory", "memory_peak_bytes", format.bytes],
      ["Mean GPUs", "gpu_mean_gpus", format.short],
      ["Peak GPU memory", "gpu_memory_peak_bytes", format.bytes],
      ["Received", "received_bytes", format.bytes],
      ["Sent", "sent_bytes", format.bytes],
    ] as const
  ).map(([title, key, text]) => numeric<NamedRun>(title, ({ run }) => number(run[key]), text)),
];

export function historyOf(run: Run): HTMLElement | null {
  const { current, historical } = run.context ?? {};
  if (!historical || historical.length === 0) return null;
  const rows = historical.map((past, index) => ({ name: `${index + 1} before`, run: past }));
  if (current) rows.unshift({ name: "this run", run: current });
  const table = new Table(known(runColumns, rows), rows, { caption: "Earlier runs" });
  return section("history", "Earlier runs", table.root);
}

const serverColumns: TableColumn<Server>[] = [
  {
    title: "Server",
    key: ({ name }) => name ?? "",
    text: ({ name }) => name ?? "",
    isRowHeader: true,
  },
  { title: "Vendor", key: ({ vendor }) => vendor ?? "", text: ({ vendor }) => vendor ?? "" },
  numeric("CPUs", ({ cpus }) => number(cpus), format.count),
  numeric("Memory", ({ memory_bytes: memory }) => number(memory), format.bytes),
  numeric("GPUs", ({ gpus }) => number(gpus), format.count),
  numeric("Price per hour", ({ usd_per_hour: price }) => number(price), format.dollars),
];

export function serversOf(run: Run): HTMLElement | null {
  const { servers, servers_reason: reason } = run.context ?? {};
  if (!servers || servers.length === 0) {
    if (!reason) return null;
    return section("servers", "Servers", h("p", { class: "dim" }, `None listed: ${reason}`));
  }
  const table = new Table(known(serverColumns, servers), servers, { caption: "Servers" });
  return section("servers", "Servers that fit the next run", table.root);
}
