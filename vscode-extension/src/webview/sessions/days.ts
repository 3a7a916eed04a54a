/**
 * Groups sessions by day, and formats their ages. Pure: the caller passes the time; the time zone
 * is the machine's.
 */
import { date, t } from "../../shared/l10n.ts";

/** A heading and its rows. */
export interface DayGroup<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
}

const DAY_MS = 86_400_000;

/**
 * Groups rows under Today, Yesterday, Last 7 days, Last 30 days, and then months; the order of the
 * rows is kept. `at` is a time in ISO 8601.
 */
export function byDay<Row extends { readonly at: string }>(
  rows: readonly Row[],
  now: Date,
): readonly DayGroup<Row>[] {
  const groups: { label: string; rows: Row[] }[] = [];
  for (const row of rows) {
    const label = dayLabel(new Date(row.at), now);
    const last = groups.at(-1);
    if (last?.label === label) last.rows.push(row);
    else groups.push({ label, rows: [row] });
  }
  return groups;
}

/**
 * Formats an age: `now`, `5 min ago`, `3 h ago` today; `14:05` yesterday; then `12 Nov`, with the
 * year if it differs.
 */
export function ageWords(at: Date, now: Date): string {
  const minutes = Math.floor((now.getTime() - at.getTime()) / 60_000);
  if (Number.isNaN(minutes)) return "";
  const days = daysBetween(at, now);
  if (days <= 0 && minutes < 1) return t("now");
  if (days <= 0 && minutes < 60) return t("{0} min ago", minutes);
  if (days <= 0) return t("{0} h ago", Math.floor(minutes / 60));
  if (days === 1) return date(at, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const isThisYear = at.getFullYear() === now.getFullYear();
  return date(at, { day: "numeric", month: "short", ...(isThisYear ? {} : { year: "numeric" }) });
}

function dayLabel(at: Date, now: Date): string {
  const days = daysBetween(at, now);
  if (Number.isNaN(days)) return t("Undated");
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days < 7) return t("Last 7 days");
  if (days < 30) return t("Last 30 days");
  const isThisYear = at.getFullYear() === now.getFullYear();
  return date(at, { month: "long", ...(isThisYear ? {} : { year: "numeric" }) });
}

/** Returns the number of midnights between two times; rounding handles days of 23 or 25 hours. */
function daysBetween(at: Date, now: Date): number {
  const midnight = (date: Date) =>
    new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  return Math.round((midnight(now) - midnight(at)) / DAY_MS);
}
