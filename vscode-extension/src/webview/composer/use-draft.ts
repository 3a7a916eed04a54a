/** Gives a component the composer's text, from the keeper that outlives the component. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Channel } from "../channel.ts";
import type { Post } from "../view-props.ts";
import { type DraftKeeper, keeperOf } from "./draft-keeper.ts";

export interface Draft {
  readonly keeper: DraftKeeper;
  readonly text: string;
}

/** Renders again with each change; notifies the host before the panel closes. */
export function useDraft(
  post: Post,
  channel: Channel,
  box: RefObject<HTMLTextAreaElement | null>,
): Draft {
  const keeper = keeperOf(channel, post);
  const [, draw] = useState(0);
  const caret = useRef<number | null>(null);

  useLayoutEffect(
    () =>
      keeper.onChange((_, place) => {
        if (place !== null) caret.current = place;
        draw((count) => count + 1);
      }),
    [keeper],
  );
  useLayoutEffect(() => {
    if (caret.current === null || box.current === null) return;
    box.current.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  });

  useEffect(() => {
    window.addEventListener("pagehide", keeper.tell);
    document.addEventListener("visibilitychange", keeper.tell);
    return () => {
      window.removeEventListener("pagehide", keeper.tell);
      document.removeEventListener("visibilitychange", keeper.tell);
      keeper.tell();
    };
  }, [keeper]);
  return { keeper, text: keeper.text };
}
