/** One past session: a click opens the session; buttons beside it have the other actions. */

import { useRef, useState } from "preact/hooks";
import type { SessionRow } from "../../protocol.ts";
import { costFigure } from "../../shared/figures.ts";
import { plural, t } from "../../shared/l10n.ts";
import type { SessionWork } from "../../shared/state.ts";
import { TitleField } from "../header/title-field.tsx";
import { Icon } from "../icon.tsx";
import type { Post } from "../view-props.ts";
import { ageWords } from "./days.ts";
import { WorkBadge } from "./work-badge.tsx";

interface Props {
  readonly row: SessionRow;
  /** Whether the panel shows this session when the list is closed. */
  readonly isShown: boolean;
  /** The state of the session's work in this window, or undefined if there is no work. */
  readonly work: SessionWork | undefined;
  readonly post: Post;
}

export function SessionEntry({ row, isShown, work, post }: Props) {
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
