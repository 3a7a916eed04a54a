/**
 * Draws the chips of the next prompt as one stop of the Tab key; arrows move between chips, Delete
 * removes a chip.
 */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import type { Attachment } from "../../shared/state/state.ts";
import { estimatedTokens } from "../../shared/token-estimate.ts";
import { baseName, sizeFigure, tokenFigure } from "../../shared/words.ts";
import { Icon } from "../elements.tsx";

interface ChipWords {
  readonly icon: string;
  readonly label: string;
  /** The tooltip, which has the kind and the size. */
  readonly title: string;
  /**
   * The action of a click on the chip (its button to remove it is separate), or null if a click
   * does nothing.
   */
  readonly press: "open" | "unfold" | null;
}

/** Formats the label and tooltip of a chip of the composer. */
export function chipWords(attachment: Attachment): ChipWords {
  const { label } = attachment;
  switch (attachment.kind) {
    case "context":
      return {
        icon: attachment.id.startsWith("opened") ? "eye" : "selection",
        label: baseName(label),
        title: plural(
          attachment.tokens,
          "{1}\nFrom the editor, about {2} token",
          "{1}\nFrom the editor, about {2} tokens",
          label,
          tokenFigure(attachment.tokens),
        ),
        press: null,
      };
    case "mention":
      return {
        icon: attachment.path.endsWith("/") ? "folder" : "file",
        label: baseName(label),
        title: t("{0}\nIts text goes along. Press to open it", attachment.path),
        press: attachment.path.endsWith("/") ? null : "open",
      };
    case "image":
      return {
        icon: "file-media",
        label,
        title: t("{0}\nPicture, {1}", label, sizeFigure(Math.floor(attachment.data.length * 0.75))),
        press: null,
      };
    case "text": {
      const tokens = estimatedTokens(attachment.text);
      return {
        icon: "note",
        label,
        title: plural(
          tokens,
          "{1}\nAbout {2} token. Press to turn it back into text",
          "{1}\nAbout {2} tokens. Press to turn it back into text",
          label,
          tokenFigure(tokens),
        ),
        press: "unfold",
      };
    }
    case "problems":
      return {
        icon: "warning",
        label,
        title: t("{0}\nThe problems that the editor reports", label),
        press: null,
      };
    case "changes":
      return {
        icon: "source-control",
        label,
        title: t("{0}\nWhat git would commit, or the changes of the tree", label),
        press: null,
      };
    default:
      return attachment satisfies never;
  }
}

/** Converts a mention for `openFile`: `path#L3-9` becomes `path:3-9`. */
export function openTarget(path: string): string {
  return path.replace(/#L(\d+(?:-\d+)?)$/, ":$1");
}

interface ChipsProps {
  readonly attachments: readonly Attachment[];
  readonly box: RefObject<HTMLDivElement | null>;
  readonly onPress: (attachment: Attachment) => void;
  readonly onRemove: (id: string) => void;
  readonly onAdd: () => void;
  /** Called when the focus goes back to the text. */
  readonly onLeave: () => void;
}

export function Chips(props: ChipsProps) {
  const { attachments, box } = props;
  const [at, setAt] = useState(0);
  const current = Math.min(at, attachments.length - 1);
  const hadFocus = useRef(false);
  // If the focused chip is removed, the chip beside it gets the focus; if no chip is left, the text
  // gets the focus.
  useLayoutEffect(() => {
    if (!hadFocus.current) return;
    hadFocus.current = false;
    if (attachments.length === 0) props.onLeave();
    else focusChip(box, current);
  });
  const remove = (id: string) => {
    hadFocus.current = box.current?.contains(document.activeElement) ?? false;
    props.onRemove(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const to = chipStop(event, current, attachments.length);
    const attachment = attachments[current];
    if (to !== null) focusChip(box, to);
    else if ((event.key === "Delete" || event.key === "Backspace") && attachment !== undefined)
      remove(attachment.id);
    else if (event.key === "Escape") props.onLeave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="chips" ref={box}>
      <button
        type="button"
        class="add-context"
        aria-label={t("Add context")}
        title={t("Add context: choose files, symbols or problems to attach")}
        onClick={props.onAdd}
      >
        <Icon name="add" />
        {attachments.length === 0 && <span>{t("Add context")}</span>}
      </button>
      {attachments.length > 0 && (
        <ul class="chip-list" aria-label={t("Attached to the prompt")} onKeyDown={onKeyDown}>
          {attachments.map((attachment, index) => (
            <Chip
              key={attachment.id}
              attachment={attachment}
              stop={index === current}
              onFocus={() => setAt(index)}
              onPress={() => props.onPress(attachment)}
              onRemove={() => remove(attachment.id)}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

interface ChipProps {
  readonly attachment: Attachment;
  readonly stop: boolean;
  readonly onFocus: () => void;
  readonly onPress: () => void;
  readonly onRemove: () => void;
}

function Chip({ attachment, stop, onFocus, onPress, onRemove }: ChipProps) {
  const words = chipWords(attachment);
  return (
    <li class={`chip composer-chip kind-${attachment.kind}`}>
      <button
        type="button"
        class={words.press === null ? "chip-name still-chip" : "chip-name"}
        tabIndex={stop ? 0 : -1}
        title={words.title}
        aria-label={t("{0}. Delete removes it", words.label)}
        aria-keyshortcuts="Delete"
        onFocus={onFocus}
        onClick={onPress}
      >
        {attachment.kind === "image" ? (
          <Thumbnail attachment={attachment} />
        ) : (
          <Icon name={words.icon} />
        )}
        <span>{words.label}</span>
      </button>
      <button
        type="button"
        class="chip-remove"
        tabIndex={-1}
        title={t("Remove {0}", words.label)}
        aria-label={t("Remove {0}", words.label)}
        onClick={onRemove}
      >
        <Icon name="close" />
      </button>
    </li>
  );
}

function Thumbnail({
  attachment,
}: {
  readonly attachment: Extract<Attachment, { kind: "image" }>;
}) {
  return <img class="thumbnail" alt="" src={`data:${attachment.mime};base64,${attachment.data}`} />;
}

/** Focuses a chip; returns false if there is none. */
export function focusChip(box: RefObject<HTMLDivElement | null>, index: number): boolean {
  const chip = [...(box.current?.querySelectorAll<HTMLElement>(".chip-name") ?? [])].at(index);
  chip?.focus();
  return chip !== undefined;
}

function chipStop(event: KeyboardEvent, at: number, n: number): number | null {
  switch (event.key) {
    case "ArrowLeft":
      return Math.max(0, at - 1);
    case "ArrowRight":
      return Math.min(n - 1, at + 1);
    case "Home":
      return 0;
    case "End":
      return n - 1;
    default:
      return null;
  }
}
