/** Draws the conversation of the session. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { sending } from "../../shared/selectors.ts";
import { FindBar } from "../find/find-bar.tsx";
import type { ViewProps } from "../view-props.ts";
import { DrawnRow } from "./drawn-row.tsx";
import { OpenCards } from "./open-cards.ts";
import { type Row, RowList, turnKey } from "./rows.ts";
import { ScrollList } from "./scroll-list.tsx";
import { SendingRows } from "./sending-rows.tsx";

/** Draws the conversation, with the newest turn at the bottom. */
export function Conversation(props: ViewProps) {
  const { state, post, channel } = props;
  const list = useRef(new RowList());
  const cards = useRef(new OpenCards());
  const last = state.turns.at(-1);
  const newest = last?.number ?? 0;
  const output = useRef(last);
  // A turn that a rewind discarded is not new output.
  if (last?.left !== true) output.current = last;
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set<string>());
  const changedFrom = list.current.update(state.turns, toggled);

  const toggle = useCallback((key: string) => {
    setToggled((old) => {
      const fresh = new Set(old);
      if (!fresh.delete(key)) fresh.add(key);
      return fresh;
    });
  }, []);
  const askOlder = useRef<string>("");
  const [isFinding, setFinding] = useState(false);
  const [target, setTarget] = useState<{ readonly key: string } | null>(null);
  useEffect(() => {
    const find = () => {
      setFinding(true);
      document.querySelector<HTMLInputElement>(".find-bar input")?.select();
    };
    const keys = (event: KeyboardEvent) => {
      if (event.key !== "f" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      find();
    };
    document.addEventListener("keydown", keys);
    const off = channel.onFocus((where) => where === "find" && find());
    return () => {
      document.removeEventListener("keydown", keys);
      off();
    };
  }, []);
  const onTop = () => {
    const oldest = state.turns[0];
    const key = oldest === undefined ? "" : turnKey(oldest);
    if (state.older !== "some" || askOlder.current === key) return;
    askOlder.current = key;
    post({ type: "older" });
  };

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
      {isFinding && (
        <FindBar
          rows={list.current.rows}
          hasOlder={state.older !== "none"}
          isLoading={state.older === "loading"}
          older={() => post({ type: "older" })}
          goTo={(key) => setTarget({ key })}
          close={() => {
            setFinding(false);
            channel.focus("composer");
          }}
        />
      )}
      {state.older === "loading" && <div class="older-loading">{t("Loading earlier turns …")}</div>}
      <ScrollList
        rows={list.current.rows}
        changedFrom={changedFrom}
        newest={output.current}
        draw={draw}
        onTop={onTop}
        target={target}
        sent={newest}
        tail={<SendingRows sending={sending(state)} />}
        busy={last?.ending === "running"}
      />
    </>
  );
}
