// The ranks of a group: their names, the sentences about them in the verdict, and the report of
// a single rank.

import { visible } from "./command";
import { bytes, capitalized, percent, rangeText, short, units } from "./format";
import { type Group, type GroupNode, type Measure, number, type Rank, type Run } from "./report";

const NAMED_MAX = 5; // most names in a sentence
const UNEVEN = 1.2; // times the mean
const IDLE = 0.05; // of the mean CPU time

export function rankName({ rank, host }: { rank: number | null; host: string | null }): string {
  const name = rank === null ? "a run without a rank" : `rank ${rank}`;
  return host ? `${name} on ${visible(host)}` : name;
}

export function endOfRank({ exit_code: code, signal }: Rank): string {
  if (signal) return `killed by ${visible(signal)}`;
  return code === null ? "exit code unknown" : `exit code ${code}`;
}

export function hasFailed({ exit_code: code, signal }: Rank): boolean {
  return Boolean(signal) || (code ?? 0) !== 0;
}

function listed(names: string[], count = names.length): string {
  const rest = count - Math.min(names.length, NAMED_MAX);
  const shown = names.slice(0, NAMED_MAX).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

// Returns "14 of 16 ranks reported"; an empty text if all did.
export function missingText({ ranks, reported }: Group): string {
  return number(ranks) > number(reported) ? `${reported} of ${ranks} ranks reported` : "";
}

function missing({ group }: Run): string {
  const text = missingText(group!);
  const names = (group!.missing ?? []).map(
    (each) => `${rankName(each)} ${visible(each.reason ?? "is missing").replace(/^it /, "")}`,
  );
  if (text === "" || names.length === 0) return text && `${text}.`;
  return `${text}; ${listed(names, number(group!.ranks) - number(group!.reported))}.`;
}

function failed(run: Run): string {
  const ranks = run.rank_table!.filter(hasFailed);
  const names = ranks.map((rank) => `${rankName(rank)} (${endOfRank(rank)})`);
  if (names.length === 1) return `${capitalized(names[0]!)} failed.`;
  return names.length === 0 ? "" : `${names.length} ranks failed: ${listed(names)}.`;
}

function node(run: Run): string {
  const nodes = run.nodes ?? [];
  const name = run.group!.deciding_node;
  const deciding = nodes.find(({ host }) => host === name);
  const peakOf = ({ memory }: GroupNode) => number(memory?.value);
  if (!deciding || Number.isNaN(peakOf(deciding))) return "";
  const limit = number(deciding.memory_limit_bytes);
  const share = percent(peakOf(deciding) / limit);
  const allowed = limit > 0 ? ` of ${bytes(limit)} allowed (${share})` : "";
  const others = nodes
    .filter((each) => each !== deciding)
    .map(peakOf)
    .filter((peak) => !Number.isNaN(peak));
  const range = rangeText(units.bytes, Math.min(...others), Math.max(...others));
  const rest = others.length > 0 ? `; the other nodes held ${range}` : "";
  return `Node ${visible(name ?? "")} decides how much memory to request: ${bytes(peakOf(deciding))}${allowed}${rest}.`;
}

function largest(ranks: Rank[], key: keyof Rank): string {
  const known = ranks.filter((rank) => !Number.isNaN(number(rank[key])));
  return rankName(known.reduce((most, rank) => (rank[key]! > most[key]! ? rank : most)));
}

function balance(run: Run): string {
  const kinds: [string, string, keyof Rank][] = [
    ["cpu", "CPU time", "cpu_seconds"],
    ["memory", "memory", "peak_rss_bytes"],
    ["elapsed", "run time", "elapsed_seconds"],
  ];
  const known = kinds
    .map(([key, name, column]) => ({ name, column, ratio: number(run.group!.imbalance?.[key]) }))
    .filter(
      ({ ratio, column }) => ratio > 0 && run.rank_table!.some((rank) => number(rank[column]) > 0),
    );
  const uneven = known.filter(({ ratio }) => ratio >= UNEVEN);
  const ratioText = ({ name, ratio }: { name: string; ratio: number }) =>
    `${name} up to ${short(ratio)} times the mean`;
  if (uneven.length > 0)
    return `The ranks are uneven: ${uneven
      .map((each) => `${ratioText(each)} (${largest(run.rank_table!, each.column)})`)
      .join(", ")}.`;
  return known.length > 0 ? `The ranks are balanced: ${known.map(ratioText).join(", ")}.` : "";
}

// Uses the same words as the text report.
function idle(run: Run): string {
  const ranks = run.rank_table!;
  const mean = ranks.reduce((sum, rank) => sum + (rank.cpu_seconds ?? 0), 0) / ranks.length;
  const names = ranks.filter((rank) => number(rank.cpu_seconds) < IDLE * mean).map(rankName);
  if (names.length === 1) return `${capitalized(names[0]!)} was idle.`;
  return names.length === 0 ? "" : `${names.length} ranks were idle: ${listed(names)}.`;
}

export function groupSentences(run: Run): string[] {
  if (!run.rank_table) return [missing(run)];
  return [missing, failed, balance, idle, node].map((sentence) => sentence(run));
}

// Extracts the report of one rank from the report of the group.
export function rankRun(run: Run, index: number): Run {
  const rank = run.rank_table![index]!;
  const { seconds = [], cores, memory_bytes: memory } = run.rank_curves ?? {};
  const figure = (value: number | null): Measure => ({ value, source: "rank_table", exact: false });
  const columns = {
    ...(cores?.[index] && { job_cpu_seconds: { kind: "rate" as const, high: cores[index] } }),
    ...(memory?.[index] && { job_rss_bytes: { kind: "gauge" as const, high: memory[index] } }),
  };
  return {
    run: {
      ...run.run,
      name: rankName(rank),
      host: rank.host,
      started_at: null,
      elapsed_seconds: rank.elapsed_seconds,
      exit_code: rank.exit_code,
      signal: rank.signal,
      samples: null,
    },
    cpu: { total_seconds: figure(rank.cpu_seconds), mean_cores: figure(rank.mean_cores) },
    memory: { combined: { total_rss_bytes: figure(rank.peak_rss_bytes) } },
    io: { read_bytes: figure(rank.read_bytes), written_bytes: figure(rank.written_bytes) },
    curve: { samples: seconds.length, seconds, columns },
  };
}
