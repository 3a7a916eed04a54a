/** The state of the page of MCP servers, and the texts and checks of its form. Pure. */

import type { McpRow } from "../protocol.ts";
import { t } from "./l10n.ts";

/** The page, which replaces the conversation. */
export interface McpPage {
  readonly servers: readonly McpRow[];
  /** A sentence for each invalid definition. */
  readonly problems: readonly string[];
  /** A phrase about the running action, or empty if no action runs. */
  readonly busy: string;
  /** Why the last action failed, or empty if the action succeeded. */
  readonly error: string;
  /** The number of servers that the form has added; the form closes each time the number grows. */
  readonly added: number;
}

/** The form of a new server, with the typed text. */
export interface McpForm {
  readonly name: string;
  readonly kind: "program" | "address";
  /** The command line: the program and its arguments. */
  readonly line: string;
  readonly url: string;
  /** The names of the user's variables that the program gets. */
  readonly variables: string;
  /** The hosts that the program may reach. */
  readonly hosts: string;
  readonly header: string;
  /** The name of the user's variable with the header's value. */
  readonly headerVariable: string;
}

export const EMPTY_FORM: McpForm = {
  name: "",
  kind: "program",
  line: "",
  url: "",
  variables: "",
  hosts: "",
  header: "",
  headerVariable: "",
};

/** Returns why fields are invalid, by field; the server checks the fields again. */
export function formProblems(form: McpForm): Partial<Record<keyof McpForm, string>> {
  const { name, kind, line, url, header, headerVariable } = form;
  const problems: Partial<Record<keyof McpForm, string>> = {};
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name))
    problems.name = t("Small letters, digits and “-”; the names of its tools begin with it.");
  const mine = kind === "program" ? line : url;
  const field = kind === "program" ? "line" : "url";
  if (kind === "program" && wordsOf(line).length === 0)
    problems.line = t("The program to start, with its arguments.");
  if (kind === "address" && !isAddress(url))
    problems.url = t("An address that begins with https:// (or http:// on this machine).");
  if (looksSecret(mine))
    problems[field] = t("This has a key or a password in it. Put it into a variable of yours.");
  if (kind === "program") {
    if (!namesOf(form.variables).every(isVariable))
      problems.variables = t("Names of variables, such as TOKEN, not their values.");
    if (!namesOf(form.hosts).every(isHost)) problems.hosts = t("Hosts, such as api.github.com.");
  } else {
    if (header !== "" && !/^[\w-]+$/.test(header))
      problems.header = t("A name, such as Authorization.");
    if (header !== "" && !isVariable(headerVariable))
      problems.headerVariable = t("The name of the variable with its value, not the value.");
    if (header === "" && headerVariable !== "") problems.header = t("The header’s name.");
  }
  return problems;
}

/** Splits a field that lists names. */
export function namesOf(field: string): readonly string[] {
  return field.split(/[\s,]+/).filter((word) => word !== "");
}

/**
 * Splits a line into words; quotes preserve blanks, and a backslash is an ordinary character, as in
 * paths.
 */
export function wordsOf(line: string): readonly string[] {
  const found = line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g);
  return [...found].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

/** Describes the state of a server in a few words. */
export function stateWords(server: McpRow): string {
  if (server.standing !== "usable") return STANDINGS[server.standing];
  return STATES[server.state] ?? server.state;
}

const STANDINGS: Readonly<Record<Exclude<McpRow["standing"], "usable">, string>> = {
  open: t("Waits for your decision"),
  declined: t("You decided not to use it"),
  restricted: t("This folder is not trusted"),
  off: t("Turned off"),
};
const STATES: Readonly<Record<string, string>> = {
  idle: t("Starts with your next prompt"),
  starting: t("Starting…"),
  ready: t("Running"),
  waiting: t("Connection lost; trying again"),
  "needs login": t("Wants a login"),
  failed: t("Failed"),
  closed: t("Ended"),
};

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (
    protocol === "https:" || (protocol === "http:" && /^(localhost|127\.|\[::1\])/.test(hostname))
  );
}

function isVariable(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name);
}

function isHost(name: string): boolean {
  return /^[\w*.-]+(?::\d+)?$/.test(name);
}

/**
 * Returns whether a text looks like a secret, by the same checks as in the server: the known
 * beginnings of keys, a token of a header, a password in an address.
 */
function looksSecret(text: string): boolean {
  return /\bbearer\s+[\w.~+/=-]{8,}|(?<![A-Za-z0-9])(?:sk|rk|pk|xai|gsk|ghp|gho|glpat|hf)[-_][\w-]{8,}|\bAIza[\w-]{20,}|:\/\/[^/\s:@]+:[^/\s@]+@/i.test(
    text,
  );
}
