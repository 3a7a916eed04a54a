/** Records when documents were edited and reported on in this window, for `settling`. Pure. */
import type { Watched } from "./settling.ts";

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
export interface Checker {
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
