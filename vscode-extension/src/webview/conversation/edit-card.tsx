/**
 * Shows a call's changes of one file: a small diff, with buttons to accept or reject each pending
 * change.
 */

import { useMemo } from "preact/hooks";
import type { ChangeRow } from "../../protocol.ts";
import { number, t } from "../../shared/l10n.ts";
import type { EditShown } from "../../shared/state.ts";
import { Icon } from "../icon.tsx";
import type { Post } from "../view-props.ts";
import { DiffView } from "./diff-view.tsx";
import { matchPending } from "./match-pending.ts";

interface Props {
  readonly edit: EditShown;
  readonly isAlone: boolean;
  readonly turn: number;
  readonly rows: readonly ChangeRow[];
  readonly post: Post;
}

export function EditCard({ edit, isAlone, turn, rows, post }: Props) {
  const shown = useMemo(() => matchPending(edit.diff, rows), [edit.diff, rows]);
  return (
    <div class="edit">
      {!isAlone && (
        <div class="edit-head">
          <span class="edit-path">{edit.path}</span>
          <span class="figure">
            <span class="added">+{edit.added}</span> <span class="removed">−{edit.removed}</span>
          </span>
        </div>
      )}
      {shown.map(({ diff, verdicts }, index) => (
        <DiffView key={index} diff={diff} verdicts={verdicts} path={edit.path} post={post} />
      ))}
      <div class="edit-foot">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "openDiff", path: edit.path, turn })}
        >
          {t("Open diff")}
        </button>
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "openFile", target: edit.path })}
        >
          {t("Open file")}
        </button>
        {rows.length > 1 && <All rows={rows} post={post} />}
      </div>
    </div>
  );
}

function All({ rows, post }: { readonly rows: readonly ChangeRow[]; readonly post: Post }) {
  const hunks = rows.map((row) => row.id);
  return (
    <span class="edit-all">
      <button
        type="button"
        class="icon-button"
        title={t("Accept all {0} changes", number(hunks.length))}
        aria-label={t("Accept all {0} changes", number(hunks.length))}
        onClick={() => post({ type: "verdict", verdict: "accept", hunks })}
      >
        <Icon name="check-all" />
      </button>
      <button
        type="button"
        class="icon-button"
        title={t("Reject all {0} changes", number(hunks.length))}
        aria-label={t("Reject all {0} changes", number(hunks.length))}
        onClick={() => post({ type: "verdict", verdict: "reject", hunks })}
      >
        <Icon name="close-all" />
      </button>
    </span>
  );
}
