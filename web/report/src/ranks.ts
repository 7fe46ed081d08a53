// The sections of a group: the ranks over time, and tables of ranks and nodes.

import { visible } from "./command";
import { h, section } from "./dom";
import * as format from "./format";
import { endOfRank, hasFailed } from "./group";
import { HeatMaps } from "./heat_map";
import { type GroupNode, number, type Rank, type Run } from "./report";
import { Table, type TableColumn } from "./table";

const ROWS_AT_FIRST = 15;

type Key<Row> = (row: Row) => number;

function numeric<Row>(
  title: string,
  key: Key<Row>,
  text: (value: number) => string,
  more: Partial<TableColumn<Row>> = {},
): TableColumn<Row> {
  const shown = (row: Row) => (Number.isNaN(key(row)) ? "" : text(key(row)));
  return { title, key, text: shown, kind: "number", ...more };
}

// Leaves out columns that are empty or 0 in every row.
function tableOf<Row>(columns: TableColumn<Row>[], rows: Row[], caption: string): HTMLElement {
  const used = columns.filter(
    ({ isRowHeader, key }) => isRowHeader || rows.some((row) => Boolean(key(row))),
  );
  return new Table(used, rows, { caption, limit: ROWS_AT_FIRST }).root;
}

function rankTable(ranks: Rank[], open?: (index: number) => void): HTMLElement {
  const of = (key: keyof Rank) => (rank: Rank) => number(rank[key]);
  const press = open && ((rank: Rank) => open(ranks.indexOf(rank)));
  const isBad = hasFailed;
  const columns: TableColumn<Rank>[] = [
    {
      ...numeric("Rank", of("rank"), format.count),
      text: ({ rank, id }) => String(rank ?? visible(id ?? "").slice(0, 8)),
      isRowHeader: true,
      press,
    },
    { title: "Host", key: (rank) => visible(rank.host ?? ""), text: (r) => visible(r.host ?? "") },
    numeric("CPU time", of("cpu_seconds"), format.duration),
    numeric("Mean cores", of("mean_cores"), format.short),
    numeric("Peak memory", of("peak_rss_bytes"), format.bytes),
    numeric("GPU memory", of("gpu_memory_bytes"), format.bytes),
    numeric("Read", of("read_bytes"), format.bytes),
    numeric("Written", of("written_bytes"), format.bytes),
    numeric("Waited", of("wait_seconds"), format.duration),
    numeric("Start", of("started_seconds"), format.duration),
    numeric("Time", of("elapsed_seconds"), format.duration),
    { title: "End", key: endOfRank, text: endOfRank, isBad },
    numeric("Restarts", of("restart"), format.count),
  ];
  return tableOf(columns, ranks, "Ranks of the job");
}

function boundsOf({ memory }: GroupNode): string {
  const [low, high] = [number(memory?.low), number(memory?.high)];
  if (Number.isNaN(low)) return "";
  return Number.isNaN(high)
    ? `at least ${format.bytes(low)}`
    : format.rangeText(format.units.bytes, low, high);
}

function nodeTable(nodes: GroupNode[], deciding: string | null | undefined): HTMLElement {
  const of = (key: keyof GroupNode) => (node: GroupNode) => number(node[key]);
  const peak = ({ memory }: GroupNode) => number(memory?.value);
  const host = (node: GroupNode) =>
    visible(node.host ?? "") + (node.host === deciding ? " (most memory)" : "");
  const gpus = (node: GroupNode) => (node.gpus ?? []).length;
  const columns: TableColumn<GroupNode>[] = [
    { title: "Node", key: host, text: host, isRowHeader: true },
    numeric("Ranks", of("ranks"), format.count),
    numeric("Reported", of("reported"), format.count, {
      isBad: ({ ranks, reported }) => number(reported) < number(ranks),
    }),
    numeric("CPU time", of("cpu_seconds"), format.duration),
    numeric("Peak memory", peak, format.bytes),
    { title: "Between", key: (node) => number(node.memory?.low), text: boundsOf, kind: "number" },
    numeric("Limit", of("memory_limit_bytes"), format.bytes),
    numeric("Of limit", (node) => peak(node) / of("memory_limit_bytes")(node), format.percent),
    numeric("CPUs", of("cpus"), format.count),
    numeric("GPUs", gpus, format.count),
    numeric("Time", of("elapsed_seconds"), format.duration),
  ];
  return tableOf(columns, nodes, "Nodes of the job");
}

export interface RanksView {
  sections: HTMLElement[];
  maps: HeatMaps | null;
}

export function ranksOf(run: Run, open?: (index: number) => void): RanksView | null {
  if (!run.group) return null;
  const { rank_table: ranks = [], nodes = [], group } = run;
  const maps = (run.rank_curves?.seconds ?? []).length > 0 ? new HeatMaps(run) : null;
  const hint = open ? " Press the number of a rank to see its own curves." : "";
  const sections = [
    maps && section("rank-maps", "Ranks over time", maps.root),
    ranks.length > 0 &&
      section("ranks", "Ranks", h("p", { class: "dim" }, hint), rankTable(ranks, open)),
    nodes.length > 0 && section("nodes", "Nodes", nodeTable(nodes, group.deciding_node)),
  ];
  return { sections: sections.filter((each): each is HTMLElement => Boolean(each)), maps };
}
