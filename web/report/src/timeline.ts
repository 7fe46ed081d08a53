// The lifetimes of the largest processes, as lanes on the time axis of the charts. Darker bars
// used more CPU.

import { visible } from "./command";
import { announce, h } from "./dom";
import { bytes, duration, moment, percent } from "./format";
import { assignLanes } from "./lanes";
import type { Span } from "./overlay";
import { GUTTER_LEFT, GUTTER_RIGHT, SELECTION_MIN } from "./plot";
import { number, type Process, type Run } from "./report";
import type { TimeAxis } from "./time_axis";

const LANE = 18;
const LANE_DENSE = 12;
const LANES_DENSE = 40; // from this number of lanes on, they are narrower
const NAME_MIN = 27; // in pixels: a narrower bar would show only single letters of its name
const WIDTH_UNKNOWN = 900; // before the page is laid out
const TINT_MIN = 10;
const TINT_MAX = 60;

interface Bar {
  process: Process;
  from: number;
  to: number;
  element: HTMLElement;
}

export function endOfProcess(process: Process): string {
  if (process.signal) return `killed by ${process.signal}`;
  if (typeof process.exit_code === "number") return `exit code ${process.exit_code}`;
  return process.ended_seconds === null ? "ran until the end" : "exit code unknown";
}

function hasFailed(process: Process): boolean {
  return Boolean(process.signal) || (process.exit_code ?? 0) !== 0;
}

function nameOf(process: Process): string {
  return visible(process.name ?? `process ${process.pid ?? ""}`);
}

function factsOf({ process, from, to }: Bar): string {
  const start =
    number(process.started_seconds) < 0 ? "before the start" : moment(Number(from.toPrecision(3)));
  const facts = [
    `${start} to ${moment(Number(to.toPrecision(3)))} (${duration(to - from)})`,
    `${duration(number(process.cpu_seconds))} of CPU`,
  ];
  if (to > from && process.cpu_seconds !== null)
    facts.push(`${percent(process.cpu_seconds / (to - from))} busy`);
  facts.push(`peak ${bytes(number(process.peak_rss_bytes))}`);
  if ((process.gpu_memory_bytes ?? 0) > 0) facts.push(`GPU ${bytes(process.gpu_memory_bytes!)}`);
  facts.push(endOfProcess(process));
  return facts.join(", ");
}

export class Timeline {
  readonly root: HTMLElement;
  private readonly bars: Bar[];
  private readonly lanes: HTMLElement;
  private readonly ticks: HTMLElement;
  private readonly cursor: HTMLElement;
  private readonly selection = h("div", { class: "selection", hidden: true });
  private grabbed: number | null = null; // where a drag started, as a share of the width
  private readonly details: HTMLElement;
  private readonly bands: [Span, HTMLElement][];
  private current = 0;
  private width = 0;

  constructor(
    run: Run,
    processes: Process[],
    private readonly axis: TimeAxis,
    spans: Span[],
  ) {
    const main = run.run.pid;
    this.bars = processes
      .map((process) => this.bar(process, process.pid === main))
      .sort((a, b) => a.from - b.from || b.to - a.to);
    const order = assignLanes(this.bars);
    const count = Math.max(0, ...order) + 1;
    const pitch = count > LANES_DENSE ? LANE_DENSE : LANE;
    this.cursor = h("div", { class: "cursor" });
    this.bands = spans.map((span) => [span, h("div", { class: "band" })]);
    this.lanes = h(
      "div",
      {
        class: pitch === LANE ? "lanes" : "lanes dense",
        style: `height: ${count * pitch + 2}px; --pitch: ${pitch}px`,
        on: {
          keydown: (event) => this.key(event as KeyboardEvent),
          pointerdown: (event) => this.grab(event as PointerEvent),
          pointermove: (event) => this.point(event as PointerEvent),
          pointerup: (event) => this.release(event as PointerEvent),
          pointerleave: () => this.leave(),
          dblclick: () => axis.reset(),
        },
      },
      ...this.bands.map(([, element]) => element),
      ...this.bars.map(({ element }, index) => {
        element.style.top = `${order[index]! * pitch + 1}px`;
        return element;
      }),
      this.cursor,
      this.selection,
    );
    this.ticks = h("div", { class: "ticks", "aria-hidden": "true" });
    this.details = h("p", { class: "details" }, "");
    this.root = h(
      "div",
      { class: "timeline", style: `--left: ${GUTTER_LEFT}px; --right: ${GUTTER_RIGHT}px` },
      h(
        "div",
        { class: "lanes-scroll", role: "group", "aria-label": "Timeline of the largest processes" },
        this.lanes,
      ),
      this.ticks,
      this.details,
    );
    this.bars[0]?.element.setAttribute("tabindex", "0");
    this.rest();
    axis.onView(() => this.place());
    axis.onCursor(() => this.placeCursor());
    this.place();
  }

