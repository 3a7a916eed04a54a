/**
 * A permission question: the exact text, its odd or risky parts, where it would run, and the
 * answers.
 */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PermissionParams } from "../../protocol.ts";
import type { Question } from "../../shared/state/state.ts";
import { visible, visibleText } from "../../shared/visible.ts";
import { Coded, sentenceCase } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { AskedBy, Badges, Because, Beyond, Place } from "./about.tsx";
import { AlwaysStep, AnswerRow, hunksSent, type Offer, offers, type Yes } from "./answers.tsx";
import { offerFocus } from "./arming.ts";
import { AskedDiff, MOST_HUNKS } from "./asked-diff.tsx";
import { bounded, marked, Pieces, riskyParts, SeenBox } from "./asked-text.tsx";
import { useArming } from "./use-arming.ts";

/**
 * Returns true from the time at which the element `mark` was first visible. The element is not
 * visible if its own box or anything around this box hides it.
 */
function useWasShown(mark: RefObject<HTMLElement | null>): boolean {
  const [was, setWas] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.intersectionRatio > 0)) setWas(true);
    });
    if (mark.current !== null) observer.observe(mark.current);
    return () => observer.disconnect();
  }, []);
  return was;
}

/** Draws the exact text that would run or be read; unusual characters are made visible. */
function AskedCommand({ asked }: { readonly asked: PermissionParams }) {
  const pieces = useMemo(
    () => marked(visibleText(asked.detail, "command"), riskyParts(asked.detail, asked.risky)),
    [asked],
  );
  return (
    <code class="asked-text">
      <Pieces pieces={pieces} />
    </code>
  );
}

interface Props extends Pick<ViewProps, "post" | "channel"> {
  readonly question: Extract<Question, { kind: "permission" }>;
  /** A text such as `1 of 3`, or empty for a single question. */
  readonly place: string;
}

export function PermissionCard({ question, place, post, channel }: Props) {
  const { asked, nonce } = question;
  const card = useRef<HTMLElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const back = useRef<HTMLButtonElement>(null);
  // The flag changes at once, but the state changes only when the card is drawn again.
  const sent = useRef(false);
  const [seen, setSeen] = useState(false);
  const facts = useRef<HTMLDivElement>(null);
  const factsSeen = useWasShown(facts);
  const [chosen, setChosen] = useState<readonly string[] | null>(
    asked.hunks.length > 1 ? asked.hunks.map(idOf) : null,
  );
  const [step, setStep] = useState<"first" | "always" | "sent">("first");
  const { armed, isArmed, lettersCount, early, tooEarly } = useArming(card, step, no);
  const lastKey = useRef(""); // The key that pressed a button; a click has none.
  const isEdit = useMemo(() => isDiff(asked), [asked]);
  const isCut = useMemo(
    () => isEdit && (asked.hunks.length > MOST_HUNKS || bounded(asked.detail).left > 0),
    [asked, isEdit],
  );
  const offered = offers(asked, { seen, factsSeen, chosen });

  useEffect(() => offerFocus(no.current), []);
  useEffect(
    () => channel.onFocus((where) => where === "question" && (no.current ?? back.current)?.focus()),
    [channel],
  );

  const send = (answer: "no" | Yes) => {
    if (sent.current) return;
    sent.current = true;
    setStep("sent");
    post({ type: "answer", nonce, answer, hunks: hunksSent(asked, chosen, answer) });
  };
  const give = (offer: Offer, key = "") => {
    if (step !== "first" || offer.blocked !== "") return;
    if (!(key === "" ? isArmed : lettersCount)()) tooEarly(key || lastKey.current);
    else if (offer.answer === "always") setStep("always");
    else send(offer.answer);
  };
  const always = (key = "") => {
    if (step !== "always") return;
    if ((key === "" ? isArmed : lettersCount)()) send("always");
    else tooEarly(key || lastKey.current);
  };
  const keys = (event: KeyboardEvent) => {
    // A key that repeats because it is held down does not count as a press.
    if (event.repeat && /^(?:Enter| )$/.test(event.key)) event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.repeat || event.isComposing) return;
    const key = event.key.toUpperCase();
    lastKey.current = key === "ENTER" ? "Enter" : key === " " ? "Space" : "";
    const offer = step === "first" ? offered.find((one) => one.key === key) : undefined;
    if (offer !== undefined) give(offer, key);
    else if (step === "always" && key === "A") always(key);
    else if (step === "always" && key === "ESCAPE") {
      event.stopPropagation();
      setStep("first");
    } else return;
    event.preventDefault();
  };

  return (
    <section
      ref={card}
      class="question card"
      role="alertdialog"
      aria-labelledby={`${nonce}-title`}
      aria-describedby={`${nonce}-why`}
      data-armed={armed}
      onKeyDown={keys}
      onPointerDown={() => {
        lastKey.current = "";
      }}
    >
      <header class="row question-head">
        <h2 id={`${nonce}-title`}>{titleOf(asked)}</h2>
        {place !== "" && <span class="figure">{place}</span>}
      </header>
      <div class="question-body">
        <AskedBy agent={question.agent} />
        <p id={`${nonce}-why`} class="muted">
          <Coded text={sentenceCase(asked.reason)} />
        </p>
        <Badges asked={asked} isEdit={isEdit} />
        <SeenBox
          text={asked.detail}
          startsOpen={isEdit}
          isCut={isCut}
          onSeen={() => setSeen(true)}
          openAll={() => post({ type: "openQuestion", nonce })}
        >
          {isEdit ? (
            <AskedDiff asked={asked} chosen={chosen} choose={setChosen} />
          ) : (
            <AskedCommand asked={asked} />
          )}
        </SeenBox>
        <Because asked={asked} />
        <Place asked={asked} />
        <Beyond asked={asked} />
        <div ref={facts} class="seen-end" />
      </div>
      {step === "always" ? (
        <AlwaysStep
          rule={asked.rule}
          armed={armed}
          back={back}
          cancel={() => setStep("first")}
          confirm={() => always()}
          early={early}
        />
      ) : (
        <AnswerRow
          offers={offered}
          armed={armed}
          early={early}
          sent={step === "sent"}
          no={no}
          give={give}
        />
      )}
    </section>
  );
}

function idOf(hunk: { readonly id: string }): string {
  return hunk.id;
}

function isDiff(asked: PermissionParams): boolean {
  return asked.kind === "edit" || (asked.kind === "other" && asked.hunks.length > 0);
}

/** Returns the title, without the folder if the folder has a line of its own. */
function titleOf(asked: PermissionParams): string {
  const title = visible(asked.title);
  return asked.cwd === ""
    ? title
    : title.replace(/^((?:Sub-agent [^:]+: )?Run a command) in .*$/s, "$1?");
}
