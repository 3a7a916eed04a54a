/**
 * Draws the conversation of the session, and informs screen readers of important events only: a
 * turn that ended, a question, an error.
 */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { ownQuestions, sending } from "../../shared/state/selectors.ts";
import type { Outgoing, PanelState, Turn } from "../../shared/state/state.ts";
import { memo } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { DrawnRow } from "./drawn-row.tsx";
import { FindBar } from "./find.tsx";
import { type Row, RowList, turnKey } from "./rows.ts";
import { ScrollList } from "./scroll-list.tsx";
import { OpenCards } from "./tool-card.tsx";

/**
 * Returns the text to announce, or an empty text while a turn runs without a question or an error,
 * so that streaming stays silent.
 */
function announcement(state: PanelState): string {
  // The code in questions/ announces questions itself, at once.
  if (ownQuestions(state).length > 0) return "";
  // Banners are live regions themselves, and would be read twice.
  if (state.banner?.level === "error" || state.connection.kind === "stopped") return "";
  const last = state.turns.at(-1);
  return last === undefined ? "" : ofTurn(last);
}

function ofTurn(turn: Turn): string {
  const how = endingOf(turn);
  const why = turn.ending === "done" || turn.message === "" ? "" : ` ${turn.message}`;
  return how === "" ? "" : `${how}${why}`;
}

function endingOf({ ending, number }: Turn): string {
  switch (ending) {
    case "running":
      return "";
    case "done":
      return t("Turn {0} done.", number);
    case "cancelled":
      return t("Turn {0} stopped.", number);
    case "failed":
      return t("Turn {0} failed.", number);
    case "limit":
      return t("Turn {0} stopped at the limit of rounds.", number);
    case "repeated":
      return t("Turn {0} stopped: the same call again and again.", number);
    case "budget":
      return t("Turn {0} stopped at the budget.", number);
    case "interrupted":
      return t("Turn {0} was interrupted.", number);
    default:
      return ending satisfies never;
  }
}

/** A polite live region, which is not visible. */
export const Announcer = memo(({ state }: { readonly state: PanelState }) => (
  <div class="sr-only" role="status" aria-live="polite" data-part="announcer">
    {announcement(state)}
  </div>
));

/** Draws prompts that were sent and whose turn has not begun. */
function SendingRows({ sending }: { readonly sending: readonly Outgoing[] }) {
  return sending.map((one) => (
    <div key={one.id} class="prompt sending">
      <p class="sr-only">{t("You, sending")}</p>
      <div class="prompt-words" dir="auto">
        {one.words}
      </div>
    </div>
  ));
}

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
  const waiting = sending(state);

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
        sent={newest + waiting.length}
        tail={<SendingRows sending={waiting} />}
        busy={last?.ending === "running"}
      />
    </>
  );
}
