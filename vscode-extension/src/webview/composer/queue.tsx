/**
 * Lists prompts that wait for the running turn, one line each, with buttons to change, move, remove
 * and hold a prompt.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { QueuedResult } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import type { PanelState } from "../../shared/state/state.ts";
import { Icon } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import type { KeptWords } from "../host/kept-words.ts";

interface QueueEditProps {
  readonly text: string;
  /**
   * The initial text of the field, which differs from the prompt's text if the user edited the
   * prompt before.
   */
  readonly begun: string;
  readonly changed: (text: string) => void;
  /** Called with the new text, or with null if the text did not change. */
  readonly onEnd: (text: string | null) => void;
  /** Called if the row disappeared during the edit. */
  readonly onLost: (text: string) => void;
}

/** A field that edits the text of a waiting prompt. */
function QueueEdit({ text, begun, changed, onEnd, onLost }: QueueEditProps) {
  const box = useRef<HTMLTextAreaElement>(null);
  const typed = useRef(begun);
  const before = useRef(text);
  const ended = useRef(false);
  const lost = useRef(onLost);
  lost.current = onLost;
  const end = (words: string | null) => {
    ended.current = true;
    onEnd(words !== null && words.trim() !== "" && words !== text ? words : null);
  };
  useLayoutEffect(() => {
    const edited = box.current;
    edited?.focus();
    edited?.setSelectionRange(edited.value.length, edited.value.length);
    // If the prompt began or was removed during the edit, the edited text is kept.
    return () => {
      if (!ended.current && typed.current !== before.current) lost.current(typed.current);
    };
  }, []);
  return (
    <div class="queue-edit">
      <textarea
        ref={box}
        class="queue-text"
        dir="auto"
        rows={1}
        aria-label={t("Words of the waiting prompt. Enter saves them, Escape discards the change")}
        defaultValue={typed.current}
        onInput={(event) => {
          typed.current = event.currentTarget.value;
          changed(typed.current);
        }}
        onKeyDown={(event) => {
          if (event.isComposing || event.keyCode === 229) return;
          if (event.key === "Escape") end(null);
          else if (event.key === "Enter" && !event.shiftKey) end(typed.current);
          else return;
          event.preventDefault();
          event.stopPropagation();
        }}
      />
      <button
        type="button"
        class="icon-button"
        title={t("Keep")}
        aria-label={t("Keep the change")}
        onClick={() => end(typed.current)}
      >
        <Icon name="check" />
      </button>
      <button
        type="button"
        class="icon-button"
        title={t("Drop the change")}
        aria-label={t("Drop the change")}
        onClick={() => end(null)}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}

interface QueueProps {
  readonly queue: PanelState["queue"];
  readonly kept: KeptWords;
  readonly post: Post;
  /** Called with the text of a row that disappeared during an edit. */
  readonly onLost: (text: string) => void;
}

export function Queue({ queue, kept, post, onLost }: QueueProps) {
  const { waiting, held } = queue;
  if (waiting.length === 0) return null;
  const act = (action: "hold" | "resume") =>
    post({ type: "queue", action, id: null, to: null, text: null });
  return (
    <section class="queue" aria-label={t("Waiting prompts")}>
      <div class="queue-head">
        <span class="queue-title">
          {plural(waiting.length, "{0} prompt waits", "{0} prompts wait")}
          {held !== "" && <span class="queue-held">{` · ${t("held: {0}", held)}`}</span>}
        </span>
        {held === "" ? (
          <button
            type="button"
            class="link-button"
            title={t("Hold all waiting prompts")}
            onClick={() => act("hold")}
          >
            {t("Hold")}
          </button>
        ) : (
          <button
            type="button"
            class="link-button"
            title={t("Let them begin")}
            onClick={() => act("resume")}
          >
            {t("Resume")}
          </button>
        )}
      </div>
      <ol class="queue-rows">
        {waiting.map((row, index) => (
          <QueueRow
            key={row.id}
            row={row}
            index={index}
            n={waiting.length}
            kept={kept}
            post={post}
            onLost={onLost}
          />
        ))}
      </ol>
    </section>
  );
}

interface QueueRowProps {
  readonly row: QueuedResult;
  readonly index: number;
  readonly n: number;
  readonly kept: KeptWords;
  readonly post: Post;
  readonly onLost: (text: string) => void;
}

function QueueRow({ row, index, n, kept, post, onLost }: QueueRowProps) {
  const key = `queue ${row.id}`;
  const [editing, setEditing] = useState(kept.draft(key) !== null);
  const edit = useRef<HTMLButtonElement>(null);
  const words = row.text.trim() === "" ? row.title : row.text;
  const name = words.length > 60 ? `${words.slice(0, 60)}…` : words;
  const move = (to: number) => post({ type: "queue", action: "move", id: row.id, to, text: null });
  if (editing) {
    return (
      <li class="queue-row">
        <QueueEdit
          text={row.text}
          begun={kept.draft(key) ?? row.text}
          changed={(text) => kept.keepDraft(key, text)}
          onLost={(text) => {
            kept.keepDraft(key, null);
            onLost(text);
          }}
          onEnd={(text) => {
            kept.keepDraft(key, null);
            setEditing(false);
            if (text !== null) post({ type: "queue", action: "edit", id: row.id, to: null, text });
            requestAnimationFrame(() => edit.current?.focus());
          }}
        />
      </li>
    );
  }
  return (
    <li class="queue-row">
      <span class="queue-words" title={words}>
        {words.split("\n", 1)[0]}
      </span>
      {row.attached.length > 0 && (
        <span class="figure" title={row.attached.join("\n")}>
          {`+ ${row.attached.length}`}
          <span class="sr-only"> {t("attached")}</span>
        </span>
      )}
      <span class="queue-actions">
        <button
          ref={edit}
          type="button"
          class="icon-button"
          title={t("Change")}
          aria-label={t("Change: {0}", name)}
          onClick={() => setEditing(true)}
        >
          <Icon name="edit" />
        </button>
        <RowButton
          icon="arrow-up"
          title={t("Move up")}
          name={name}
          disabled={index === 0}
          onClick={() => move(index - 1)}
        />
        <RowButton
          icon="arrow-down"
          title={t("Move down")}
          name={name}
          disabled={index === n - 1}
          onClick={() => move(index + 1)}
        />
        <RowButton
          icon="close"
          title={t("Remove")}
          name={name}
          disabled={false}
          onClick={() =>
            post({ type: "queue", action: "remove", id: row.id, to: null, text: null })
          }
        />
      </span>
    </li>
  );
}

interface RowButtonProps {
  readonly icon: string;
  readonly title: string;
  readonly name: string;
  readonly disabled: boolean;
  readonly onClick: () => void;
}

function RowButton({ icon, title, name, disabled, onClick }: RowButtonProps) {
  return (
    <button
      type="button"
      class="icon-button"
      title={title}
      aria-label={`${title}: ${name}`}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}
