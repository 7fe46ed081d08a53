// Formats numbers for readers, rounded as in the text report (src/text/number.c).

const UNKNOWN = "n/a";

function fixed(value: number, decimals: number, unit: string): string {
  if (!(value >= 0 && value < 1e15)) return UNKNOWN;
  const power = 10 ** decimals;
  return (Math.floor(value * power + 0.5) / power).toFixed(decimals) + unit;
}

// The limits are the values from which rounding yields one digit more.
function threeDigits(value: number, unit: string): string {
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

function scaled(value: number, units: string[]): string {
  let unit = 0;
  while (value >= 999.5 && unit + 1 < units.length) {
    value /= 1000;
    unit++;
  }
  return threeDigits(value, units[unit]!);
}

export function bytes(value: number): string {
  if (!(value >= 999.5)) return fixed(value, 0, " B");
  return scaled(value / 1000, [" kB", " MB", " GB", " TB", " PB", " EB"]);
}

export function bytesPerSecond(value: number): string {
  const text = bytes(value);
  return text === UNKNOWN ? text : `${text}/s`;
}

export function duration(seconds: number): string {
  const rows = [
    { from: 86400 - 30, long: "d", perLong: 86400, short: "h", perShort: 3600 },
    { from: 3600 - 0.5, long: "h", perLong: 3600, short: "min", perShort: 60 },
    { from: 59.95, long: "min", perLong: 60, short: "s", perShort: 1 },
  ];
  for (const row of rows) {
    if (seconds >= row.from && seconds < 1e12) {
      const units = Math.floor(seconds / row.perShort + 0.5);
      const each = row.perLong / row.perShort;
      const rest = String(units % each).padStart(2, "0");
      return `${Math.floor(units / each)} ${row.long} ${rest} ${row.short}`;
    }
  }
  if (!(seconds > 0)) return fixed(seconds, 0, " s");
  if (seconds >= 0.9995) return threeDigits(seconds, " s");
  return seconds >= 0.9995e-3 ? threeDigits(seconds * 1e3, " ms") : fixed(seconds * 1e6, 0, " us");
}

export function energy(joules: number): string {
  return scaled(joules, [" J", " kJ", " MJ", " GJ", " TJ"]);
}

export function percent(fraction: number): string {
  const value = fraction * 100;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return fixed(value, value < 9.95 ? 1 : 0, " %");
}

export function short(value: number): string {
  return threeDigits(value, "");
}

export function count(value: number): string {
  return fixed(value, 0, "");
}

export function watts(value: number): string {
  return scaled(value, [" W", " kW", " MW"]);
}

export function celsius(value: number): string {
  return fixed(value, 0, " °C");
}

export function dollars(value: number): string {
  return Number.isNaN(value) ? UNKNOWN : `$${value < 1 ? value.toFixed(4) : value.toFixed(2)}`;
}

// Returns "1 CPU" or "8 CPUs".
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value > 0.5 && value < 1.5 ? one : many}`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Returns a size for requests to schedulers: whole MiB, or whole GiB from 1 GiB.
export function memoryStep(value: number): string {
  return value < 2 ** 30 ? `${count(value / 2 ** 20)} MiB` : `${count(value / 2 ** 30)} GiB`;
}

export function timeStep(seconds: number): string {
  const minutes = Math.floor(seconds / 60 + 0.5);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

// Formats an RFC 3339 date as "2026-11-16 11:16:19 UTC".
export function date(text: string | null | undefined): string {
  return text && text.length >= 19 ? `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` : "";
}

// A unit of a chart: how to format a value, and a tick of the axis.
export interface Unit {
  text(value: number): string;
  tick(value: number): string;
}

// Shortens axis labels: "1.50 GB" to "1.5 GB", "2.00" to "2".
export function trimmed(text: string): string {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

function unit(
  text: (value: number) => string,
  tick = (value: number) => trimmed(text(value)),
): Unit {
  return { text, tick: (value) => (value === 0 ? "0" : tick(value)) };
}

// Ticks may be closer together than three digits can distinguish.
function threeDigitsTick(value: number): string {
  return String(Number(value.toPrecision(3)));
}

// Returns "1.28–1.35 GB", or a single text if both texts are equal.
export function rangeText(unit: Unit, low: number, high: number): string {
  const [from, to] = [unit.text(low), unit.text(high)];
  if (from === to) return to;
  const [amount, name] = from.split(" ");
  return name !== undefined && to.endsWith(` ${name}`) ? `${amount}–${to}` : `${from}–${to}`;
}

export const units = {
  cores: unit(short, threeDigitsTick),
  bytes: unit(bytes),
  bytesPerSecond: unit(bytesPerSecond),
  count: {
    text: (value: number) => (Number.isInteger(value) ? count(value) : short(value)),
    tick: (value: number) => trimmed(short(value)),
  },
  percent: unit(percent, (value) => `${threeDigitsTick(value * 100)} %`),
  watts: unit(watts),
  celsius: unit(celsius),
};

// Formats a moment on the time axis, in a unit that fits the distance between ticks.
export function moment(seconds: number): string {
  if (seconds === 0) return "0";
  if (seconds < 0) return `-${moment(-seconds)}`;
  if (seconds < 1) return trimmed(`${(seconds * 1e3).toPrecision(3)} ms`);
  if (seconds < 60) return `${Number(seconds.toFixed(3))} s`;
  const parts: [number, string][] = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [Number((seconds % 60).toFixed(3)), "s"],
  ];
  return parts
    .filter(([amount]) => amount > 0)
    .slice(0, 2)
    .map(([amount, name]) => `${amount} ${name}`)
    .join(" ");
}
