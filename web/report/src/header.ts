// Shows the command, the machine, the times and the exit status of the run.

import { shortened, visible } from "./command";
import { curveCsv, rowsCsv } from "./curve";
import { button, h } from "./dom";
import { counted, date, duration } from "./format";
import { commandOf, elapsedOf, type Run, titleOf } from "./report";
import { download, fileName } from "./save";
import { endingOf } from "./verdict";

const PROCESS_KEYS = [
  "pid",
  "parent_pid",
  "name",
  "command",
  "started_seconds",
  "ended_seconds",
  "cpu_seconds",
  "peak_rss_bytes",
  "read_bytes",
  "written_bytes",
  "gpu_memory_bytes",
  "exit_code",
  "signal",
  "count",
] as const;

const RANK_KEYS = [
  "rank",
  "local_rank",
  "host",
  "id",
  "started_seconds",
  "elapsed_seconds",
  "cpu_seconds",
  "mean_cores",
  "peak_rss_bytes",
  "gpu_memory_bytes",
  "read_bytes",
  "written_bytes",
  "wait_seconds",
  "exit_code",
  "signal",
  "restart",
] as const;

function processRows(run: Run): Record<string, unknown>[] {
  const one = (run.processes?.largest ?? []).map((process) => ({ ...process, count: 1 }));
  const groups = (run.processes?.others ?? []).map((group) => ({ ...group }));
  return [...one, ...groups];
}

function downloads(run: Run): HTMLElement {
  const title = titleOf(run);
  const { curve } = run;
  const rows = processRows(run);
  const ranks = (run.rank_table ?? []).map((rank) => ({ ...rank }));
  return h(
    "div",
    { class: "downloads", role: "group", "aria-label": "Download the data" },
    button("JSON", "JSON: download the report", () =>
      download(fileName(title, ".json"), "application/json", `${JSON.stringify(run, null, 1)}\n`),
    ),
    curve &&
      Object.keys(curve.columns).length > 0 &&
      button("Curves CSV", "Curves CSV: download the curves", () =>
        download(fileName(title, "-curves.csv"), "text/csv", curveCsv(curve)),
      ),
    rows.length > 0 &&
      button("Processes CSV", "Processes CSV: download the processes", () =>
        download(fileName(title, "-processes.csv"), "text/csv", rowsCsv(PROCESS_KEYS, rows)),
      ),
    ranks.length > 0 &&
      button("Ranks CSV", "Ranks CSV: download the ranks", () =>
        download(fileName(title, "-ranks.csv"), "text/csv", rowsCsv(RANK_KEYS, ranks)),
      ),
  );
}

function facts(run: Run): [string, string][] {
  const { host, user, cwd, tags, spoor_version: version } = run.run;
  const place = [user, host].filter(Boolean).join("@");
  const labels = Object.entries(tags ?? {}).map(([key, value]) => `${key}=${value}`);
  const all: [string, string][] = [
    ["Wall time", duration(elapsedOf(run))],
    ["Started", date(run.run.started_at)],
    [host ? "Host" : "User", place],
    [
      "Ranks",
      run.group ? `${run.group.ranks} on ${counted((run.nodes ?? []).length, "node")}` : "",
    ],
    ["Directory", cwd ?? ""],
    ["Tags", labels.join(", ")],
    ["Started by", run.context?.integration ?? ""],
    ["Version", version ? `spoor ${version}` : ""],
  ];
  return all.filter(([, text]) => text !== "").map(([name, text]) => [name, visible(text)]);
}

// A long title is truncated; a command can be expanded.
function titleParts(run: Run): [HTMLElement, ...HTMLElement[]] {
  const command = commandOf(run);
  const title = titleOf(run);
  const isCommand = title === command;
  const cut = (text: string) => (shortened(text) === text ? undefined : text);
  const heading = h(
    "h1",
    { class: isCommand ? "is-command" : "", tabindex: "-1", title: cut(title) },
    shortened(title),
  );
  const code = h("code", {}, command);
  if (cut(command)) {
    const summary = isCommand ? "Whole command" : h("code", {}, shortened(command));
    return [heading, h("details", { class: "command" }, h("summary", {}, summary), code)];
  }
  return isCommand || command === "" ? [heading] : [heading, h("p", { class: "command" }, code)];
}

export function headerOf(run: Run): HTMLElement {
  const ending = endingOf(run);
  const [heading, ...command] = titleParts(run);
  return h(
    "header",
    { class: "run-header" },
    h("div", { class: "title-row" }, heading, downloads(run)),
    ...command,
    h(
      "dl",
      { class: "facts" },
      h(
        "div",
        {},
        h("dt", {}, "Status"),
        h("dd", { class: `status ${ending.outcome}` }, ending.text),
      ),
      ...facts(run).map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))),
    ),
  );
}
