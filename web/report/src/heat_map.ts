// Heat maps of the ranks of a group, with a line of cells for each rank: one map for CPU and
// one for memory.

import { announce, button, h } from "./dom";
import { moment, type Unit, units } from "./format";
import { endOfRank, rankName } from "./group";
import { number, type Rank, type Run } from "./report";
import { compareKeys } from "./table";
import { color } from "./theme";
import { TimeAxis } from "./time_axis";

const LEFT = 44; // room for the numbers of the ranks
const RIGHT = 24; // half the width of a time label
const BOTTOM = 20; // room for the time labels
const HEIGHT_MAX = 600; // of all cells together; with more ranks, several share a line
const PITCH_MAX = 16;
const HEIGHT_WANTED = 320;
const LABEL_DISTANCE = 16;
const MISSING_ALPHA = 120;
const PITCH_THIN = 4; // if lines are thinner than this, a missing rank has its full color
const FONT = "11px system-ui, sans-serif";

// One rank, which may be missing.
interface Row {
  rank: number | null;
  host: string | null;
  index: number; // index in the table of ranks; -1: missing
  reason: string;
}

interface Place {
  row: number;
  cell: number;
}

// If several ranks share a line, the CPU map shows the least busy of them, and the memory map
// the one with the most memory.
interface Kind {
  id: "cpu" | "memory";
  title: string;
  unit: Unit;
  shared: string;
  isBetter: (value: number, other: number) => boolean;
}

const KINDS: Kind[] = [
  {
    id: "cpu",
    title: "CPU cores",
    unit: units.cores,
    shared: "the least busy",
    isBetter: (value, other) => value < other,
  },
  {
    id: "memory",
    title: "Memory",
    unit: units.bytes,
    shared: "the largest",
    isBetter: (value, other) => value > other,
  },
];

type Rgb = [number, number, number];

