/** Formats numbers for people, as the language does it. Pure. */
import { number, t } from "./l10n.ts";
import { grouped } from "./words.ts";

/** The shortest time in seconds that is shown. */
export const LEAST_TIME = 0.1;

/** Formats a duration: `0.1 s`, `12 s`, `3 min 5 s`, `1 h 2 min`. */
export function durationFigure(seconds: number): string {
  if (seconds < 9.95) return t("{0} s", fixed(Math.max(0, seconds), 1));
  const whole = Math.round(seconds);
  if (whole < 60) return t("{0} s", whole);
  const minutes = Math.floor(whole / 60);
  if (minutes >= 60) {
    const hours = Math.floor(minutes / 60);
    return minutes % 60 > 0 ? t("{0} h {1} min", hours, minutes % 60) : t("{0} h", hours);
  }
  return whole % 60 > 0 ? t("{0} min {1} s", minutes, whole % 60) : t("{0} min", minutes);
}

/**
 * Formats US dollars: `$0.04`, `$0.0012`, `under $0.0001`; returns null if the price is unknown.
 */
export function costFigure(cost: number | null): string | null {
  if (cost === null) return null;
  if (cost === 0) return dollars(0, 2);
  if (cost < 0.0001) return t("under {0}", dollars(0.0001, 4));
  return cost < 0.01 ? dollars(cost, 4) : dollars(cost, 2);
}

/** Formats tokens: `980`, `12.4k`, `24k`, `1.2M`. */
export function tokenFigure(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  if (tokens < 99_950) return `${short(tokens / 1000)}k`;
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}k`;
  return `${short(tokens / 1_000_000)}M`;
}

function short(value: number): string {
  return number(value, { maximumFractionDigits: 1 });
}

function fixed(value: number, digits: number): string {
  return number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function dollars(value: number, digits: number): string {
  return number(value, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** Formats a share of 0 or more: `38 %`; below one percent `under 1 %`. */
export function shareFigure(share: number): string {
  if (share > 0 && share < 0.01) return t("under 1 %");
  return t("{0} %", Math.round(share * 100));
}

/** Formats added and removed lines: `+3 −1`. */
export function linesFigure(added: number, removed: number): string {
  return `+${grouped(added)} −${grouped(removed)}`;
}

/** Formats bytes: `512 B`, `12 KB`, `3.4 MB`. */
export function sizeFigure(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return t("{0} KB", Math.round(bytes / 1000));
  return t("{0} MB", fixed(bytes / 1_000_000, 1));
}
