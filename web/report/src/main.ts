// The report page: reads the data embedded in the page and shows it.

import { benchView } from "./bench";
import { compareView, runNames } from "./compare";
import { button, h } from "./dom";
import { rankRun } from "./group";
import { finish } from "./later";
import { type Bench, parsePageData, type Run, titleOf } from "./report";
import { runView, type View } from "./run_view";
import { onThemeChange } from "./theme";

function fail(message: string): void {
  document.getElementById("page")!.replaceChildren(h("h1", {}, "No report"), h("p", {}, message));
}

class Page {
  private readonly place = document.getElementById("page")!;
  private readonly views = new Map<number, View>();
  private readonly tabs: HTMLButtonElement[] = [];
  private current: View | null = null;

  constructor(
    private readonly runs: Run[],
    private readonly bench?: Bench,
  ) {
    if (runs.length > 1 || bench || this.hasRanks) this.addTabs();
    this.show(0);
    addEventListener("beforeprint", finish);
    onThemeChange(() => this.current?.draw(false));
    new ResizeObserver(() => this.current?.resize()).observe(this.place);
  }

  // The page of a single group also has a view of each rank.
  private get hasRanks(): boolean {
    return this.runs.length === 1 && (this.runs[0]!.rank_table ?? []).length > 1;
  }

  private addTabs(): void {
    // A bench has too many runs, and a group too many ranks, for a button each: their lists
    // open them instead.
    const names = this.bench
      ? ["All runs"]
      : this.hasRanks
        ? ["All ranks"]
        : ["Side by side", ...runNames(this.runs)];
    this.tabs.push(...names.map((name, index) => button(name, name, () => this.show(index))));
    document
      .getElementById("runs")!
      .append(h("nav", { class: "choices", "aria-label": "Runs" }, ...this.tabs));
  }

  private open(index: number): void {
    this.show(index + 1);
    scrollTo(0, 0);
  }

  private make(index: number): View {
    if (this.bench && index === 0) return benchView(this.bench, this.runs, (run) => this.open(run));
    if (this.bench) return runView(this.runs[index - 1]!);
    if (this.hasRanks && index > 0) return runView(rankRun(this.runs[0]!, index - 1));
    if (this.runs.length === 1)
      return runView(this.runs[0]!, this.hasRanks ? (rank) => this.open(rank) : undefined);
    return index === 0 ? compareView(this.runs) : runView(this.runs[index - 1]!);
  }

  private show(index: number): void {
    const isNew = !this.views.has(index);
    const view = this.views.get(index) ?? this.make(index);
    this.views.set(index, view);
    this.current = view;
    this.place.replaceChildren(view.root);
    view.draw(isNew);
    for (const [at, tab] of this.tabs.entries())
      tab.setAttribute("aria-current", String(at === index));
  }
}

function start(): void {
  const data = document.getElementById("spoor-data");
  if (!data) {
    fail("This page carries no data. Make one with 'spoor report FILE'.");
    return;
  }
  try {
    const { runs, bench } = parsePageData(data.textContent ?? "");
    if (runs.length === 0) throw new Error("it has no run");
    const title = runs.length === 1 ? titleOf(runs[0]!) : `${runs.length} runs`;
    document.title = `${title.slice(0, 80)} - spoor report`;
    new Page(runs, bench);
  } catch (error) {
    fail(`The data of this page cannot be read: ${error instanceof Error ? error.message : error}`);
    throw error;
  }
}

start();