  private bar(process: Process, isMain: boolean): Bar {
    const from = Math.max(0, process.started_seconds ?? 0);
    const to = Math.max(from, process.ended_seconds ?? this.axis.end);
    const busy = Math.min(1, number(process.cpu_seconds) / Math.max(to - from, 1e-9)) || 0;
    const element = h(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: [
          "bar",
          isMain ? "main" : "",
          hasFailed(process) ? "failed" : "",
          process.ended_seconds === null ? "open" : "",
        ].join(" "),
        style: `--tint: ${Math.round(TINT_MIN + busy * (TINT_MAX - TINT_MIN))}%`,
      },
      h("span", {}, nameOf(process)),
    );
    const bar = { process, from, to, element };
    element.setAttribute("aria-label", `${nameOf(process)}: ${factsOf(bar)}`);
    element.addEventListener("pointerenter", () => this.show(bar));
    element.addEventListener("pointerleave", () => this.rest());
    element.addEventListener("focus", () => this.show(bar));
    element.addEventListener("click", () => this.show(bar));
    return bar;
  }

  private show(bar: Bar): void {
    const { process } = bar;
    this.details.replaceChildren(
      h("strong", {}, nameOf(process)),
      ` pid ${process.pid ?? "n/a"}, parent ${process.parent_pid ?? "n/a"}: ${factsOf(bar)}`,
      h("code", {}, process.command ?? ""),
    );
  }

  private rest(): void {
    const focused = this.bars.find(({ element }) => element === document.activeElement);
    if (focused) {
      this.show(focused);
      return;
    }
    this.details.replaceChildren(
      "Point at a process to see its command. Stronger colors mean more CPU use.",
      this.bars.some(({ process }) => hasFailed(process))
        ? " Outlined in red: killed by a signal, or an exit code other than 0."
        : "",
    );
  }

  private place(): void {
    const width = (this.width || WIDTH_UNKNOWN) - GUTTER_LEFT - GUTTER_RIGHT;
    // Places an element, which covers a share of the width.
    const place = (element: HTMLElement, from: number, to: number): number => {
      // The name of a bar starts where the bar becomes visible.
      const left = Math.max(0, this.axis.share(from));
      const right = Math.min(1.01, this.axis.share(to));
      element.style.left = `${left * 100}%`;
      element.style.width = `${Math.max(0, right - left) * 100}%`;
      element.hidden = right < 0 || left > 1;
      return right - left;
    };
    for (const { element, from, to } of this.bars)
      element.classList.toggle("nameless", place(element, from, to) * width < NAME_MIN);
    for (const [span, element] of this.bands) place(element, span.from, span.to);
    this.ticks.replaceChildren(
      ...this.axis
        .ticks(this.axis.step(width))
        .map((tick) => h("span", { style: `left: ${this.axis.share(tick) * 100}%` }, moment(tick))),
    );
    this.placeCursor();
  }

  // Sets the size of the lanes, which are as wide as the charts.
  resize(width: number): void {
    if (width === this.width) return;
    this.width = width;
    this.place();
  }

  private placeCursor(): void {
    const { cursor } = this.axis;
    const share = cursor === null ? -1 : this.axis.share(cursor);
    this.cursor.hidden = share < 0 || share > 1;
    this.cursor.style.left = `${share * 100}%`;
  }

  private shareAt(event: PointerEvent): number {
    const { left, width } = this.lanes.getBoundingClientRect();
    return (event.clientX - left) / width;
  }

  private timeAt(share: number): number {
    return this.axis.from + share * (this.axis.to - this.axis.from);
  }

  // Touch scrolls; other pointers select.
  private grab(event: PointerEvent): void {
    if (event.pointerType !== "touch" && event.button === 0) this.grabbed = this.shareAt(event);
  }

  private point(event: PointerEvent): void {
    const share = this.shareAt(event);
    this.axis.point(this.timeAt(share));
    if (this.grabbed === null) return;
    this.selection.hidden = false;
    this.selection.style.left = `${Math.min(share, this.grabbed) * 100}%`;
    this.selection.style.width = `${Math.abs(share - this.grabbed) * 100}%`;
  }

  private release(event: PointerEvent): void {
    const { grabbed } = this;
    const share = this.shareAt(event);
    this.leave();
    if (grabbed === null || Math.abs(share - grabbed) * this.width < SELECTION_MIN) return;
    this.axis.zoom(this.timeAt(Math.min(share, grabbed)), this.timeAt(Math.max(share, grabbed)));
  }

  private leave(): void {
    this.grabbed = null;
    this.selection.hidden = true;
    this.axis.point(null);
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, number> = {
      ArrowRight: 1,
      ArrowDown: 1,
      ArrowLeft: -1,
      ArrowUp: -1,
      Home: -this.bars.length,
      End: this.bars.length,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    this.bars[this.current]!.element.tabIndex = -1;
    this.current = Math.min(Math.max(this.current + step, 0), this.bars.length - 1);
    const bar = this.bars[this.current]!;
    bar.element.tabIndex = 0;
    if (bar.element.hidden) this.axis.reset();
    bar.element.focus();
    announce(`${nameOf(bar.process)}: ${factsOf(bar)}`);
  }
}
