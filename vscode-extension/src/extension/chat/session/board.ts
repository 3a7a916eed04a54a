/**
 * Tracks the work of all sessions in this window: which sessions run or ask, and which have ended
 * unseen.
 */
import type { EventParams } from "../../../protocol.ts";
import type { SessionMark, SessionWork } from "../../../shared/state/state.ts";

interface Entry {
  readonly session: string;
  title: string;
  work: SessionWork;
  /** The open questions of the session's turn. */
  readonly asks: Set<string>;
  /** The number of the event with which the session's running turn began. */
  since: number | null;
}

export class SessionBoard {
  readonly #isShown: (session: string) => boolean;
  readonly #changed: (marks: readonly SessionMark[]) => void;
  readonly #entries = new Map<string, Entry>();
  /** Sessions that the user left, whose turns the panel does not follow. */
  readonly #left = new Set<string>();
  readonly #hasTab: (session: string) => boolean;
  /** Sessions that a tab began. */
  readonly #claimed = new Set<string>();

  /**
   * `isShown` returns whether the user sees the session; `changed` receives the work of every
   * session after a change; `hasTab` returns whether an editor tab is bound to the session.
   */
  constructor(
    isShown: (session: string) => boolean,
    changed: (marks: readonly SessionMark[]) => void,
    hasTab: (session: string) => boolean = () => false,
  ) {
    this.#isShown = isShown;
    this.#changed = changed;
    this.#hasTab = hasTab;
  }

  /** Records an event of any session. */
  heard({ session, seq, event }: EventParams): void {
    if (event.agent !== "" && !event.type.endsWith("Asked") && !event.type.endsWith("Answered"))
      return;
    const entry = this.#entries.get(session);
    switch (event.type) {
      case "turnStarted": {
        const title = entry?.title || event.title || firstLine(event.words);
        this.#entries.set(session, {
          session,
          title,
          work: "running",
          asks: new Set(),
          since: seq,
        });
        break;
      }
      case "permissionAsked":
        this.#asked(session, seq, `permission ${event.question}`);
        break;
      case "questionAsked":
        this.#asked(session, seq, `question ${event.id}`);
        break;
      case "permissionAnswered":
        this.#answered(entry, `permission ${event.question}`);
        break;
      case "questionAnswered":
        this.#answered(entry, `question ${event.id}`);
        break;
      case "turnFinished":
        if (entry === undefined) return;
        entry.asks.clear();
        entry.since = null;
        entry.work = workOf(event.ending);
        if (this.#isShown(session)) this.#entries.delete(session);
        break;
      default:
        return;
    }
    this.#tell();
  }

  /** Records the title of a session, from the server or a list. */
  titled(session: string, title: string): void {
    const entry = this.#entries.get(session);
    if (entry === undefined || title === "" || entry.title === title) return;
    entry.title = title;
    this.#tell();
  }

  /** Records that the user sees the session now. */
  seen(session: string | null): void {
    if (session === null) return;
    this.#left.delete(session);
    const entry = this.#entries.get(session);
    if (entry === undefined || entry.since !== null) return;
    this.#entries.delete(session);
    this.#tell();
  }

  /** Records that the user switched from this session to another. */
  left(session: string | null): void {
    if (session !== null) this.#left.add(session);
  }

  /** Returns whether the user left the session, so that its turns are not shown automatically. */
  isLeft(session: string): boolean {
    return this.#left.has(session) || this.#claimed.has(session) || this.#hasTab(session);
  }

  /**
   * Binds a session to the tab whose prompt began the session; returns false if another tab has the
   * session.
   */
  claim(session: string): boolean {
    if (this.#claimed.has(session)) return false;
    this.#claimed.add(session);
    return true;
  }

  /**
   * Returns the number of the event with which the session's running turn began, or null if no turn
   * runs.
   */
  since(session: string): number | null {
    return this.#entries.get(session)?.since ?? null;
  }

  /** Returns the work of a session, or null if the session has none. */
  work(session: string): SessionWork | null {
    return this.#entries.get(session)?.work ?? null;
  }

  /** Returns the session's title, or an empty text if the title is unknown. */
  title(session: string): string {
    return this.#entries.get(session)?.title ?? "";
  }

  /** Removes a deleted session. */
  forget(session: string): void {
    this.#left.delete(session);
    if (this.#entries.delete(session)) this.#tell();
  }

  /** Records that the server is gone, so that no turn runs any more. */
  gone(): void {
    for (const [session, entry] of this.#entries) {
      if (entry.since === null) continue;
      entry.since = null;
      entry.asks.clear();
      entry.work = "stopped";
      if (this.#isShown(session)) this.#entries.delete(session);
    }
    this.#tell();
  }

  #asked(session: string, seq: number, question: string): void {
    let entry = this.#entries.get(session);
    if (entry === undefined) {
      // The turn began before this window received events.
      entry = { session, title: "", work: "asking", asks: new Set(), since: seq };
      this.#entries.set(session, entry);
    }
    entry.asks.add(question);
    entry.work = "asking";
  }

  #answered(entry: Entry | undefined, question: string): void {
    if (entry === undefined) return;
    entry.asks.delete(question);
    if (entry.since !== null && entry.asks.size === 0) entry.work = "running";
  }

  #tell(): void {
    const marks = [...this.#entries.values()].map(({ session, title, work }) => ({
      session,
      title,
      work,
    }));
    this.#changed(marks);
  }
}

function workOf(ending: string): SessionWork {
  if (ending === "done") return "done";
  return ending === "cancelled" ? "stopped" : "failed";
}

function firstLine(words: string): string {
  return words.trim().split("\n", 1)[0]?.slice(0, 120) ?? "";
}
