/**
 * Decides when the problems of a document are complete after an edit. Pure: times are milliseconds
 * of one clock. VS Code does not say when a language server is done. Only two times are known: when
 * a document was edited, and when problems were last reported. Most servers report after every
 * edit, even if nothing changed; a few (TypeScript's) then send no report.
 */

/** What is known about one document. */
export interface Watched {
  /** The time of the last change of the document's text, or 0 if no change was seen. */
  readonly editedAt: number;
  /**
   * The time of the last report of problems (an empty report counts), or 0 if no report was seen.
   */
  readonly reportedAt: number;
  /** Whether a known checker of the document's language has not reported yet. */
  readonly late: boolean;
  /** Whether the document is open in the editor; most servers check only open documents. */
  readonly open: boolean;
  /** Whether any checker has reported on a document of this language in this window. */
  readonly served: boolean;
  /** Whether the server of this language reports only changes. */
  readonly silent: boolean;
  /** The number of consecutive waits for this language without a report. */
  readonly silences: number;
  /** The longest observed time from edit to report for this language, or null if there is none. */
  readonly latency: number | null;
}

/**
 * What to do: `wait` and check again after some milliseconds, answer with the `known` reports, or
 * answer that the problems are `unknown`.
 */
export type Settling =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "known" }
  | { readonly kind: "unknown" };

/**
 * The time to wait after a report, because several servers may report one after the other, and a
 * server may first report on the text before the edit.
 */
export const QUIET_MS = 300;
/** The time to wait if no checker has ever reported on the language. */
export const UNSERVED_MS = 500;
/** The shortest wait for a server that reports only changes. */
export const SILENT_MS = 1_000;

/**
 * Returns what to do at `now` about a document whose problems were requested at `begun`; the answer
 * may take `wait`. If `wait` is 0 and any checker has reported, the current problems are the
 * answer.
 */
export function settling(one: Watched, begun: number, now: number, wait: number): Settling {
  if (wait <= 0) return one.reportedAt > 0 || (one.served && one.open) ? KNOWN : UNKNOWN;
  const deadline = begun + wait;
  const isReported = one.reportedAt > one.editedAt && one.editedAt > 0;
  if (isReported) {
    // A checker that has no changes to report looks like a slow checker, so the usual time must be
    // enough.
    const last = one.late ? begun + usual(one) : 0;
    const calm = Math.min(Math.max(one.reportedAt + QUIET_MS, last), deadline);
    return now >= calm ? KNOWN : { kind: "wait", ms: calm - now };
  }
  const until = Math.min(begun + patience(one, wait), deadline);
  if (now < until) return { kind: "wait", ms: until - now };
  return one.served && one.silent && one.open ? KNOWN : UNKNOWN;
}

function patience(one: Watched, wait: number): number {
  if (!one.served) return UNSERVED_MS;
  // The wait for a silent checker is halved each time, because the checker's server may be gone.
  if (!one.silent) return Math.max(UNSERVED_MS, wait / 2 ** one.silences);
  return one.latency === null ? wait : usual(one);
}

function usual(one: Watched): number {
  return Math.max(SILENT_MS, (one.latency ?? 0) * 2);
}

const KNOWN: Settling = { kind: "known" };
const UNKNOWN: Settling = { kind: "unknown" };
