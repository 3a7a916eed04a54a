/** Draws the model's text as it arrives. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../../shared/l10n.ts";
import { memo } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import { BlockStream, DRAWN_AT_ONCE, drawnEnd } from "./block-stream.ts";
import { BlocksView } from "./block-view.ts";

interface Props {
  readonly text: string;
  /** Whether the text is complete. */
  readonly final: boolean;
  readonly post: Post;
}

/** Draws Markdown that may still grow; only its last block is drawn more than once. */
export const Markdown = memo(({ text, final, post }: Props) => {
  const element = useRef<HTMLDivElement>(null);
  const [most, setMost] = useState(DRAWN_AT_ONCE);
  const end = drawnEnd(text, most);
  const left = text.length - end;
  const drawing = useRef<{ readonly stream: BlockStream; readonly view: BlocksView } | null>(null);
  useLayoutEffect(() => {
    if (element.current === null) return;
    drawing.current ??= { stream: new BlockStream(), view: new BlocksView(element.current, post) };
    const { stream, view } = drawing.current;
    view.update(stream, stream.update(text.slice(0, end), final && left === 0));
  }, [text, end, left, final, post]);
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it listens for the links inside */}
      <div
        class={final ? "markdown" : "markdown streaming"}
        ref={element}
        onClick={(event) => follow(event, post)}
        onKeyDown={(event) => {
          if (event.key === "Enter") follow(event, post);
        }}
      />
      {left > 0 && (
        <button type="button" class="link-button" onClick={() => setMost(most + DRAWN_AT_ONCE)}>
          {plural(
            left,
            "Show the rest ({0} more character)",
            "Show the rest ({0} more characters)",
          )}
        </button>
      )}
    </>
  );
});

/** Opens a link only by a click or Enter; the host asks and shows the real target. */
function follow(event: Event, post: Post): void {
  const link = event.target instanceof Element ? event.target.closest("a[role=link]") : null;
  if (!(link instanceof HTMLElement)) return;
  event.preventDefault();
  const { link: href, file } = link.dataset;
  if (href !== undefined) post({ type: "openLink", href });
  else if (file !== undefined) post({ type: "openFile", target: file });
}
