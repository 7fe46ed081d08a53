// The time axis that all charts of a run share: the part in view, and the cursor.

import { moment } from "./format";

type Listener = () => void;

// Distances between ticks, in seconds; longer distances are 1, 2, 5, 10, 20... times the last
// one.
const TIME_STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900,
  1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000, 864000,
];

const PIXELS_PER_TICK = 90;
const PIXELS_PER_TICK_NARROW = 40; // on a phone, with short texts
const NARROW = 500;
const PIXELS_PER_LETTER = 6;

export class TimeAxis {
  from = 0;
  to: number;
  cursor: number | null = null;
  private views: Listener[] = [];
  private cursors: Listener[] = [];

  constructor(readonly end: number) {
    this.to = end;
  }

  onView(listener: Listener): void {
    this.views.push(listener);
  }

  onCursor(listener: Listener): void {
    this.cursors.push(listener);
  }

  get isZoomed(): boolean {
    return this.from > 0 || this.to < this.end;
  }

  zoom(from: number, to: number): void {
    const span = Math.min(Math.max(to - from, this.end / 1e4), this.end);
    const start = Math.min(Math.max(from, 0), this.end - span);
    if (start === this.from && start + span === this.to) return;
    this.from = start;
    this.to = start + span;
    for (const listener of this.views) listener();
  }

  // Zooms around the cursor if it is in view, otherwise around the center.
  zoomBy(factor: number): void {
    const { cursor } = this;
    const isInView = cursor !== null && cursor >= this.from && cursor <= this.to;
    const center = isInView ? cursor : (this.from + this.to) / 2;
    this.zoom(center - (center - this.from) * factor, center + (this.to - center) * factor);
  }

  pan(share: number): void {
    const step = (this.to - this.from) * share;
    this.zoom(this.from + step, this.to + step);
  }

  reset(): void {
    this.zoom(0, this.end);
  }

  point(cursor: number | null): void {
    if (cursor === this.cursor) return;
    this.cursor = cursor;
    for (const listener of this.cursors) listener();
  }

  // Returns the position of a moment in the view: 0 at the left end, 1 at the right end.
  share(seconds: number): number {
    return (seconds - this.from) / (this.to - this.from);
  }

  // Returns the distance between ticks for a width in pixels.
  step(width: number): number {
    const room = width < NARROW ? PIXELS_PER_TICK_NARROW : PIXELS_PER_TICK;
    const least = ((this.to - this.from) * room) / Math.max(width, 1);
    const longest = TIME_STEPS.at(-1)!;
    const power = longest * 10 ** Math.floor(Math.log10(least / longest));
    const steps = least > longest ? [1, 2, 5, 10, 20].map((each) => each * power) : TIME_STEPS;
    const fits = (step: number) => {
      const letters = Math.max(...this.ticks(step).map((tick) => moment(tick).length));
      return ((letters + 2) * PIXELS_PER_LETTER) / width <= step / (this.to - this.from);
    };
    return steps.find((step) => step >= least && fits(step)) ?? steps.at(-1)!;
  }

  ticks(step: number): number[] {
    const ticks: number[] = [];
    const first = Math.ceil(this.from / step);
    const last = Math.floor(this.to / step);
    for (let tick = first; tick <= last; tick++) ticks.push(tick * step);
    return ticks;
  }
}
