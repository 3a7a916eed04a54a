/**
 * Lists past sessions in place of the conversation, by day: search, open, rename, fork, export,
 * delete; keys work for all actions.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { SessionRow } from "../../protocol.ts";
import { date, plural, t } from "../../shared/l10n.ts";
import type { SessionWork } from "../../shared/state/state.ts";
import { costFigure, WORK_WORDS } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";
import { TitleField } from "../header/header.tsx";
import type { Post, ViewProps } from "../host/channel.ts";

/** A heading and its rows. */
interface DayGroup<Row> {
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

/** Draws the state of a session's work: an icon and a word. */
export function WorkBadge({ work }: { readonly work: SessionWork }) {
  return (
    <span class={`work-badge ${work}`}>
      <Icon name={ICONS[work]} spin={work === "running"} /> {WORK_WORDS[work]}
    </span>
  );
}

const ICONS: Readonly<Record<SessionWork, string>> = {
  running: "loading",
  asking: "question",
  done: "check",
  failed: "error",
  stopped: "debug-stop",
};

interface Props {
  readonly row: SessionRow;
  /** Whether the panel shows this session when the list is closed. */
  readonly isShown: boolean;
  /** The state of the session's work in this window, or undefined if there is no work. */
  readonly work: SessionWork | undefined;
  readonly post: Post;
}

/** One past session: a click opens the session; buttons beside it have the other actions. */
function SessionEntry({ row, isShown, work, post }: Props) {
  const [renaming, setRenaming] = useState(false);
  const open = useRef<HTMLButtonElement>(null);
  const back = () => {
    setRenaming(false);
    requestAnimationFrame(() => open.current?.focus());
  };
  const rename = (typed: string | null) => {
    if (typed !== null && typed !== row.title)
      post({ type: "renameSession", session: row.id, title: typed });
    back();
  };
  if (renaming)
    return (
      <li class="session">
        <TitleField title={row.title} done={rename} />
      </li>
    );
  // The host asks before it deletes anything.
  const remove = () => post({ type: "deleteSession", session: row.id });
  const keys = (event: KeyboardEvent) => {
    if (event.key === "F2") setRenaming(true);
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      post({ type: "openInEditor", session: row.id });
    }
    if (event.key === "Delete") remove();
  };
  return (
    <li class={isShown ? "session current" : "session"}>
      <button
        ref={open}
        type="button"
        class="session-open"
        aria-current={isShown}
        onKeyDown={keys}
        onClick={() => post({ type: "openSession", session: row.id })}
      >
        <span class="session-head">
          <span class="session-title" dir="auto">
            {row.title || t("Untitled")}
          </span>
          {work !== undefined && <WorkBadge work={work} />}
        </span>
        {row.preview !== "" && row.preview !== row.title && (
          <span class="session-preview muted" dir="auto">
            {row.preview}
          </span>
        )}
        <span class="session-figures muted">{figures(row)}</span>
        {row.notices.map((notice) => (
          <span key={notice} class="session-notice">
            <Icon name="warning" /> {notice}
          </span>
        ))}
      </button>
      <div class="session-actions">
        <Action
          icon="open-in-product"
          label={t("Open in Editor (Ctrl+Enter)")}
          act={() => post({ type: "openInEditor", session: row.id })}
        />
        <Action icon="edit" label={t("Rename (F2)")} act={() => setRenaming(true)} />
        <Action
          icon="repo-forked"
          label={t("Fork: go on from its end in a new session")}
          act={() => post({ type: "forkSession", session: row.id })}
        />
        <Action
          icon="export"
          label={t("Export as Markdown")}
          act={() => post({ type: "exportSession", session: row.id })}
        />
        <Action icon="trash" label={t("Delete (Del)")} act={remove} />
      </div>
    </li>
  );
}

function Action(props: {
  readonly icon: string;
  readonly label: string;
  readonly act: () => void;
}) {
  return (
    <button
      type="button"
      class="icon-button"
      title={props.label}
      aria-label={props.label}
      onClick={props.act}
    >
      <Icon name={props.icon} />
    </button>
  );
}

