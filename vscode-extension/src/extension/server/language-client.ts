/**
 * Runs one process of the server behind VS Code's language client: answers
 * `workspace/configuration` with explicitly set values only, and logs what the process writes.
 */
import "../language.ts";
import { setTimeout as sleep } from "node:timers/promises";
import * as vscode from "vscode";
import {
  type ClientCapabilities,
  CloseAction,
  type ConfigurationMiddleware,
  ErrorAction,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";
import { TASK_COMMANDS } from "../../protocol.ts";
import { t } from "../../shared/l10n.ts";
import { realClock } from "../clock.ts";
import { makePlain } from "../plain-words.ts";
import { settingsForServer } from "./configuration.ts";
import type { Reports, Run } from "./life.ts";
import { readLine, tracedLine, whyNotStarted } from "./log-lines.ts";
import { whyNotSpoken } from "./protocol-version.ts";
import type { Attach } from "./server.ts";
import { stopServer } from "./stopping.ts";

type Handler = NonNullable<ConfigurationMiddleware["configuration"]>;

/** The middleware, which gives the server no section but `indwell`. */
const forServer: Handler = (params) =>
  params.items.map(({ section, scopeUri }) => {
    if (section !== "indwell") return null;
    const scope = scopeUri === undefined ? undefined : vscode.Uri.parse(scopeUri);
    const configuration = vscode.workspace.getConfiguration("indwell", scope);
    const names = leaves(configuration);
    return settingsForServer(names, (name) => configuration.inspect(name));
  });

/** Returns the names of all settings of the section; the server reports undeclared settings. */
function leaves(configuration: vscode.WorkspaceConfiguration): readonly string[] {
  return Object.keys(configuration).filter((name) => configuration.inspect(name) !== undefined);
}

/** Returns a channel that writes to `log`, but only the names of traced messages, at any level. */
function withoutBodies(log: vscode.LogOutputChannel): vscode.LogOutputChannel {
  return {
    get name() {
      return log.name;
    },
    get logLevel() {
      return log.logLevel;
    },
    onDidChangeLogLevel: log.onDidChangeLogLevel,
    trace: (message) => {
      const line = tracedLine(message);
      if (line !== undefined) log.trace(line);
    },
    debug: (message, ...args) => log.debug(message, ...args),
    info: (message, ...args) => log.info(message, ...args),
    warn: (message, ...args) => log.warn(message, ...args),
    error: (message, ...args) => log.error(message, ...args),
    append: (value) => log.append(value),
    appendLine: (value) => log.appendLine(value),
    replace: (value) => log.replace(value),
    clear: () => log.clear(),
    show: () => log.show(true),
    hide: () => log.hide(),
    dispose: () => {}, // The channel does not belong to the client.
  };
}

/**
 * Milliseconds that the server has for the answer to `initialize`; the first start after an
 * installation is slow, because every file is read for the first time.
 */
const START_MS = 60_000;

/** Milliseconds to wait for the last output of a server that did not start. */
const LAST_WORDS_MS = 500;

/**
 * The extension registers the server's commands itself, so that they exist before the server runs.
 */
const LEFT_OUT = "workspace/executeCommand";

const TASKS: ReadonlySet<string> = new Set(TASK_COMMANDS);

/** The parts of the process. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Returns whether a lens of the server is about a pending change; a lens of a chat document names a
 * turn instead.
 */
function isOfReview(command: vscode.Command | undefined): boolean {
  const [given]: readonly unknown[] = command?.arguments ?? [];
  if (typeof given !== "object" || given === null) return false;
  return command?.command === "indwell.open"
    ? "what" in given && given.what === "diff" && "uri" in given && !("turn" in given)
    : "hunks" in given;
}

/** Starts the program and waits for its answer to `initialize`. */
export async function openClient(
  program: Program,
  attached: ReadonlySet<Attach>,
  log: vscode.LogOutputChannel,
  reports: Reports,
  signal: AbortSignal,
): Promise<Run<LanguageClient>> {
  let lastLine = "";
  let isLate = false;
  let misfit: string | null = null;
  let fallSilent = (): void => {};
  const silence = new Promise<void>((resolve) => {
    fallSilent = resolve;
  });
  const options: LanguageClientOptions = {
    // Output channels, other versions of a file and similar documents have their own schemes.
    documentSelector: [
      { scheme: "file" },
      { scheme: "untitled" },
      { scheme: "vscode-notebook-cell" },
    ],
    outputChannel: log,
    traceOutputChannel: withoutBodies(log),
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        reports.ended(lastLine || t("The server ended by itself."));
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
    middleware: {
      workspace: { configuration: forServer },
      provideCodeActions: async (document, range, context, token, next) => {
        const offered = await next(document, range, context, token);
        for (const one of offered ?? []) asShown(one, context.only);
        return offered;
      },
      // The extension draws bars with keys at the changes: `editor/pending/lenses.ts`.
      provideCodeLenses: async (document, token, next) =>
        (await next(document, token))?.filter((one) => !isOfReview(one.command)),
      handleWorkDoneProgress: (token, params, next) => {
        // The length of a turn is unknown, and Indwell's entry of the status bar already shows the
        // turn.
        if (params.kind === "begin" && params.percentage === undefined) return;
        if (params.kind !== "end") makePlain(params);
        next(token, params);
      },
    },
    stdioOptions: {
      stdout: () => {},
      stderr: (stream) => {
        let rest = "";
        stream.on("close", fallSilent);
        stream.setEncoding("utf8").on("data", (text: string) => {
          const lines = (rest + text).split(/\r?\n/);
          rest = lines.pop() ?? "";
          for (const line of lines) {
            const said = readLine(line);
            log[said.level](said.text);
            if (said.level === "error" || said.level === "info") lastLine = said.text;
          }
        });
      },
    },
  };
  const client = new IndwellClient(program, options);
  const parts = [...attached].map((attach) => attach(client));
  const stop = async (): Promise<void> => {
    await stopServer(client, realClock);
    for (const part of parts) part.dispose();
    await client.dispose(0).catch(() => {});
  };
  const aborted = (): void => void client.serverProcess?.kill();
  signal.addEventListener("abort", aborted, { once: true });
  const late = setTimeout(() => {
    isLate = true;
    client.serverProcess?.kill();
  }, START_MS);
  try {
    await client.start();
    const answer = client.initializeResult;
    misfit = whyNotSpoken(answer?.capabilities.experimental);
    if (misfit !== null) throw new Error(misfit);
    return { client, version: answer?.serverInfo?.version ?? "", stop };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    log.error(t("The start failed: {0}", said));
    await Promise.race([silence, sleep(LAST_WORDS_MS)]);
    await stop();
    throw new Error(misfit ?? whyNotStarted({ lastLine, said, isLate }));
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", aborted);
  }
}

/** Adapts a code action of the server to VS Code's menus. */
function asShown(
  offered: vscode.CodeAction | vscode.Command,
  only: vscode.CodeActionKind | undefined,
): void {
  // The editor's own AI has entries with the same labels.
  offered.title = `${offered.title} (Indwell)`;
  if (!("kind" in offered) || typeof offered.command !== "object") return;
  // Quick Fix (Ctrl+.) asks for actions of any kind except `source`.
  const isTask = TASKS.has(offered.command.command);
  if (only === undefined && isTask && offered.kind?.value === "source.indwell")
    offered.kind = vscode.CodeActionKind.Refactor.append("indwell");
}

class IndwellClient extends LanguageClient {
  constructor({ command, args, cwd, env }: Program, options: LanguageClientOptions) {
    const executable = { command, args: [...args], options: { cwd, env } };
    super("indwell", "Indwell", executable, options);
    this.registerFeature(new Declared());
  }

  override registerFeature(feature: Parameters<LanguageClient["registerFeature"]>[0]): void {
    const type = "registrationType" in feature ? feature.registrationType : undefined;
    if (type?.method !== LEFT_OUT) super.registerFeature(feature);
  }

  /** Writes errors only into the log: the server's state informs the user, with a remedy. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override warn(message: string, data?: unknown): void {
    super.warn(message, data, false);
  }

  override info(message: string, data?: unknown): void {
    super.info(message, data, false);
  }
}

/**
 * Declares the editor's capabilities beyond the protocol, and whether the editor trusts the folder.
 */
class Declared implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const ours = {
      events: true,
      permission: true,
      ask: true,
      save: true,
      diagnostics: true,
      navigate: true,
      reread: true,
      firstRun: true,
      models: true,
      trusted: vscode.workspace.isTrusted,
    };
    capabilities.experimental = { ...capabilities.experimental, indwell: ours };
    capabilities.workspace = { ...capabilities.workspace, executeCommand: {} };
  }

  initialize(): void {}

  getState(): FeatureState {
    return { kind: "static" };
  }

  clear(): void {}
}
