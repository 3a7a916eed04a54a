/** The text box: a plain text area that grows with its text. */

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { caretLines } from "./caret-line.ts";
import { LIST_ID, rowId } from "./completion-list.tsx";
import type { DraftKeeper } from "./draft-keeper.ts";
import type { ShownRow } from "./found-rows.ts";
import { type KeyIntent, keyIntent } from "./key-intent.ts";
import { type HistoryStep, newer, older } from "./prompt-history.ts";
import type { Completion } from "./use-completion.ts";

export interface TextBoxProps {
  readonly box: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly keeper: DraftKeeper;
  readonly completion: Completion;
  readonly running: boolean;
  readonly enterSends: boolean;
  /** Earlier prompts, newest first. */
  readonly history: readonly string[];
  /** Called for a paste; returns true if the pasted data became an attachment. */
  readonly onPaste: (data: DataTransfer) => boolean;
  readonly onSend: (wished: "send" | "sendNext") => void;
  readonly onStop: () => void;
  readonly onChoose: (row: ShownRow, how: "choose" | "descend") => void;
  /** Focuses the last chip; returns false if there is no chip. */
  readonly onLastChip: () => boolean;
}

export function TextBox(props: TextBoxProps) {
  const { box, text, keeper, completion } = props;
  const composing = useRef(false);
  // If the text box is removed while an input method composes, no event reports the end of the
  // composition.
  useEffect(() => () => keeper.hold(false), [keeper]);

  const walk = (step: HistoryStep | null, back: boolean): boolean => {
    if (step === null) return false;
    // The caret goes to the first line of a long prompt, so that the next key press goes to the
    // prompt before.
    keeper.put(step.text, back && step.text.includes("\n") ? 0 : step.text.length);
    keeper.place = step.place;
    return true;
  };
  /** Does what a key means; returns whether the key was used. */
  const act = (intent: KeyIntent): boolean => {
    const row = completion.rows[completion.at];
    switch (intent) {
      case "default":
        return false;
      case "send":
      case "sendNext":
        props.onSend(intent);
        return true;
      case "stop":
        props.onStop();
        return true;
      case "closeList":
        completion.close();
        return true;
      case "choose":
      case "descend":
        if (row !== undefined) props.onChoose(row, intent);
        return true;
      case "nextRow":
        completion.move(1);
        return true;
      case "previousRow":
        completion.move(-1);
        return true;
      case "older":
        return walk(older(keeper.place, props.history, keeper.text), true);
      case "newer":
        return walk(newer(keeper.place, props.history, keeper.text), false);
      case "lastChip":
        return props.onLastChip();
      default:
        return intent satisfies never;
    }
  };

  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement }) => {
    const target = event.currentTarget;
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    const lines = vertical && !completion.open ? caretLines(target) : { first: false, last: false };
    const intent = keyIntent(
      {
        key: event.key,
        shift: event.shiftKey,
        control: event.ctrlKey || event.metaKey,
        alt: event.altKey,
        // Chromium sets the flag before the composition ends; other browsers end it first and then
        // send the key as 229.
        composing: event.isComposing || composing.current || event.keyCode === 229,
      },
      {
        enterSends: props.enterSends,
        running: props.running,
        listOpen: completion.open,
        firstLine: lines.first,
        lastLine: lines.last,
        empty: target.value === "",
        atStart: target.selectionStart === 0 && target.selectionEnd === 0,
      },
    );
    if (act(intent)) event.preventDefault();
  };

  const look = (target: HTMLTextAreaElement) => {
    if (!composing.current) completion.look(target.value, target.selectionEnd);
  };
  return (
    <textarea
      dir="auto"
      ref={box}
      class="prompt-text"
      rows={1}
      placeholder={t("Ask, or / for commands, @ for context")}
      aria-label={t("Prompt")}
      aria-autocomplete="list"
      {...combobox(completion)}
      spellcheck={false}
      value={text}
      onKeyDown={onKeyDown}
      onInput={(event) => {
        keeper.typed(event.currentTarget.value);
        look(event.currentTarget);
      }}
      onSelect={(event) => look(event.currentTarget)}
      onBlur={() => completion.close()}
      onPaste={(event) => {
        if (event.clipboardData !== null && props.onPaste(event.clipboardData))
          event.preventDefault();
      }}
      onCompositionStart={() => {
        composing.current = true;
        keeper.hold(true);
      }}
      onCompositionEnd={(event) => {
        composing.current = false;
        keeper.hold(false);
        look(event.currentTarget);
      }}
    />
  );
}

/**
 * Returns the ARIA attributes: those of a combobox while the list is open, otherwise those of a
 * text box with several lines.
 */
function combobox(completion: Completion): Readonly<Record<string, string>> {
  if (!completion.open) return {};
  return {
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": LIST_ID,
    "aria-activedescendant": rowId(completion.at),
  };
}
