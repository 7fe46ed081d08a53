// The colors of style.css, for drawing on a canvas.

const cache = new Map<string, string>();

export function color(name: string, alpha = 1): string {
  let value = cache.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    cache.set(name, value);
  }
  // All colors are written as #rrggbb.
  return alpha === 1
    ? value
    : value +
        Math.round(alpha * 255)
          .toString(16)
          .padStart(2, "0");
}

// Calls the listener when the reader's color scheme changes, and before and after printing,
// which is always light.
export function onThemeChange(listener: () => void): void {
  const change = () => {
    cache.clear();
    listener();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "print";
    change();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.theme;
    change();
  });
}
