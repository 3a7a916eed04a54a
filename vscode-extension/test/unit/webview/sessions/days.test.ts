import assert from "node:assert/strict";
import { test } from "node:test";
import { ageWords, byDay } from "../../../../src/webview/sessions/session-list.tsx";

const NOW = new Date(2026, 10, 22, 14, 0);
const at = (...when: [number, number, number, number?, number?]) => new Date(...when);

test("sessions stand under the day that people would say", () => {
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

test("two of one day stand under one heading, in their order", () => {
  const rows = [13, 12].map((hour) => ({ at: at(2026, 10, 22, hour).toISOString(), hour }));
  assert.deepEqual(byDay(rows, NOW), [{ label: "Today", rows }]);
});

test("a date that cannot be read stands apart", () => {
  assert.equal(byDay([{ at: "?" }], NOW)[0]?.label, "Undated");
  assert.equal(ageWords(new Date("?"), NOW), "");
});

test("ages are in people's words", () => {
  const said = [
    at(2026, 10, 22, 13, 59),
    at(2026, 10, 22, 14, 5),
    at(2026, 10, 22, 11, 0),
    at(2026, 10, 21, 22, 5),
    at(2026, 10, 2),
    at(2025, 0, 2),
  ].map((date) => ageWords(date, NOW));
  assert.deepEqual(said, ["1 min ago", "now", "3 h ago", "22:05", "Nov 2", "Jan 2, 2025"]);
});
