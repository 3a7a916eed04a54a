/**
 * When the problems of a document have settled after an edit. Pure: times are milliseconds of one clock.
 *
 * Nothing in VS Code says that a language server has done its work. What is seen is when a document was
 * edited, and when somebody reported on it. Most servers report after every edit, also when nothing
 * changed; a few (TypeScript's) stay silent then.
 */

/** What is known of one document. */
export interface Watched {
  /** Of the last change of its text; 0: none was seen. */
  readonly editedAt: number;
  /** Of the last report of problems (none is a report too); 0: none was seen. */
  readonly reportedAt: number;
  /** Has a checker that is known for its language not been seen to report since? */
  readonly late: boolean;
  /** Is it held open by the editor? Most servers look at no others. */
  readonly open: boolean;
  /** Has anybody ever reported on a document of its language in this window? */
  readonly served: boolean;
  /** Does the server of its language report only what changed? */
  readonly silent: boolean;
  /** How often in a row its language was waited for in vain. */
  readonly silences: number;
  /** The longest time from edit to report that was seen for its language; null: none yet. */
  readonly latency: number | null;
}

/** `wait`: look again in so many milliseconds. `known`: answer what each checker said. `unknown`: nobody has reported. */
export type Settling =
  | { readonly kind: "wait"; readonly ms: number }
  | { readonly kind: "known" }
  | { readonly kind: "unknown" };

/** Several servers report one after the other, and one may still report on the text before. */
export const QUIET_MS = 300;
/** For a language of which nobody ever reported. */
export const UNSERVED_MS = 500;
/** The least that a silent server is given. */
export const SILENT_MS = 1_000;

/**
 * How a document stands at `now`, asked about since `begun`, when the answer may take `wait`.
 *
 * With `wait` 0 what is there counts, if anybody has ever reported.
 */
export function settling(one: Watched, begun: number, now: number, wait: number): Settling {
  if (wait <= 0) return one.reportedAt > 0 || (one.served && one.open) ? KNOWN : UNKNOWN;
  const deadline = begun + wait;
  const isReported = one.reportedAt > one.editedAt && one.editedAt > 0;
  if (isReported) {
    // Who has nothing new to say cannot be told from who is slow: the usual time has to do.
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
  // Who stays silent is waited for half as long each time: its server may be gone.
  if (!one.silent) return Math.max(UNSERVED_MS, wait / 2 ** one.silences);
  return one.latency === null ? wait : usual(one);
}

function usual(one: Watched): number {
  return Math.max(SILENT_MS, (one.latency ?? 0) * 2);
}

const KNOWN: Settling = { kind: "known" };
const UNKNOWN: Settling = { kind: "unknown" };
