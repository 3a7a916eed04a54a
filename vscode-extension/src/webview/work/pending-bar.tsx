/**
 * Shows pending changes, which the user has not accepted or rejected yet: one line that opens to a
 * list of files.
 */
import { useEffect, useState } from "preact/hooks";
import type { ChangeRow } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import { Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";

/** One file with its pending changes. */
interface PendingFile {
  readonly path: string;
  readonly ids: readonly string[];
  readonly added: number;
  readonly removed: number;
  /**
   * A note such as `new` or `deleted`, or the description of a change that cannot be shown as text;
   * empty for ordinary changes.
   */
  readonly note: string;
}

/** Returns the files in the order of their paths. */
export function pendingFiles(rows: readonly ChangeRow[]): readonly PendingFile[] {
  const files = new Map<string, ChangeRow[]>();
  for (const row of rows) {
    const known = files.get(row.path);
    if (known === undefined) files.set(row.path, [row]);
    else known.push(row);
  }
  return [...files]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, changes]) => ({
      path,
      ids: changes.map((change) => change.id),
      added: changes.reduce((sum, change) => sum + lines(change.new), 0),
      removed: changes.reduce((sum, change) => sum + lines(change.old), 0),
      note: changes.map(noteOf).find((note) => note !== "") ?? "",
    }));
}

function lines(text: string): number {
  if (text === "") return 0;
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function noteOf(change: ChangeRow): string {
  switch (change.kind) {
    case "create":
      return t("new");
    case "delete":
      return t("deleted");
    case "opaque":
      return change.note;
    case "change":
      return "";
    default:
      return change.kind satisfies never;
  }
}

/**
 * If nothing is pending, this bar offers for this many milliseconds to undo the last accept or
 * reject; afterwards the command can still undo it.
 */
const SHOWN_MS = 30_000;

export function PendingBar({ state, post }: ViewProps) {
  const [open, setOpen] = useState(false);
  const { total, files, added, removed, rows, undo } = state.pending;
  if (total === 0) return undo === "" ? null : <LastVerdict undo={undo} post={post} />;
  const words = plural(files, "{0} file", "{0} files");
  return (
    <section class="pending" aria-label={t("Pending changes")}>
      <div class="pending-line">
        <button
          type="button"
          class="pending-toggle"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Icon name={open ? "chevron-down" : "chevron-right"} />
          <span>{words}</span> <Lines added={added} removed={removed} />
        </button>
        <span class="pending-actions">
          {undo !== "" && <Undo undo={undo} post={post} />}
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "command", command: "review" })}
          >
            {t("Review")}
          </button>
          <button
            type="button"
            class="link-button"
            title={t("Accept all pending changes")}
            onClick={() => post({ type: "command", command: "acceptAll" })}
          >
            {t("Accept")}
          </button>
          <button
            type="button"
            class="link-button"
            title={t("Reject all pending changes")}
            onClick={() => post({ type: "command", command: "rejectAll" })}
          >
            {t("Reject")}
          </button>
        </span>
      </div>
      {open && (
        <ul class="pending-files">
          {pendingFiles(rows).map((file) => (
            <FileRow key={file.path} file={file} post={post} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** Draws the last accept or reject with its undo button, for a while. */
function LastVerdict({ undo, post }: { readonly undo: string } & Pick<ViewProps, "post">) {
  const [past, setPast] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setPast(undo), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [undo]);
  if (past === undo) return null;
  return (
    <section class="pending" aria-label={t("Last verdict")}>
      <div class="pending-line">
        <span class="muted pending-last">{`${undo[0]?.toUpperCase() ?? ""}${undo.slice(1)}`}</span>
        <span class="pending-actions">
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "command", command: "undoVerdict" })}
          >
            {t("Undo")}
          </button>
        </span>
      </div>
    </section>
  );
}

function Undo({ undo, post }: { readonly undo: string } & Pick<ViewProps, "post">) {
  return (
    <button
      type="button"
      class="icon-button"
      title={t("Undo the last verdict: {0}", undo)}
      aria-label={t("Undo the last verdict")}
      onClick={() => post({ type: "command", command: "undoVerdict" })}
    >
      <Icon name="discard" />
    </button>
  );
}

function FileRow({ file, post }: { readonly file: PendingFile } & Pick<ViewProps, "post">) {
  const name = file.path.split("/").at(-1) ?? file.path;
  const folder = file.path.slice(0, -name.length).replace(/\/$/, "");
  return (
    <li class="pending-file">
      <button
        type="button"
        class="pending-name"
        title={t("Open the changes of {0}", file.path)}
        onClick={() => post({ type: "openDiff", path: file.path, turn: null })}
      >
        <span>{name}</span>
        {folder !== "" && <span class="muted pending-folder">{folder}</span>}
      </button>
      {file.note !== "" && <span class="muted">{file.note}</span>}
      <Lines added={file.added} removed={file.removed} />
      <button
        type="button"
        class="icon-button"
        title={t("Accept the changes of this file")}
        aria-label={t("Accept the changes of {0}", file.path)}
        onClick={() => post({ type: "verdict", verdict: "accept", hunks: file.ids })}
      >
        <Icon name="check" />
      </button>
      <button
        type="button"
        class="icon-button"
        title={t("Reject the changes of this file")}
        aria-label={t("Reject the changes of {0}", file.path)}
        onClick={() => post({ type: "verdict", verdict: "reject", hunks: file.ids })}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}

function Lines({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span class="figure">
      <span class="lines-added">+{added}</span> <span class="lines-removed">−{removed}</span>
    </span>
  );
}
