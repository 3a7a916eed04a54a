/** The form for a new MCP server; it accepts the names of variables, but no secrets. */

import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import { EMPTY_FORM, formProblems, type McpForm } from "../../shared/mcp-page.ts";
import type { Post } from "../host/channel.ts";

interface Props {
  readonly isBusy: boolean;
  readonly post: Post;
  readonly close: () => void;
}

export function McpAdd({ isBusy, post, close }: Props) {
  const [form, setForm] = useState<McpForm>(EMPTY_FORM);
  const [isTried, setTried] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const problems = formProblems(form);
  useEffect(() => element.current?.querySelector<HTMLElement>("input")?.focus(), []);
  const field = (name: keyof McpForm, label: string, hint: string, example = "") => (
    <Field
      name={name}
      label={label}
      hint={hint}
      example={example}
      value={form[name]}
      problem={isTried ? (problems[name] ?? "") : ""}
      onInput={(value) => setForm({ ...form, [name]: value })}
    />
  );
  const kind = (value: McpForm["kind"], label: string) => (
    <label class="mcp-kind">
      <input
        type="radio"
        name="kind"
        checked={form.kind === value}
        onChange={() => setForm({ ...form, kind: value })}
      />
      {label}
    </label>
  );
  return (
    <form
      ref={element}
      class="mcp-add card"
      aria-label={t("Add a server")}
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        const wrong = Object.keys(problems)[0];
        if (wrong !== undefined)
          element.current?.querySelector<HTMLElement>(`[name=${wrong}]`)?.focus();
        else if (!isBusy) post({ type: "mcpAdd", form });
      }}
    >
      <h2>{t("Add a server to your settings")}</h2>
      {field("name", t("Name"), t("Small letters, digits and “-”"), "files")}
      <fieldset class="mcp-kinds">
        <legend>{t("Kind")}</legend>
        {kind("program", t("A program on this machine"))}
        {kind("address", t("A service at an address"))}
      </fieldset>
      {form.kind === "program" ? (
        <>
          {field(
            "line",
            t("Command line"),
            t("The program and its arguments"),
            "npx -y @modelcontextprotocol/server-filesystem .",
          )}
          {field(
            "variables",
            t("Your variables that it gets"),
            t("Names only; it gets no others"),
            "GITHUB_TOKEN",
          )}
          {field("hosts", t("Hosts that it may reach"), t("None if empty"), "api.github.com")}
        </>
      ) : (
        <>
          {field("url", t("Address"), t("Begins with https://"), "https://docs.example/mcp")}
          {field("header", t("Header"), t("If it wants a token, and no sign-in"), "Authorization")}
          {field(
            "headerVariable",
            t("Variable with the header’s value"),
            t("Its name only"),
            "DOCS_TOKEN",
          )}
        </>
      )}
      <p class="muted">
        {t(
          "The settings are a plain file: a key belongs into a variable of your system, and only the variable’s name here.",
        )}
      </p>
      <div class="button-row">
        <button type="submit" class="button" aria-disabled={isBusy}>
          {t("Add")}
        </button>
        <button type="button" class="button secondary" onClick={close}>
          {t("Cancel")}
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly example: string;
  readonly value: string;
  readonly problem: string;
  readonly onInput: (value: string) => void;
}

function Field({ name, label, hint, example, value, problem, onInput }: FieldProps) {
  const id = `mcp-${name}`;
  return (
    <div class="mcp-field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        class={problem === "" ? "field" : "field wrong"}
        autocomplete="off"
        spellcheck={false}
        placeholder={example}
        value={value}
        aria-invalid={problem !== ""}
        aria-describedby={`${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p id={`${id}-hint`} class={problem === "" ? "muted" : "failed"}>
        {problem === "" ? hint : problem}
      </p>
    </div>
  );
}
