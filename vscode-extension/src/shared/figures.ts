/** Formats numbers for people. Pure, and independent of the locale, so that host and webview agree. */
import { grouped } from "./words.ts";

/** The shortest time in seconds that is shown. */
export const LEAST_TIME = 0.1;

/** Formats a duration: `0.1 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function durationFigure(seconds: number): string {
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min${whole % 60 > 0 ? ` ${whole % 60} s` : ""}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 > 0 ? ` ${minutes % 60} min` : ""}`;
}

/**
 * Formats US dollars: `$0.04`, `$0.0012`, `under $0.0001`; returns null if the price is unknown.
 */
export function costFigure(cost: number | null): string | null {
  if (cost === null) return null;
  if (cost === 0) return "$0.00";
  if (cost < 0.0001) return "under $0.0001";
  return cost < 0.01 ? `$${cost.toFixed(4)}` : `$${cost.toFixed(2)}`;
}

/** Formats tokens: `980`, `12.4k`, `24k`, `1.2M`. */
export function tokenFigure(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  if (tokens < 99_950) return `${short(tokens / 1000)}k`;
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}k`;
  return `${short(tokens / 1_000_000)}M`;
}

function short(value: number): string {
  return value.toFixed(1).replace(/\.0$/, "");
}

/** Formats a share of 0 or more: `38 %`; below one percent `under 1 %`. */
export function shareFigure(share: number): string {
  if (share > 0 && share < 0.01) return "under 1 %";
  return `${Math.round(share * 100)} %`;
}

/** Formats added and removed lines: `+3 −1`. */
export function linesFigure(added: number, removed: number): string {
  return `+${grouped(added)} −${grouped(removed)}`;
}

/** Formats a count: `1 file`, `2 files`, `1,200 files`. */
export function countFigure(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Formats bytes: `512 B`, `12 KB`, `3.4 MB`. */
export function sizeFigure(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
