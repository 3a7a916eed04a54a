/**
 * Bars above the conversation: the server's state, restricted mode, and one sentence about a
 * failure.
 */

import { useEffect, useState } from "preact/hooks";
import { plural, t } from "../../shared/l10n.ts";
import { visible } from "../../shared/visible.ts";
import { Coded, Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";

/** The time of a usual start of the server, in milliseconds. */
const LATE_MS = 4_000;

export function Banner({ state, post }: ViewProps) {
  return (
    <>
      <ServerBar state={state} post={post} />
      <TrustBar state={state} post={post} />
      <ServersBar state={state} post={post} />
      <DemoBar state={state} post={post} />
      <Sentence state={state} post={post} />
    </>
  );
}

type Props = Pick<ViewProps, "state" | "post">;

function ServerBar({ state, post }: Props) {
  const { connection } = state;
  const isLate = useIsLate(connection.kind === "starting" && state.isRemembered);
  // The conversation from disk is shown at once, so a start needs a message only if it is slow.
  if (connection.kind === "starting" && state.isRemembered && !isLate) return null;
  if (connection.kind === "ready") {
    if (connection.waiting === undefined) return null;
    return (
      <div class="banner" role="status">
        <Icon name="loading" spin />
        <p>{connection.waiting}</p>
      </div>
    );
  }
  const isDown = connection.kind === "stopped";
  // The user who stopped the server knows why, so the bar shows no alarm, only how to start it
  // again.
  const isWanted = connection.kind === "stopped" && connection.byUser === true;
  const isError = isDown && !isWanted;
  return (
    <div class={isError ? "banner error" : "banner"} role={isError ? "alert" : "status"}>
      <Icon name={isError ? "error" : isDown ? "info" : "loading"} spin={!isDown} />
      <p>
        {connection.reason !== ""
          ? connection.reason
          : isDown
            ? t("The server has stopped.")
            : t("The server is starting…")}
        {state.isRemembered && ` ${t("The conversation is shown as it was before.")}`}
      </p>
      {isDown && (
        <div class="banner-actions">
          <button
            type="button"
            class="button"
            onClick={() => post({ type: "command", command: "restart" })}
          >
            {isWanted ? t("Start") : t("Restart")}
          </button>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "command", command: "showLog" })}
          >
            {t("Show the log")}
          </button>
        </div>
      )}
    </div>
  );
}

/** Returns whether something has lasted for longer than a usual start. */
function useIsLate(isLasting: boolean): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    setIsLate(false);
    if (!isLasting) return;
    const timer = setTimeout(() => setIsLate(true), LATE_MS);
    return () => clearTimeout(timer);
  }, [isLasting]);
  return isLate;
}

function TrustBar({ state, post }: Props) {
  const { status } = state;
  if (status === null || state.connection.kind !== "ready") return null;
  if (status.trusted) return <UndecidedBar undecided={status.undecided} post={post} />;
  return (
    <div class="banner one-line" role="status">
      <Icon name="shield" />
      <p
        title={t(
          "Reading, searching and answering work. Nothing is changed or run until you give your trust.",
        )}
      >
        {t("Restricted: reading only.")}
      </p>
      <div class="banner-actions">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "command", command: "trust" })}
        >
          {t("Trust…")}
        </button>
      </div>
    </div>
  );
}

/** Says, in a made-up project, that the answers are scripted, and offers to connect a model. */
function DemoBar({ state, post }: Props) {
  const demo = state.status?.demo ?? "";
  if (demo === "" || state.connection.kind !== "ready") return null;
  const isConnected = demo === "connected";
  return (
    <div class="banner one-line" role="status">
      <Icon name="beaker" />
      <p title={t("A made-up project: a script answers here, and never a language model.")}>
        {isConnected
          ? t("Demo: your model works in your own folders.")
          : t("Demo: a script answers, no language model.")}
      </p>
      <div class="banner-actions">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "command", command: isConnected ? "openFolder" : "connect" })}
        >
          {isConnected ? t("Open a folder") : t("Connect a model")}
        </button>
      </div>
    </div>
  );
}

/** The folder's own files, which have no effect until the user decides. */
function UndecidedBar({ undecided, post }: Pick<Props, "post"> & { readonly undecided: string }) {
  if (undecided === "") return null;
  const words = t(
    "This folder brings {0}. They have no effect on Indwell until you decide.",
    undecided,
  );
  return (
    <div class="banner one-line" role="status">
      <Icon name="shield" />
      <p title={words}>{t("Files left out: {0}.", undecided)}</p>
      <div class="banner-actions">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "command", command: "trust" })}
        >
          {t("Decide…")}
        </button>
      </div>
    </div>
  );
}

/** The project's MCP servers whose question the user closed; their page has the decision. */
function ServersBar({ state, post }: Props) {
  const names = (state.status?.unapproved ?? []).map(visible);
  if (names.length === 0 || state.connection.kind !== "ready") return null;
  const words = plural(
    names.length,
    "The MCP server {1} is not used.",
    "{0} MCP servers are not used: {1}.",
    names.join(", "),
  );
  return (
    <div class="banner one-line" role="status">
      <Icon name="shield" />
      <p title={`${words} ${t("The project defines them, and you have not decided.")}`}>{words}</p>
      <div class="banner-actions">
        <button
          type="button"
          class="link-button"
          onClick={() => post({ type: "command", command: "mcp" })}
        >
          {t("Decide…")}
        </button>
      </div>
    </div>
  );
}

function Sentence({ state, post }: Props) {
  const { banner } = state;
  if (banner === null) return null;
  return (
    <div class={`banner ${banner.level}`} role={banner.level === "error" ? "alert" : "status"}>
      <Icon name={banner.level} />
      <p>
        <Coded text={banner.text} />
      </p>
      <div class="banner-actions">
        {banner.retry && (
          <button type="button" class="button" onClick={() => post({ type: "retry" })}>
            {t("Retry")}
          </button>
        )}
        {banner.level !== "info" && (
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "command", command: "showLog" })}
          >
            {t("Details")}
          </button>
        )}
      </div>
      <button
        type="button"
        class="icon-button"
        title={t("Close")}
        aria-label={t("Close this message")}
        onClick={() => post({ type: "closeBanner" })}
      >
        <Icon name="close" />
      </button>
    </div>
  );
}
