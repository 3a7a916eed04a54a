/** Shows one MCP server: its state, its actions, and its tools while it runs. */

import { useState } from "preact/hooks";
import type { McpRow } from "../../protocol.ts";
import { plural, t } from "../../shared/l10n.ts";
import { stateWords } from "../../shared/mcp-page.ts";
import { visible } from "../../shared/visible.ts";
import { Coded, Icon, sentenceCase } from "../elements.tsx";
import type { Post } from "../host/channel.ts";

interface Props {
  readonly server: McpRow;
  readonly post: Post;
}

export function McpServer({ server, post }: Props) {
  const [isOpen, setOpen] = useState(false);
  const name = visible(server.name);
  const offers = server.offers.length + server.prompts.length + server.resources.length;
  return (
    <li class="mcp-server card">
      <div class="row">
        <Icon name={signOf(server)} />
        <h2 title={name}>{name}</h2>
        <span class={isBad(server) ? "mcp-state bad" : "mcp-state muted"}>
          {stateWords(server)}
        </span>
      </div>
      <code class="mcp-runs" title={visible(server.runs)}>
        {visible(server.runs.replace(/\s+/g, " "))}
      </code>
      <p class="muted mcp-source">{visible(server.source)}</p>
      {server.problem !== "" && server.state !== "needs login" && (
        <p class="mcp-problem warning">
          <Icon name="warning" />
          <span>
            <Coded text={sentenceCase(server.problem)} />
          </span>
        </p>
      )}
      <div class="button-row">
        {offers > 0 && (
          <button
            type="button"
            class="link-button mcp-more"
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            <Icon name={isOpen ? "chevron-down" : "chevron-right"} />
            {plural(server.tools ?? server.offers.length, "{0} tool", "{0} tools")}
          </button>
        )}
        <Actions server={server} post={post} />
      </div>
      {isOpen && <Offers server={server} />}
    </li>
  );
}

function Actions({ server, post }: Props) {
  const { name, standing, state } = server;
  const act = (action: "approve" | "restart" | "remove" | "login" | "log") => () =>
    post({ type: "mcpServer", action, name });
  const isUndecided = standing === "open" || standing === "declined";
  return (
    <>
      {isUndecided && (
        <button type="button" class="button" onClick={act("approve")}>
          {t("Decide…")}
        </button>
      )}
      {standing === "usable" && server.remote && state !== "ready" && (
        <button
          type="button"
          class={state === "needs login" ? "button" : "button secondary"}
          onClick={act("login")}
        >
          {t("Sign in…")}
        </button>
      )}
      {standing === "usable" && state !== "idle" && (
        <button type="button" class="button secondary" onClick={act("restart")}>
          {t("Start again")}
        </button>
      )}
      {standing === "usable" && state !== "idle" && (
        <button
          type="button"
          class="button secondary"
          aria-label={t("Show log of {0}", visible(name))}
          onClick={act("log")}
        >
          {t("Show log")}
        </button>
      )}
      {server.own && (
        <button
          type="button"
          class="button secondary"
          aria-label={t("Remove {0}", visible(name))}
          onClick={act("remove")}
        >
          {t("Remove…")}
        </button>
      )}
    </>
  );
}

function Offers({ server }: { readonly server: McpRow }) {
  const hidden = (server.tools ?? 0) - server.offers.length;
  return (
    <>
      <ul class="mcp-tools" aria-label={t("Tools")}>
        {server.offers.map((tool) => (
          <li key={tool.name}>
            <div class="row">
              <code title={visible(tool.name)}>{visible(tool.name)}</code>
              <span class={`mcp-permission ${tool.permission}`} title={tool.rule}>
                {PERMISSIONS[tool.permission]}
              </span>
            </div>
            {tool.description !== "" && <p class="muted">{visible(tool.description)}</p>}
            {tool.claims.length > 0 && (
              <p class="muted">{t("The server says: {0}", visible(tool.claims.join(", ")))}</p>
            )}
          </li>
        ))}
      </ul>
      {hidden > 0 && <p class="muted">{plural(hidden, "{0} more tool", "{0} more tools")}</p>}
      {[...server.prompts, ...server.resources].length > 0 && (
        <ul class="mcp-tools" aria-label={t("Prompts and resources")}>
          {[...server.prompts, ...server.resources].map((offer) => (
            <li key={offer.text}>
              <code title={visible(offer.text)}>{visible(offer.text)}</code>
              {offer.description !== "" && <p class="muted">{visible(offer.description)}</p>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const PERMISSIONS = {
  ask: t("asks"),
  allow: t("allowed by a rule"),
  deny: t("denied by a rule"),
} as const;

function isBad({ standing, state }: McpRow): boolean {
  return standing === "usable" && (state === "failed" || state === "closed");
}

function signOf(server: McpRow): string {
  if (server.standing === "open") return "question";
  if (server.standing !== "usable") return "circle-slash";
  if (isBad(server)) return "error";
  if (server.state === "ready") return "pass";
  return server.state === "needs login" ? "key" : "circle-large-outline";
}
