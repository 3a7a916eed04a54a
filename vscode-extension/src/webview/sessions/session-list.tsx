/**
 * Lists past sessions in place of the conversation: search, open, rename, fork, export, delete;
 * keys work for all actions.
 */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { byDay } from "./days.ts";
import { SessionEntry } from "./session-entry.tsx";

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
