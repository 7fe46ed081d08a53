// The processes: a timeline of the largest, and a table of all listed processes.

import { visible } from "./command";
import { h, section } from "./dom";
import * as format from "./format";
import type { Span } from "./overlay";
import { number, type Process, type ProcessGroup, type Run, valueAt } from "./report";
import { Table, type TableColumn } from "./table";
import type { TimeAxis } from "./time_axis";
import { Timeline } from "./timeline";

const ROWS_AT_FIRST = 15;

// One process, or the sum of all processes with one name.
interface ProcessRow {
  process: Process | null;
  group: ProcessGroup | null;
}

function nameOf({ process, group }: ProcessRow): string {
  if (process) return visible(process.name ?? "");
  const name = visible(group!.name ?? "other processes");
  return (group!.count ?? 0) > 0 ? `${name} × ${group!.count}` : name;
}

function lifeOf(process: Process | null, end: number): number {
  if (!process || process.started_seconds === null) return Number.NaN;
  return (process.ended_seconds ?? end) - process.started_seconds;
}

// An attached process started before the run.
export function startText(seconds: number): string {
  return seconds < 0 ? `−${format.duration(-seconds)}` : format.duration(seconds);
}

function exitOf(process: Process | null): string {
  if (!process) return "";
  if (process.signal) return process.signal;
  return process.exit_code === null ? "" : String(process.exit_code);
}

function columnsOf(rows: ProcessRow[], end: number): TableColumn<ProcessRow>[] {
  const numeric = (
    title: string,
    key: (row: ProcessRow) => number,
    text: (value: number) => string,
  ): TableColumn<ProcessRow> => ({
    title,
    key,
    text: (row) => (Number.isNaN(key(row)) ? "" : text(key(row))),
    kind: "number",
  });
  const own = (key: keyof Process) => (row: ProcessRow) => number(row.process?.[key]);
  const either = (key: "cpu_seconds" | "peak_rss_bytes") => (row: ProcessRow) =>
    number((row.process ?? row.group)?.[key]);
  const columns: TableColumn<ProcessRow>[] = [
    { title: "Name", key: nameOf, text: nameOf, isRowHeader: true },
    numeric("CPU time", either("cpu_seconds"), format.duration),
    numeric("CPU wait", own("cpu_wait_seconds"), format.duration),
    numeric("Peak memory", either("peak_rss_bytes"), format.bytes),
    numeric("GPU memory", own("gpu_memory_bytes"), format.bytes),
    numeric("Read", own("read_bytes"), format.bytes),
    numeric("Written", own("written_bytes"), format.bytes),
    numeric("Start", own("started_seconds"), startText),
    numeric("Life", (row) => lifeOf(row.process, end), format.duration),
    {
      title: "Exit",
      key: (row) => exitOf(row.process),
      text: (row) => exitOf(row.process),
      kind: "number",
      isBad: ({ process }) => Boolean(process?.signal) || (process?.exit_code ?? 0) !== 0,
    },
    numeric("PID", own("pid"), format.count),
    { ...numeric("Parent", own("parent_pid"), format.count), isMinor: true },
    {
      title: "Command",
      key: (row) => row.process?.command ?? "",
      text: (row) => row.process?.command ?? "",
      kind: "code",
    },
  ];
  // Leaves out columns that are empty in every row.
  return columns.filter(({ text }) => rows.some((row) => text(row) !== ""));
}

// Returns a text about the processes that are not listed.
function restText(others: ProcessGroup[]): string {
  const counted = others.filter(({ count }) => (count ?? 0) > 0);
  if (counted.every(({ name }) => name === null)) return "the names of the others are not known";
  const isAllNamed = counted.every(({ name }) => name !== null);
  return `the others are summed by name${isAllNamed ? "" : " if it is known"}`;
}

// Returns "The 212 largest of 5212 processes; the others are summed by name."
export function coverage(run: Run, largest: Process[], others: ProcessGroup[]): string {
  const summed = others.reduce((sum, group) => sum + (group.count ?? 0), 0);
  const cpu = [...largest, ...others].reduce((sum, { cpu_seconds }) => sum + (cpu_seconds ?? 0), 0);
  const total = valueAt(run, "cpu.total_seconds");
  const shown =
    summed > 0
      ? `The ${largest.length} largest of ${largest.length + summed} processes; ${restText(others)}.`
      : `${format.counted(largest.length, "process", "processes")}.`;
  const all = largest.length + summed === 1 ? "It" : "Together they";
  const time = Number.isNaN(total)
    ? ""
    : ` ${all} used ${format.duration(cpu)} of the job's ${format.duration(total)} of CPU time.`;
  return shown + time;
}

export interface ProcessesView {
  root: HTMLElement;
  timeline: Timeline | null;
}

export function processesOf(run: Run, axis: TimeAxis, spans: Span[]): ProcessesView | null {
  const largest = run.processes?.largest ?? [];
  const others = run.processes?.others ?? [];
  if (largest.length + others.length === 0) return null;
  const rows: ProcessRow[] = [
    ...largest.map((process) => ({ process, group: null })),
    ...others.map((group) => ({ process: null, group })),
  ];
  const columns = columnsOf(rows, axis.end);
  const table = new Table(columns, rows, {
    caption: "Processes of the job",
    sorted: columns.findIndex(({ title }) => title === "CPU time"),
    limit: ROWS_AT_FIRST,
  });
  const timeline = largest.length > 0 ? new Timeline(run, largest, axis, spans) : null;
  const root = section(
    "processes",
    "Processes",
    h("p", { class: "dim" }, coverage(run, largest, others)),
    timeline?.root,
    table.root,
  );
  return { root, timeline };
}
