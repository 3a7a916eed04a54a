/**
 * Shows pending changes, which the user has not accepted or rejected yet: one line that opens to a
 * list of files.
 */

import { useEffect, useState } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import { Icon } from "../icon.tsx";
import type { ViewProps } from "../view-props.ts";
import { type PendingFile, pendingFiles } from "./pending-files.ts";

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
