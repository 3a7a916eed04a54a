/**
 * Decides when the problems of a document are complete after an edit, from the times of edits and
 * reports in this window. Pure: times are milliseconds of one clock. VS Code does not say when a
 * language server is done. Only two times are known: when a document was edited, and when problems
 * were last reported. Most servers report after every edit, even if nothing changed; a few
 * (TypeScript's) then send no report.
 */

/** What is known about one document. */
interface Watched {
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
type Settling =
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
const SILENT_MS = 1_000;

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

/** The maximum number of documents that are remembered; the oldest are dropped first. */
const MOST_DOCUMENTS = 2_000;
/** A report that comes later than this after an edit has another cause. */
const MOST_LATENCY_MS = 10_000;
/** Languages whose server (TypeScript's) sends no report if the problems did not change. */
const SILENT: ReadonlySet<string> = new Set([
  "typescript",
  "typescriptreact",
  "javascript",
  "javascriptreact",
]);

/** The problems from each checker for a document, as a text that differs if the problems differ. */
export type Marks = ReadonlyMap<string, string>;

/** A checker of a document, with the time of its last report, or 0 for never. */
interface Checker {
  readonly name: string;
  readonly at: number;
}

interface Times {
  readonly editedAt: number;
  readonly reportedAt: number;
  readonly checkers: ReadonlyMap<string, { readonly mark: string; readonly at: number }>;
}

const NOTHING: Times = { editedAt: 0, reportedAt: 0, checkers: new Map() };

/** Remembers times, in milliseconds of one clock, which the caller reads. */
export class ProblemClock {
  private readonly times = new Map<string, Times>();
  private readonly latencies = new Map<string, number>();
  private readonly served = new Set<string>();
  private readonly silences = new Map<string, number>();
  /** The checkers that have ever reported a problem for a language. */
  private readonly names = new Map<string, Set<string>>();

  /** Records that the text of a document changed. */
  edited(uri: string, now: number): void {
    this.keep(uri, { ...(this.times.get(uri) ?? NOTHING), editedAt: now });
  }

  /**
   * Records that a checker reported on a document; `language` is undefined if the document is not
   * open. VS Code does not name the checker. A checker whose problems changed has reported. If no
   * problems changed, the report came from the only checker known for the language, if there is
   * exactly one.
   */
  reported(uri: string, language: string | undefined, now: number, marks: Marks = new Map()): void {
    const before = this.times.get(uri);
    const checkers = new Map(before?.checkers);
    const known = this.namesOf(language);
    for (const name of marks.keys()) known.add(name);
    const changed = [...new Set([...known, ...checkers.keys()])].filter(
      (name) => (marks.get(name) ?? "") !== (checkers.get(name)?.mark ?? ""),
    );
    const only = changed.length === 0 && known.size === 1 ? [...known] : [];
    for (const name of [...changed, ...only]) {
      checkers.set(name, { mark: marks.get(name) ?? "", at: now });
    }
    this.keep(uri, { editedAt: before?.editedAt ?? 0, reportedAt: now, checkers });
    if (language === undefined) return;
    this.served.add(language);
    this.silences.delete(language);
    const edited = before?.editedAt ?? 0;
    const isFirst = before !== undefined && before.reportedAt < edited;
    if (isFirst && now - edited <= MOST_LATENCY_MS) {
      this.latencies.set(language, Math.max(this.latencies.get(language) ?? 0, now - edited));
    }
  }

  /** Records that a report on a document of this language was awaited in vain. */
  waitedInVain(language: string | undefined): void {
    if (language === undefined) return;
    this.silences.set(language, (this.silences.get(language) ?? 0) + 1);
  }

  /**
   * Returns all known checkers of this language, with the time of their last report on this
   * document.
   */
  checkers(uri: string, language: string | undefined): readonly Checker[] {
    const seen = this.times.get(uri)?.checkers;
    const names = new Set([...this.namesOf(language), ...(seen?.keys() ?? [])]);
    return [...names].map((name) => ({ name, at: seen?.get(name)?.at ?? 0 }));
  }

  /** Returns what is known about a document of this language. */
  watched(uri: string, language: string | undefined): Watched {
    const times = this.times.get(uri);
    return {
      editedAt: times?.editedAt ?? 0,
      reportedAt: times?.reportedAt ?? 0,
      late: this.checkers(uri, language).some((one) => one.at <= (times?.editedAt ?? 0)),
      open: language !== undefined,
      served: language !== undefined && this.served.has(language),
      silent: language !== undefined && SILENT.has(language),
      silences: language === undefined ? 0 : (this.silences.get(language) ?? 0),
      latency: language === undefined ? null : (this.latencies.get(language) ?? null),
    };
  }

  private namesOf(language: string | undefined): Set<string> {
    const known = this.names.get(language ?? "") ?? new Set();
    if (language !== undefined) this.names.set(language, known);
    return known;
  }

  private keep(uri: string, times: Times): void {
    this.times.delete(uri);
    this.times.set(uri, times);
    const oldest = this.times.size > MOST_DOCUMENTS ? this.times.keys().next() : undefined;
    if (oldest !== undefined && oldest.done !== true) this.times.delete(oldest.value);
  }
}
