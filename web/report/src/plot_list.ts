// The charts of a view, one below the other.

import type { Chart } from "./charts";
import { h } from "./dom";
import { later } from "./later";
import type { Span } from "./overlay";
import { Plot } from "./plot";
import type { Curve } from "./report";
import type { TimeAxis } from "./time_axis";

// How many charts fit on a screen below the usage table.
const MADE_FIRST = 2;
const WIDTH_UNKNOWN = 600; // before the page is laid out

export interface CurveChart {
  chart: Chart;
  curve: Curve;
}

export class PlotList {
  readonly root = h("div", { class: "charts" });
  private readonly plots: Plot[] = [];

  constructor(
    private readonly charts: CurveChart[],
    private readonly axis: TimeAxis,
    private readonly spans: Span[],
  ) {
    for (let count = 0; count < Math.min(MADE_FIRST, charts.length); count++) this.add();
  }

  private add(): Plot {
    const { chart, curve } = this.charts[this.plots.length]!;
    const plot = new Plot(chart, curve, this.axis, this.spans);
    this.plots.push(plot);
    this.root.append(plot.root);
    return plot;
  }

  get width(): number {
    return this.plots[0]?.width ?? 0;
  }

  // All charts have the same width, so measure it once: measuring each would make the browser
  // lay out the page as often. Charts that are not visible at first can wait.
  draw(isFirst: boolean): void {
    const width = this.width || WIDTH_UNKNOWN;
    for (const plot of this.plots) if (!isFirst || plot.isInView) plot.draw(width);
    if (!isFirst) return;
    for (const index of this.charts.keys())
      later(() => {
        const plot = this.plots[index] ?? this.add();
        if (!plot.isDrawn) plot.draw(this.width || width);
      });
  }

  resize(): void {
    const { width } = this;
    for (const plot of this.plots) plot.resize(width);
  }
}
