/** The line of a card that opens: arrow, icon, text, figure, time. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../icon.tsx";
import type { OpenCards } from "./open-cards.ts";

interface Props {
  readonly cardKey: string;
  readonly cards: OpenCards;
  readonly openByDefault: boolean;
  readonly icon: string;
  readonly spin?: boolean;
  readonly verb: string;
  readonly target: string;
  readonly figure: ComponentChildren;
  readonly time: string;
  /** Content that is drawn below the line while the card is closed. */
  readonly below?: ComponentChildren;
  /** Called when the user opens the card. */
  readonly onOpen?: () => void;
  /** Content that is drawn only while the card is open. */
  readonly children: () => ComponentChildren;
}

/** Draws a line and, below it, the content of the open card. */
export function CardLine(props: Props) {
  const {
    cardKey,
    cards,
    openByDefault,
    icon,
    spin,
    verb,
    target,
    figure,
    time,
    onOpen,
    below,
    children,
  } = props;
  const [, again] = useState(0);
  const isOpen = cards.isOpen(cardKey, openByDefault);
  const toggle = () => {
    cards.choose(cardKey, !isOpen);
    if (!isOpen) onOpen?.();
    again((count) => count + 1);
  };
  return (
    <div class={isOpen ? "tool open" : "tool"}>
      <button type="button" class="tool-line" aria-expanded={isOpen} onClick={toggle}>
        <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
        <Icon name={icon} spin={spin ?? false} />
        <span class="tool-words">
          <span class="tool-verb">{verb}</span>
          {target !== "" && (
            <span class="tool-target" title={target}>
              {" "}
              {target}
            </span>
          )}
        </span>
        <span class="figure">{figure}</span>
        {time !== "" && <span class="figure tool-time">{time}</span>}
      </button>
      {!isOpen && below}
      {isOpen && <div class="tool-body">{children()}</div>}
    </div>
  );
}
