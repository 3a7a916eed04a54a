import assert from "node:assert/strict";
import { test } from "node:test";
import { ageWords, byDay } from "../../../../src/webview/sessions/session-list.tsx";

const NOW = new Date(2026, 10, 22, 14, 0);
const at = (...when: [number, number, number, number?, number?]) => new Date(...when);

test("sessions are grouped by day, period, month and year", () => {
  const rows = [
    at(2026, 10, 22, 0, 1),
    at(2026, 10, 21, 23, 59),
    at(2026, 10, 16),
    at(2026, 10, 1),
    at(2026, 8, 3),
    at(2025, 8, 3),
  ].map((date) => ({ at: date.toISOString() }));
  assert.deepEqual(
    byDay(rows, NOW).map((group) => group.label),
    ["Today", "Yesterday", "Last 7 days", "Last 30 days", "September", "September 2025"],
  );
});

test("two sessions of one day share a heading and keep their order", () => {
  const rows = [13, 12].map((hour) => ({ at: at(2026, 10, 22, hour).toISOString(), hour }));
  assert.deepEqual(byDay(rows, NOW), [{ label: "Today", rows }]);
});

test("a session with an invalid date is grouped as undated and has no age", () => {
  assert.equal(byDay([{ at: "?" }], NOW)[0]?.label, "Undated");
  assert.equal(ageWords(new Date("?"), NOW), "");
});

test("ages are given in minutes or hours, as a time or as a date", () => {
  const ages = [
    at(2026, 10, 22, 13, 59),
    at(2026, 10, 22, 14, 5),
    at(2026, 10, 22, 11, 0),
    at(2026, 10, 21, 22, 5),
    at(2026, 10, 2),
    at(2025, 0, 2),
  ].map((date) => ageWords(date, NOW));
  assert.deepEqual(ages, ["1 min ago", "now", "3 h ago", "22:05", "Nov 2", "Jan 2, 2025"]);
});
