/** All that was said and done in this session. */
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { sending } from "../../shared/selectors.ts";
import type { ViewProps } from "../view-props.ts";
import { DrawnRow } from "./drawn-row.tsx";
import { OpenCards } from "./open-cards.ts";
import { type Folding, type Row, RowList, turnKey } from "./rows.ts";
import { ScrollList } from "./scroll-list.tsx";
import { SendingRows } from "./sending-rows.tsx";

/** Turns that are shown whole when a session is opened; the ones before are folded. */
const WHOLE = 3;
/** Turns that stay whole while the session goes on. */
const WHOLE_LIVE = 20;

/** The conversation, newest at the bottom. */
export function Conversation(props: ViewProps) {
  const { state, post, channel } = props;
  const list = useRef(new RowList());
  const cards = useRef(new OpenCards());
  const following = useRef(true);
  const last = state.turns.at(-1);
  const newest = last?.number ?? 0;
  const output = useRef(last);
  // What a rewind leaves behind is nothing new.
  if (last?.left !== true) output.current = last;
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set<string>());
  const before = useRef<number | null>(null);
  if (before.current === null && newest > 0) before.current = newest - WHOLE + 1;
  // Folding must not take away what is being read, so it waits until the end is followed.
  if (before.current !== null && following.current)
    before.current = Math.max(before.current, newest - WHOLE_LIVE);
  const foldedBefore = before.current ?? 0;
  const folding = useMemo<Folding>(
    () => ({ before: foldedBefore, toggled }),
    [foldedBefore, toggled],
  );
  const changedFrom = list.current.update(state.turns, folding);

  const toggle = useCallback((key: string) => {
    setToggled((old) => {
      const fresh = new Set(old);
      if (!fresh.delete(key)) fresh.add(key);
      return fresh;
    });
  }, []);
  const askOlder = useRef<string>("");
  const onTop = () => {
    const oldest = state.turns[0];
    const key = oldest === undefined ? "" : turnKey(oldest);
    if (state.older !== "some" || askOlder.current === key) return;
    askOlder.current = key;
    post({ type: "older" });
  };
  const onFollow = useCallback((isFollowing: boolean) => {
    following.current = isFollowing;
  }, []);

  const draw = (row: Row) => (
    <DrawnRow
      row={row}
      pending={state.pending.rows}
      isLast={row.turn === last}
      plan={state.plan?.state === "proposed" ? state.plan : null}
      toggle={toggle}
      cards={cards.current}
      post={post}
      channel={channel}
    />
  );
  return (
    <>
      {state.older === "loading" && <div class="older-loading">Loading earlier turns …</div>}
      <ScrollList
        rows={list.current.rows}
        changedFrom={changedFrom}
        newest={output.current}
        draw={draw}
        onTop={onTop}
        onFollow={onFollow}
        sent={newest}
        tail={<SendingRows sending={sending(state)} />}
        busy={last?.ending === "running"}
      />
    </>
  );
}
