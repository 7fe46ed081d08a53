// Work that the first screen does not need. It is done in order: one task at a time while the
// browser is idle after loading, or all at once when it is needed for reading on or for
// printing.

const tasks: (() => void)[] = [];
let isScheduled = false;

function run(): void {
  isScheduled = false;
  tasks.shift()?.();
  schedule();
}

function whenIdle(): void {
  if ("requestIdleCallback" in window) requestIdleCallback(run, { timeout: 200 });
  else setTimeout(run);
}

function schedule(): void {
  document.getElementById("page")?.setAttribute("aria-busy", String(tasks.length > 0));
  if (tasks.length === 0 || isScheduled) return;
  isScheduled = true;
  if (document.readyState === "complete") whenIdle();
  else addEventListener("load", whenIdle, { once: true });
}

export function later(task: () => void): void {
  tasks.push(task);
  schedule();
}

export function finish(): void {
  while (tasks.length > 0) tasks.shift()!();
  schedule();
}
