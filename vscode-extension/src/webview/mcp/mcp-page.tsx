/**
 * Shows MCP servers in place of the conversation: state, tools and permissions, and a form for a
 * new server.
 */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { Coded, Icon } from "../elements.tsx";
import type { ViewProps } from "../host/channel.ts";
import { McpAdd } from "./mcp-add.tsx";
import { McpServer } from "./mcp-server.tsx";

export function McpPageView({ state, post }: ViewProps) {
  const page = state.mcp;
  const [isAdding, setAdding] = useState(false);
  const title = useRef<HTMLHeadingElement>(null);
  const added = page?.added ?? 0;
  useEffect(() => title.current?.focus(), []);
  useEffect(() => {
    setAdding(false);
    if (added > 0) title.current?.focus();
  }, [added]);
  if (page === null) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape counts wherever the focus is in it
    <div
      class="mcp"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.preventDefault();
        if (isAdding) setAdding(false);
        else post({ type: "mcp", action: "close" });
      }}
    >
      <div class="row mcp-head">
        <h1 ref={title} tabIndex={-1}>
          {t("MCP servers")}
        </h1>
        <button
          type="button"
          class="icon-button"
          title={t("Look again")}
          aria-label={t("Look again")}
          onClick={() => post({ type: "mcp", action: "open" })}
        >
          <Icon name="refresh" />
        </button>
        <button
          type="button"
          class="icon-button"
          title={t("Back to the conversation (Escape)")}
          aria-label={t("Back to the conversation")}
          onClick={() => post({ type: "mcp", action: "close" })}
        >
          <Icon name="close" />
        </button>
      </div>
      <p class="muted">
        {t(
          "Programs and services that give the model more tools. Indwell asks before each call, unless a rule or an earlier answer of yours allows it.",
        )}
      </p>
      {page.busy !== "" && (
        <p class="row mcp-busy" role="status">
          <Icon name="loading" spin />
          <span>{page.busy}</span>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "mcp", action: "cancel" })}
          >
            {t("Cancel")}
          </button>
        </p>
      )}
      {page.error !== "" && (
        <p class="mcp-problem" role="alert">
          <Icon name="error" />
          <span>
            <Coded text={page.error} />
          </span>
        </p>
      )}
      {page.problems.map((problem) => (
        <p key={problem} class="mcp-problem warning">
          <Icon name="warning" />
          <span>
            <Coded text={problem} />
          </span>
        </p>
      ))}
      {page.servers.length > 0 ? (
        <ul class="mcp-servers" aria-label={t("Servers")}>
          {page.servers.map((server) => (
            <McpServer key={`${server.source} ${server.name}`} server={server} post={post} />
          ))}
        </ul>
      ) : (
        page.busy === "" && <p>{t("No server is set up in this folder or in your settings.")}</p>
      )}
      {isAdding ? (
        <McpAdd post={post} isBusy={page.busy !== ""} close={() => setAdding(false)} />
      ) : (
        <div class="button-row">
          <button type="button" class="button" onClick={() => setAdding(true)}>
            {t("Add a server…")}
          </button>
          <button
            type="button"
            class="link-button"
            onClick={() => post({ type: "command", command: "showLog" })}
          >
            {t("Show Indwell’s log")}
          </button>
        </div>
      )}
    </div>
  );
}
