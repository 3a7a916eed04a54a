/** When documents were edited and reported on in this window: what `settling` decides by. Knows no clock and no editor. */
import type { Watched } from "./settling.ts";

/** Documents that are remembered; the oldest go first. */
const MOST_DOCUMENTS = 2_000;
/** A report later than this after an edit has another cause. */
const MOST_LATENCY_MS = 10_000;
/** Their server (TypeScript's) says nothing where nothing changed. */
const SILENT: ReadonlySet<string> = new Set([
  "typescript",
  "typescriptreact",
  "javascript",
  "javascriptreact",
]);

interface Times {
  readonly editedAt: number;
  readonly reportedAt: number;
}

/** Remembers times, in milliseconds of one clock. */
export class ProblemClock {
  private readonly times = new Map<string, Times>();
  private readonly latencies = new Map<string, number>();
  private readonly served = new Set<string>();
  private readonly silences = new Map<string, number>();

  /** The text of a document changed. */
  edited(uri: string, now: number): void {
    this.keep(uri, { editedAt: now, reportedAt: this.times.get(uri)?.reportedAt ?? 0 });
  }

  /** Somebody reported on a document; `language` is undefined where it is not open. */
  reported(uri: string, language: string | undefined, now: number): void {
    const before = this.times.get(uri);
    this.keep(uri, { editedAt: before?.editedAt ?? 0, reportedAt: now });
    if (language === undefined) return;
    this.served.add(language);
    this.silences.delete(language);
    const edited = before?.editedAt ?? 0;
    const isFirst = before !== undefined && before.reportedAt < edited;
    if (isFirst && now - edited <= MOST_LATENCY_MS) {
      this.latencies.set(language, Math.max(this.latencies.get(language) ?? 0, now - edited));
    }
  }

  /** A report on a document of this language was waited for, and none came. */
  waitedInVain(language: string | undefined): void {
    if (language === undefined) return;
    this.silences.set(language, (this.silences.get(language) ?? 0) + 1);
  }

  /** What is known of a document of this language. */
  watched(uri: string, language: string | undefined): Watched {
    const times = this.times.get(uri);
    return {
      editedAt: times?.editedAt ?? 0,
      reportedAt: times?.reportedAt ?? 0,
      open: language !== undefined,
      served: language !== undefined && this.served.has(language),
      silent: language !== undefined && SILENT.has(language),
      silences: language === undefined ? 0 : (this.silences.get(language) ?? 0),
      latency: language === undefined ? null : (this.latencies.get(language) ?? null),
    };
  }

  private keep(uri: string, times: Times): void {
    this.times.delete(uri);
    this.times.set(uri, times);
    const oldest = this.times.size > MOST_DOCUMENTS ? this.times.keys().next() : undefined;
    if (oldest !== undefined && oldest.done !== true) this.times.delete(oldest.value);
  }
}
