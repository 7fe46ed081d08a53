// Earlier runs of the same step, as the workflow manager that started this one has kept them.

import { h, section } from "./dom";
import { short } from "./format";
import type { Run } from "./report";
import { Table, type TableColumn } from "./table";

type Row = Record<string, unknown>;

// {cpu_usage: {mean: 1, max: 2}} as cpu_usage.mean and cpu_usage.max.
function flat(row: Row, prefix = ""): Row {
  const result: Row = {};
  for (const [key, value] of Object.entries(row)) {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      Object.assign(result, flat(value as Row, `${prefix}${key}.`));
    else result[prefix + key] = value;
  }
  return result;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "number" && !Number.isInteger(value) && value >= 0
    ? short(value)
    : String(value);
}

export function historyOf(run: Run): HTMLElement | null {
  const rows = (run.context?.historical ?? []).map((row) => flat(row));
  if (rows.length === 0) return null;
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = keys.map((key, index): TableColumn<Row> => {
    const isNumber = rows.every((row) => typeof (row[key] ?? 0) === "number");
    return {
      title: key.replaceAll("_", " "),
      key: (row) => (isNumber ? Number(row[key] ?? Number.NaN) : textOf(row[key])),
      text: (row) => textOf(row[key]),
      kind: isNumber ? "number" : "text",
      isRowHeader: index === 0,
    };
  });
  const table = new Table(columns, rows, { caption: "Earlier runs" });
  return section(
    "history",
    "Earlier runs",
    h("p", { class: "dim" }, "Successful runs of the same step before this one."),
    table.root,
  );
}
