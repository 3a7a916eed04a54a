/** The text box: a plain text area that grows with its text, and the keys that it understands. */
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { type Completion, LIST_ID, rowId, type ShownRow } from "./completion.tsx";
import { type DraftKeeper, type HistoryStep, newer, older } from "./draft.ts";

/** Longer insertions replace the text at once, because simulated typing is too slow. */
const LONGEST_TYPED = 20_000;

/** Replaces a range by `text` and puts the caret after the text. */
export function replaceRange(
  box: HTMLTextAreaElement,
  start: number,
  end: number,
  text: string,
): void {
  box.focus();
  box.setSelectionRange(start, end);
  // Only this call adds the change to the text box's undo stack; like a key, the call causes an
  // `input` event.
  if (text.length <= LONGEST_TYPED && typed(text)) return;
  box.setRangeText(text, start, end, "end");
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

function typed(text: string): boolean {
  return text === ""
    ? document.execCommand("delete")
    : document.execCommand("insertText", false, text);
}

const COPIED = [
  "font",
  "letterSpacing",
  "wordSpacing",
  "tabSize",
  "textIndent",
  "wordBreak",
  "overflowWrap",
] as const;

/**
 * Returns whether the caret is on the first visible line and whether it is on the last; both are
 * false if text is selected.
 */
function caretLines(box: HTMLTextAreaElement): {
  readonly first: boolean;
  readonly last: boolean;
} {
  const { value, selectionStart, selectionEnd } = box;
  if (selectionStart !== selectionEnd) return { first: false, last: false };
  // A text with explicit line breaks around the caret need not be measured.
  const before = value.lastIndexOf("\n", selectionStart - 1) === -1 || selectionStart === 0;
  const after = value.indexOf("\n", selectionStart) === -1;
  if (!before && !after) return { first: false, last: false };
  const tops = measured(box);
  return { first: before && tops.caret <= tops.start, last: after && tops.caret >= tops.end };
}

/**
 * Returns the heights of the lines of the first character, the caret and the end, in CSS pixels.
 */
function measured(box: HTMLTextAreaElement): { start: number; caret: number; end: number } {
  const mirror = document.createElement("div");
  const style = getComputedStyle(box);
  for (const name of COPIED) mirror.style[name] = style[name];
  mirror.style.position = "absolute";
  mirror.style.visibility = "hidden";
  mirror.style.whiteSpace = "pre-wrap";
  mirror.style.width = `${box.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight)}px`;
  const marks = [0, box.selectionStart, box.value.length].map((place, index, all) => {
    mirror.append(box.value.slice(index === 0 ? 0 : (all[index - 1] ?? 0), place));
    const mark = document.createElement("span");
    mark.textContent = "\u200b";
    mirror.append(mark);
    return mark;
  });
  document.body.append(mirror);
  const tops = marks.map((mark) => mark.offsetTop);
  mirror.remove();
  return { start: tops[0] ?? 0, caret: tops[1] ?? 0, end: tops[2] ?? 0 };
}

export interface KeyFacts {
  readonly key: string;
  readonly shift: boolean;
  /** Whether Control, or Command on a Mac, is pressed. */
  readonly control: boolean;
  readonly alt: boolean;
  /** Whether an input method uses the key, to confirm a candidate or to move among candidates. */
  readonly composing: boolean;
}

export interface Situation {
  readonly enterSends: boolean;
  readonly running: boolean;
  readonly listOpen: boolean;
  /** Whether the text box is empty. */
  readonly empty: boolean;
  readonly firstLine: boolean;
  readonly lastLine: boolean;
  /** Whether the caret is before the first character, without a selection. */
  readonly atStart: boolean;
}

/** The meaning of a key; `default` means that the text box handles the key. */
type KeyIntent =
  | "default"
  | "send"
  | "sendNext"
  | "stop"
  | "closeList"
  | "choose"
  | "descend"
  | "nextRow"
  | "previousRow"
  | "older"
  | "newer"
  | "lastChip";

/**
 * Returns the meaning of one key. While an input method composes a character, every key is left to
 * the input method.
 */
export function keyIntent(key: KeyFacts, now: Situation): KeyIntent {
  if (key.composing || key.alt) return "default";
  if (now.listOpen) {
    const intent = listIntent(key);
    if (intent !== null) return intent;
  }
  switch (key.key) {
    case "Enter":
      return enterIntent(key, now);
    case "Escape":
      return now.running ? "stop" : "default";
    case "ArrowUp":
      return now.firstLine && bare(key) ? "older" : "default";
    case "ArrowDown":
      return now.lastLine && bare(key) ? "newer" : "default";
    case "Backspace":
      return now.atStart && bare(key) ? "lastChip" : "default";
    default:
      return "default";
  }
}

function listIntent(key: KeyFacts): KeyIntent | null {
  if (!bare(key)) return null;
  switch (key.key) {
    case "Enter":
      return "choose";
    case "Tab":
      return "descend";
    case "Escape":
      return "closeList";
    case "ArrowDown":
      return "nextRow";
    case "ArrowUp":
      return "previousRow";
    default:
      return null;
  }
}

function enterIntent(key: KeyFacts, now: Situation): KeyIntent {
  if (now.enterSends) {
    if (key.shift) return "default";
    return key.control ? "sendNext" : "send";
  }
  if (!key.control) return "default";
  return key.shift ? "sendNext" : "send";
}

function bare(key: KeyFacts): boolean {
  return !key.shift && !key.control;
}

interface TextBoxProps {
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