function figures(row: SessionRow): string {
  const turns = plural(row.turns, "{0} turn", "{0} turns");
  const cost = row.usage.cost === null ? "" : (costFigure(row.usage.cost) ?? "");
  const task = row.task ? t("task {0}", row.task) : "";
  return [task, ageWords(new Date(row.at), new Date()), turns, cost]
    .filter((word) => word !== "")
    .join(" · ");
}

const SEARCH_MS = 200;

export function SessionList({ state, post }: ViewProps) {
  const list = state.list;
  const [query, setQuery] = useState(list?.query ?? "");
  const field = useRef<HTMLInputElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const groups = useMemo(() => byDay(list?.rows ?? [], new Date()), [list?.rows]);

  const works = useMemo(
    () => new Map(state.marks.map((mark) => [mark.session, mark.work])),
    [state.marks],
  );

  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (list === null || query === list.query) return;
    const timer = setTimeout(() => post({ type: "sessions", query, more: false }), SEARCH_MS);
    return () => clearTimeout(timer);
  }, [query]);
  if (list === null) return null;

  const move = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      post({ type: "closeSessions" });
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = [...(rows.current?.querySelectorAll<HTMLElement>(".session-open") ?? [])];
      const here = all.findIndex((one) => one.closest("li")?.contains(document.activeElement));
      const next = all[here + (event.key === "ArrowDown" ? 1 : -1)];
      if (next === undefined && event.key === "ArrowUp") field.current?.focus();
      else next?.focus();
      event.preventDefault();
    }
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of all that stands in it come through here
    <div class="sessions" onKeyDown={move}>
      <div class="row sessions-head">
        <h1>{t("Sessions")}</h1>
        <button
          type="button"
          class="icon-button"
          title={t("Back to the conversation (Escape)")}
          aria-label={t("Back to the conversation")}
          onClick={() => post({ type: "closeSessions" })}
        >
          <Icon name="close" />
        </button>
      </div>
      <input
        ref={field}
        class="field"
        type="search"
        placeholder={t("Search titles and words")}
        aria-label={t("Search sessions")}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      <div ref={rows} class="sessions-rows" aria-busy={list.loading}>
        {groups.map((group) => (
          <section key={`${group.label}${group.rows[0]?.id ?? ""}`} aria-label={group.label}>
            <h2>{group.label}</h2>
            <ul>
              {group.rows.map((row) => (
                <SessionEntry
                  key={row.id}
                  row={row}
                  isShown={row.id === state.session}
                  work={works.get(row.id)}
                  post={post}
                />
              ))}
            </ul>
          </section>
        ))}
        {list.rows.length === 0 && <Nothing query={list.query} loading={list.loading} />}
        {list.more && <More loading={list.loading} query={list.query} post={post} />}
      </div>
      <div class="sr-only" aria-live="polite">
        {list.loading
          ? t("Loading sessions")
          : plural(list.rows.length, "{0} session", "{0} sessions")}
      </div>
    </div>
  );
}

function Nothing({ query, loading }: { readonly query: string; readonly loading: boolean }) {
  if (loading) return <p class="muted">{t("Loading…")}</p>;
  return (
    <p class="muted">
      {query === ""
        ? t("No sessions in this workspace yet. Each conversation is kept here.")
        : t("No session has “{0}” in its title or in your words.", query)}
    </p>
  );
}

/** Loads older sessions when it becomes visible; it is also a button, for keys. */
function More(
  props: Pick<ViewProps, "post"> & { readonly loading: boolean; readonly query: string },
) {
  const { loading, query, post } = props;
  const button = useRef<HTMLButtonElement>(null);
  const load = () => {
    if (!loading) post({ type: "sessions", query, more: true });
  };
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) load();
    });
    if (button.current !== null) seen.observe(button.current);
    return () => seen.disconnect();
  }, [loading, query]);
  return (
    <button ref={button} type="button" class="link-button sessions-more" onClick={load}>
      {loading ? t("Loading…") : t("Show older ones")}
    </button>
  );
}