function rgb(name: string): Rgb {
  const value = Number.parseInt(color(name).slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// Returns the color for a share between 0 and 1, on a scale of three colors.
export function blend([low, middle, high]: Rgb[], share: number): Rgb {
  const [from, to] = share < 0.5 ? [low!, middle!] : [middle!, high!];
  const part = (share < 0.5 ? share : share - 0.5) * 2;
  return from.map((value, index) => Math.round(value + (to[index]! - value) * part)) as Rgb;
}

// Returns the rows that share a line.
export function rowsOfLine(line: number, lines: number, rows: number): [number, number] {
  return [Math.floor((line * rows) / lines), Math.floor(((line + 1) * rows) / lines)];
}

export function rowsOf(run: Run): Row[] {
  const seen = (run.rank_table ?? []).map(({ rank, host }, index) => ({
    rank,
    host,
    index,
    reason: "",
  }));
  const missing = (run.group?.missing ?? []).map(({ rank, host, reason }) => ({
    rank,
    host,
    index: -1,
    reason: reason ?? "it is missing",
  }));
  return [...seen, ...missing].sort((a, b) => compareKeys(number(a.rank), number(b.rank), false));
}

class HeatMap {
  readonly root: HTMLElement;
  readonly highest: number;
  private readonly canvas = h("canvas");
  private readonly cells = h("canvas"); // has one pixel for each cell
  private scale = "";

  constructor(
    private readonly kind: Kind,
    private readonly values: (number | null)[][],
    private readonly owner: HeatMaps,
  ) {
    this.highest = values.flat().reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
    const { id, title, unit } = kind;
    const frame = h(
      "div",
      {
        class: "heat-map",
        role: "img",
        tabindex: "0",
        "aria-label": this.describe(),
        "aria-describedby": "rank-keys",
        on: {
          keydown: (event) => owner.key(event as KeyboardEvent),
          pointermove: (event) => this.point(event as PointerEvent),
          pointerdown: (event) => this.point(event as PointerEvent),
          pointerleave: () => owner.show(null),
          blur: () => owner.show(null),
        },
      },
      this.canvas,
    );
    this.root = h(
      "div",
      { class: "chart", id: `heat-${id}` },
      h(
        "div",
        { class: "chart-head" },
        h("h3", {}, title),
        h("div", { class: "legend scale" }, "0", h("span", { class: id }), unit.tick(this.highest)),
      ),
      frame,
    );
  }

  private describe(): string {
    const { ranks } = this.owner;
    const at = (key: "mean_cores" | "peak_rss_bytes") =>
      [...ranks]
        .filter((rank) => rank[key] !== null)
        .sort((a, b) => b[key]! - a[key]!)
        .map((rank) => `${rankName(rank)}, ${this.kind.unit.text(rank[key]!)}`);
    const names = at(this.kind.id === "cpu" ? "mean_cores" : "peak_rss_bytes");
    const figure = this.kind.id === "cpu" ? "mean" : "peak";
    return `${this.kind.title} of ${ranks.length} ranks over time. Highest ${figure}: ${names[0] ?? "unknown"}. Lowest ${figure}: ${names.at(-1) ?? "unknown"}. The table of ranks has all.`;
  }

  valueAt(row: Row, cell: number): number {
    return number(this.values[row.index]?.[cell]);
  }

  // Returns which row of a line the cell shows.
  rowAt(line: number, cell: number): number {
    const { rows, lines } = this.owner;
    const [from, to] = rowsOfLine(line, lines, rows.length);
    let best = from;
    for (let row = from + 1; row < to; row++) {
      if (rows[best]!.index < 0) break; // a missing rank is always shown
      const [value, other] = [this.valueAt(rows[row]!, cell), this.valueAt(rows[best]!, cell)];
      const isBetter = Number.isNaN(other) || this.kind.isBetter(value, other);
      if (rows[row]!.index < 0 || isBetter) best = row;
    }
    return best;
  }

  // Paints the image of the cells if the order or the theme has changed.
  private paint(): void {
    const { rows, lines, pitch, cellCount, order } = this.owner;
    const scale = ["low", "middle", "high"].map((name) => rgb(`${this.kind.id}-${name}`));
    if (this.scale === String([order, ...scale])) return;
    this.scale = String([order, ...scale]);
    this.cells.width = cellCount;
    this.cells.height = lines;
    const image = new ImageData(cellCount, lines);
    const bad = [...rgb("bad"), pitch < PITCH_THIN ? 255 : MISSING_ALPHA];
    const colors = Array.from({ length: 256 }, (_, at) => [...blend(scale, at / 255), 255]);
    for (let line = 0, at = 0; line < lines; line++)
      for (let cell = 0; cell < cellCount; cell++, at += 4) {
        const row = rows[this.rowAt(line, cell)]!;
        const value = this.valueAt(row, cell);
        if (row.index < 0) image.data.set(bad, at);
        else if (value >= 0)
          image.data.set(colors[Math.round((255 * value) / (this.highest || 1))]!, at);
      }
    this.cells.getContext("2d")!.putImageData(image, 0, 0);
  }

  draw(): void {
    const { lines, pitch } = this.owner;
    const width = this.canvas.parentElement!.clientWidth || LEFT + RIGHT + 1;
    const height = lines * pitch;
    const ratio = devicePixelRatio || 1;
    this.paint();
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round((height + BOTTOM) * ratio);
    this.canvas.style.height = `${height + BOTTOM}px`;
    const ctx = this.canvas.getContext("2d")!;
    ctx.scale(ratio, ratio);
    ctx.imageSmoothingEnabled = false;
    ctx.strokeStyle = color("border");
    ctx.strokeRect(LEFT - 0.5, -0.5, width - LEFT - RIGHT + 1, height + 1);
    ctx.drawImage(this.cells, LEFT, 0, width - LEFT - RIGHT, height);
    this.drawLabels(ctx, width - LEFT - RIGHT, height);
    this.drawCursor(ctx, width - LEFT - RIGHT);
  }

  private drawLabels(ctx: CanvasRenderingContext2D, width: number, height: number): void {
    const { rows, axis } = this.owner;
    const each = height / rows.length;
    const steps = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
    const step = steps.find((count) => count * each >= LABEL_DISTANCE) ?? rows.length;
    ctx.font = FONT;
    ctx.fillStyle = color("dim");
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (let row = 0; row < rows.length; row += step)
      ctx.fillText(String(rows[row]!.rank ?? ""), LEFT - 6, Math.max((row + 0.5) * each, 6));
    ctx.textAlign = "center";
    for (const tick of axis.ticks(axis.step(width)))
      ctx.fillText(moment(tick), LEFT + axis.share(tick) * width, height + BOTTOM / 2 + 2);
  }

  private drawCursor(ctx: CanvasRenderingContext2D, width: number): void {
    const { place, rows, lines, pitch, cellCount } = this.owner;
    if (!place) return;
    const line = Math.floor((place.row * lines) / rows.length);
    const size = Math.max(width / cellCount, 3);
    ctx.strokeStyle = color("ink");
    ctx.lineWidth = 1.5;
    const x = LEFT + (place.cell * width) / cellCount;
    ctx.strokeRect(x - 0.5, line * pitch - 0.5, size + 1, Math.max(pitch, 3) + 1);
  }

  private point(event: PointerEvent): void {
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const { lines, pitch, cellCount } = this.owner;
    const cell = Math.floor(((event.clientX - left - LEFT) / (width - LEFT - RIGHT)) * cellCount);
    const line = Math.floor((event.clientY - top) / pitch);
    const isInside = cell >= 0 && cell < cellCount && line >= 0 && line < lines;
    this.owner.show(isInside ? { row: this.rowAt(line, cell), cell } : null);
  }
}

const ORDERS: [string, (row: Row, ranks: Rank[]) => number | string][] = [
  ["Rank", ({ rank }) => number(rank)],
  ["Node", ({ host }) => host ?? ""],
  ["CPU time", ({ index }, ranks) => -number(ranks[index]?.cpu_seconds)],
  ["Peak memory", ({ index }, ranks) => -number(ranks[index]?.peak_rss_bytes)],
];

export class HeatMaps {
  readonly root: HTMLElement;
  readonly ranks: Rank[];
  readonly cellCount: number;
  readonly lines: number;
  readonly pitch: number;
  readonly axis: TimeAxis;
  rows: Row[];
  order = "Rank";
  place: Place | null = null;
  private readonly seconds: number[];
  private readonly maps: HeatMap[];
  private readonly details = h("p", { class: "details" });

  constructor(run: Run) {
    const { seconds = [], cores = [], memory_bytes: memory = [] } = run.rank_curves ?? {};
    this.ranks = run.rank_table ?? [];
    this.rows = rowsOf(run);
    this.seconds = seconds;
    this.cellCount = seconds.length;
    this.axis = new TimeAxis(Math.max(seconds.at(-1) ?? 0, 1e-3));
    this.lines = Math.min(this.rows.length, HEIGHT_MAX);
    this.pitch = Math.min(PITCH_MAX, Math.max(1, Math.floor(HEIGHT_WANTED / this.lines)));
    this.maps = KINDS.map((kind) => new HeatMap(kind, kind.id === "cpu" ? cores : memory, this));
    const buttons = ORDERS.map(([name]) => button(name, name, () => this.sort(name)));
    const choose = () => {
      for (const each of buttons)
        each.setAttribute("aria-pressed", String(each.textContent === this.order));
    };
    for (const each of buttons) each.addEventListener("click", choose);
    choose();
    this.root = h(
      "div",
      {},
      h(
        "div",
        { class: "choices", role: "group", "aria-label": "Order of the ranks" },
        h("span", { class: "dim" }, "Ordered by"),
        ...buttons,
      ),
      h("div", { class: "heat-maps" }, ...this.maps.map(({ root }) => root)),
      this.details,
      h("p", { class: "visually-hidden", id: "rank-keys" }, "Arrows move from cell to cell."),
    );
    this.rest();
  }

  private sort(name: string): void {
    const key = ORDERS.find(([each]) => each === name)![1];
    this.rows.sort(
      (a, b) =>
        compareKeys(key(a, this.ranks), key(b, this.ranks), false) ||
        compareKeys(number(a.rank), number(b.rank), false),
    );
    this.order = name;
    this.draw();
  }

  draw(): void {
    for (const map of this.maps) map.draw();
  }

  private rest(): void {
    const count = this.rows.length / this.lines;
    const shared = KINDS.map(({ title, shared }) => `${title}: ${shared}`).join(", ");
    this.details.replaceChildren(
      "Point at a cell, or move with the arrow keys, to see its rank and values. Empty: not running or not known.",
      this.rows.some(({ index }) => index < 0) ? " Red: no report." : "",
      count > 1 ? ` A line shows up to ${Math.ceil(count)} ranks (${shared}).` : "",
    );
  }

  private text({ row, cell }: Place): [string, string] {
    const at = this.rows[row]!;
    const name = rankName(at);
    const from = cell > 0 ? this.seconds[cell - 1]! : 0;
    const when = ` from ${moment(from)} to ${moment(this.seconds[cell]!)}: `;
    if (at.index < 0) return [name, `: ${at.reason}`];
    const [cores, bytes] = this.maps.map((map) => map.valueAt(at, cell)) as [number, number];
    if (Number.isNaN(cores) && Number.isNaN(bytes)) return [name, `${when}not running`];
    const end = endOfRank(this.ranks[at.index]!);
    return [name, `${when}${units.cores.text(cores)} cores, ${units.bytes.text(bytes)}; ${end}`];
  }

  show(place: Place | null): void {
    if (place?.row === this.place?.row && place?.cell === this.place?.cell) return;
    this.place = place;
    this.draw();
    if (!place) {
      this.rest();
      return;
    }
    const [name, text] = this.text(place);
    this.details.replaceChildren(h("strong", {}, name), text);
  }

  key(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-50, 0],
      PageDown: [50, 0],
      Home: [0, -this.cellCount],
      End: [0, this.cellCount],
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const { row, cell } = this.place ?? { row: -step[0], cell: -step[1] };
    this.show({
      row: Math.min(Math.max(row + step[0], 0), this.rows.length - 1),
      cell: Math.min(Math.max(cell + step[1], 0), this.cellCount - 1),
    });
    announce(this.text(this.place!).join(""));
  }
}
