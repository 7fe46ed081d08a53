// The report of a group: the ranks of a job on several nodes, as `spoor merge` writes it.

import type { GroupNode, MissingRank, Rank, Run } from "../src/report";

const SECONDS = 600;
const CELLS = 120;

export interface GroupOptions {
  ranks: number;
  nodes: number;
  missing?: number[];
  idle?: number[];
  host?: (node: number) => string;
}

// Memory grows to its full size; the load of a rank depends on its number and on the time.
function curvesOf(rank: number, isIdle: boolean): { cores: number[]; memory: number[] } {
  const cells = Array.from({ length: CELLS }, (_, cell) => (cell + 1) / CELLS);
  const wave = (share: number) => 0.1 * Math.sin(share * 40 + rank * 1.7);
  return {
    cores: cells.map((share) =>
      isIdle ? 0.01 : Number((0.85 + wave(share) - (share > 0.7 ? 0.5 : 0)).toFixed(2)),
    ),
    memory: cells.map((share) =>
      Math.round(1e9 * (1 + 0.3 * Math.sin(rank)) * Math.min(1, 0.2 + share * 1.6)),
    ),
  };
}

function rankOf(rank: number, perNode: number, host: string, cores: number[], memory: number[]) {
  const mean = cores.reduce((sum, value) => sum + value, 0) / CELLS;
  return {
    rank,
    local_rank: rank % perNode,
    host,
    id: `5f0c7f4e5fbd4cb7${rank.toString(16).padStart(4, "0")}`,
    started_seconds: (rank % 7) / 100,
    elapsed_seconds: SECONDS - (rank % 5),
    cpu_seconds: Number((mean * SECONDS).toFixed(3)),
    mean_cores: Number(mean.toFixed(4)),
    peak_rss_bytes: Math.max(...memory),
    gpu_memory_bytes: null,
    read_bytes: 12e6 + rank * 1e5,
    written_bytes: 3e6,
    wait_seconds: 1.5 + (rank % 3),
    exit_code: 0,
    signal: null,
    restart: 0,
  } satisfies Rank;
}

function ratio(values: number[]): number {
  return (Math.max(...values) * values.length) / values.reduce((sum, value) => sum + value, 0);
}

function nodeOf(index: number, host: string, perNode: number, ranks: Rank[]): GroupNode {
  const sum = (key: "cpu_seconds" | "peak_rss_bytes") =>
    ranks.reduce((total, rank) => total + rank[key]!, 0);
  const memory = sum("peak_rss_bytes");
  return {
    host,
    node: index,
    ranks: perNode,
    reported: ranks.length,
    cpu_seconds: sum("cpu_seconds"),
    elapsed_seconds: SECONDS,
    memory: {
      value: memory,
      source: "procfs.status.VmHWM",
      exact: false,
      low: memory * 0.97,
      high: ranks.length < perNode ? null : memory * 1.02,
    },
    cpus: perNode,
    memory_limit_bytes: perNode * 1.5e9,
    gpus: [],
  };
}

export function groupJob(base: Run, options: GroupOptions): Run {
  const { ranks, nodes: count, missing = [], idle = [] } = options;
  const host = options.host ?? ((node) => `n${String(node + 1).padStart(2, "0")}`);
  const perNode = ranks / count;
  const hostOf = (rank: number) => host(Math.floor(rank / perNode));
  const seen = Array.from({ length: ranks }, (_, rank) => rank).filter((r) => !missing.includes(r));
  const curves = seen.map((rank) => curvesOf(rank, idle.includes(rank)));
  const table: Rank[] = seen.map((rank, at) =>
    rankOf(rank, perNode, hostOf(rank), curves[at]!.cores, curves[at]!.memory),
  );
  const nodes = Array.from({ length: count }, (_, node) =>
    nodeOf(
      node,
      host(node),
      perNode,
      table.filter((rank) => Math.floor(rank.rank! / perNode) === node),
    ),
  );
  const deciding = nodes.reduce((most, node) =>
    node.memory!.value! > most.memory!.value! ? node : most,
  );
  const gib = Math.ceil((deciding.memory!.value! * 1.2) / 2 ** 30);
  const gone: MissingRank[] = missing.map((rank) => ({
    rank,
    host: hostOf(rank),
    started_at: "2026-11-16T09:14:03.260Z",
    reason: "it has no end",
  }));
  const sum = (lists: number[][]) =>
    Array.from({ length: CELLS }, (_, cell) =>
      lists.reduce((total, list) => total + list[cell]!, 0),
    );
  const cpuSeconds = table.reduce((total, rank) => total + rank.cpu_seconds!, 0);
  const exact = (value: number) => ({ value, source: "cgroup.cpu.stat", exact: true });
  const seconds = Array.from({ length: CELLS }, (_, cell) => ((cell + 1) * SECONDS) / CELLS);
  return {
    ...base,
    run: {
      ...base.run,
      name: null,
      command: ["./stencil", "case.toml"],
      tags: {},
      host: null,
      elapsed_seconds: SECONDS,
    },
    recommendation: {
      cpus: { value: ranks, guess: false, why: "one per rank" },
      memory_bytes: { value: gib * 2 ** 30, guess: false, why: "peak of the largest node" },
      seconds: { value: 720, guess: false, why: "elapsed time, times 1.2" },
      requests: [
        {
          name: "sbatch",
          title: "Slurm",
          text: `#SBATCH --nodes=${count} --ntasks-per-node=${perNode}\n#SBATCH --mem=${gib}G\n`,
        },
      ],
    },
    phases: [],
    processes: { largest: [], others: [] },
    cpu: { total_seconds: exact(cpuSeconds), mean_cores: exact(cpuSeconds / SECONDS) },
    memory: { combined: { total_rss_bytes: deciding.memory } },
    limits: {
      cpus: ranks,
      cpus_source: "slurm",
      memory_bytes: deciding.memory_limit_bytes,
      memory_source: "slurm",
    },
    group: {
      ranks,
      reported: table.length,
      nodes_expected: count,
      deciding_node: deciding.host,
      imbalance: {
        cpu: ratio(table.map((rank) => rank.cpu_seconds!)),
        memory: ratio(table.map((rank) => rank.peak_rss_bytes!)),
        elapsed: ratio(table.map((rank) => rank.elapsed_seconds!)),
        wait: null,
      },
      missing: gone,
    },
    nodes,
    rank_table: table,
    rank_curves: {
      seconds,
      cores: curves.map(({ cores }) => cores),
      memory_bytes: curves.map(({ memory }) => memory),
    },
    curve: {
      samples: CELLS,
      seconds,
      columns: {
        job_cpu_seconds: { kind: "rate", high: sum(curves.map(({ cores }) => cores)) },
        job_rss_bytes: { kind: "gauge", high: sum(curves.map(({ memory }) => memory)) },
      },
    },
  };
}
