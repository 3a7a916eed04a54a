/**
 * A box for a text that the user must have seen to its end before allowing it; the text's last line
 * is always visible.
 */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { saysItsLength, visibleText } from "../../shared/visible.ts";
import { Pieces } from "./pieces.tsx";
import { endShown, lengthWords, tail, UNREAD, unfolded } from "./reading.ts";
import { marked } from "./risky-parts.ts";

interface Props {
  readonly text: string;
  /**
   * Whether the box starts open: a diff scrolls from the beginning; a long command shows its
   * beginning and its last line.
   */
  readonly startsOpen: boolean;
  /** Whether a part of the text is not drawn, so that the user must open it as a document. */
  readonly isCut: boolean;
  readonly onSeen: () => void;
  readonly openAll: () => void;
  readonly children: ComponentChildren;
}

export function SeenBox({ text, startsOpen, isCut, onSeen, openAll, children }: Props) {
  const box = useRef<HTMLElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const [reading, setReading] = useState(startsOpen ? unfolded(UNREAD) : UNREAD);
  const [opened, setOpened] = useState(!isCut);
  useEffect(() => {
    // An observer is used instead of scroll positions, because it also notices if something in this
    // box or around the box hides the end.
    const observer = new IntersectionObserver((entries) => {
      const isShown = entries.some((entry) => entry.intersectionRatio > 0);
      setReading((now) => endShown(now, isShown));
    });
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, []);
  const isLeft = reading.looked && !reading.seen;
  const length = saysItsLength(text) ? "" : lengthWords(text);
  const done = reading.seen && opened;
  useEffect(() => {
    if (done) onSeen();
  }, [done]);
  const unfold = () => {
    setReading(unfolded);
    box.current?.focus();
  };
  const openDocument = () => {
    setOpened(true);
    openAll();
  };
  return (
    <>
      <section
        ref={box}
        class={reading.folded && !reading.seen ? "seen-box folded" : "seen-box"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by key
        tabIndex={0}
        aria-label={t("Exact text")}
      >
        {children}
        <div ref={end} class="seen-end" />
      </section>
      {isLeft && <Ending text={text} />}
      {isLeft && reading.folded && (
        <button type="button" class="link-button seen-more" onClick={unfold}>
          {length === "" ? t("Show all") : t("Show all: {0}", length)}
        </button>
      )}
      {isLeft && !reading.folded && (
        <p class="muted seen-more">
          {length === ""
            ? t("Scroll to the end to allow it")
            : t("Scroll to the end to allow it: {0}", length)}
        </p>
      )}
      {isCut && !opened && (
        <button type="button" class="link-button seen-more" onClick={openDocument}>
          {t("Open all of it in the editor")}
        </button>
      )}
    </>
  );
}

function Ending({ text }: { readonly text: string }) {
  return (
    <p class="seen-tail">
      <span class="muted">{t("It ends with")} </span>
      <code>
        <Pieces pieces={marked(visibleText(tail(text), "command"), [])} />
      </code>
    </p>
  );
}
