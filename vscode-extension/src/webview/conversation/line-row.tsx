/** A thin line between the parts of a turn. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { LinePart } from "../../shared/state/state.ts";
import { Coded, Icon, memo } from "../elements.tsx";

/** Draws a compaction, a notice, a steering message of the user, or a running check. */
export const LineRow = memo(({ part }: { readonly part: LinePart }) => {
  switch (part.what) {
    case "compacted":
      return <Compacted text={part.text} />;
    case "steered":
      return (
        <div class="steered">
          <span class="sr-only">{t("You, meanwhile:")} </span>
          <span dir="auto">{part.text}</span>
        </div>
      );
    case "info":
      return <Notice icon="info" level="info" text={part.text} />;
    case "reading":
      return <Notice icon="loading" level="info" text={part.text} />;
    case "retrying":
      return <Retrying reason={part.text} until={part.until ?? 0} />;
    case "checking":
      return <Notice icon="checklist" level="info" text={part.text} />;
    case "warning":
      return <Notice icon="warning" level="warning" text={part.text} />;
    case "error":
      return <Notice icon="error" level="error" text={part.text} />;
    default:
      return part.what satisfies never;
  }
});

function Compacted({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="thin-line"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <span>
          {t("Earlier part summarised")}
          {" · "}
          <span class="thin-line-more">{isOpen ? t("hide") : t("show")}</span>
        </span>
      </button>
      {isOpen && <p class="thin-line-words">{text}</p>}
    </>
  );
}

/** Counts the seconds down to the next attempt, and then says that the attempt was made. */
function Retrying({ reason, until }: { readonly reason: string; readonly until: number }) {
  const left = useSecondsTo(until);
  const when = left > 0 ? t("trying again in {0} s", left) : t("tried again");
  return <Notice icon="warning" level="warning" text={`${reason}; ${when}`} />;
}

/** Returns the whole seconds until a time, and draws again each second until then. */
function useSecondsTo(until: number): number {
  const [now, setNow] = useState(Date.now());
  const left = Math.max(0, Math.ceil((until - now) / 1000));
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => setNow(Date.now()), 250);
    return () => clearTimeout(timer);
  }, [left, until, now]);
  return left;
}

function Notice({
  icon,
  level,
  text,
}: {
  readonly icon: string;
  readonly level: string;
  readonly text: string;
}) {
  return (
    <div class={`notice ${level}`}>
      <Icon name={icon} />
      <span>
        <Coded text={text} />
      </span>
    </div>
  );
}
