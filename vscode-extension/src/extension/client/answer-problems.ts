/**
 * Answers `indwell/diagnostics`: waits until the language servers have checked the documents, and
 * returns the problems.
 */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { settling } from "./settling.ts";
import { languageOf, type ProblemWatch, toldOf } from "./watch-problems.ts";

interface Asked {
  readonly uris: readonly string[];
  /** The time limit of the answer, in seconds. */
  readonly wait: number;
}

/** Registers the handler, which lasts as long as one server process. */
export function answerProblems(client: LanguageClient, watch: ProblemWatch): vscode.Disposable {
  return client.onRequest("indwell/diagnostics", async (asked: Asked, token) => {
    const begun = Date.now();
    const uris = asked.uris.map((one) => client.protocol2CodeConverter.asUri(one));
    const answers = await Promise.all(
      uris.map(async (uri, index) => {
        const isKnown = await known(watch, uri, begun, asked.wait * 1_000, token);
        const told = toldOf(client, watch, uri);
        if (!isKnown && told.sources.length === 0) return [];
        // The answer has the URI as requested, because the server knows the document by that URI.
        return [{ uri: asked.uris[index] ?? uri.toString(), ...told }];
      }),
    );
    return { documents: answers.flat() };
  });
}

async function known(
  watch: ProblemWatch,
  uri: vscode.Uri,
  begun: number,
  wait: number,
  token: vscode.CancellationToken,
): Promise<boolean> {
  const name = uri.toString();
  while (!token.isCancellationRequested) {
    const one = watch.clock.watched(name, languageOf(uri));
    // The edit was sent right before the request, so a document that is not open counts as edited
    // at that time.
    const edited = one.editedAt === 0 && wait > 0 ? { ...one, editedAt: begun } : one;
    const now = settling(edited, begun, Date.now(), wait);
    switch (now.kind) {
      case "known":
        return true;
      case "unknown":
        if (wait > 0) watch.clock.waitedInVain(languageOf(uri));
        return false;
      case "wait":
        await news(watch, name, now.ms, token);
        break;
      default:
        return now satisfies never;
    }
  }
  return false;
}

/** Resolves when the document gets a report, after `ms`, or when the request is cancelled. */
function news(
  watch: ProblemWatch,
  name: string,
  ms: number,
  token: vscode.CancellationToken,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      listening.dispose();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const listening = vscode.Disposable.from(
      watch.onReport((uris) => {
        if (uris.some((one) => one.toString() === name)) done();
      }),
      token.onCancellationRequested(done),
    );
  });
}
