/** A local model: an OpenAI-compatible endpoint that streams the replies of its scripts. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type Asked,
  inOrder,
  type Part,
  refuse,
  replyTo,
  type Script,
  say,
} from "./model-script.ts";

const MODELS = ["coder-large", "coder-small"]; // the list of `/v1/models`
const CACHED_SHARE = 0.9; // of the tokens of each prompt

/** The running endpoint. */
export interface Model {
  /** The base URL, with `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Bodies of the chat requests so far. */
  readonly requests: readonly Asked[];
  /** Uses a script for prompts that begin with this word. */
  readonly on: (word: string, script: Script) => void;
  /** Uses a script for all other prompts. */
  readonly otherwise: (script: Script) => void;
  /** Refuses all requests without this key; null accepts all requests. */
  readonly requireKey: (key: string | null) => void;
  /** Closes all connections and stops listening; `comeBack` listens on the same port again. */
  readonly goAway: () => Promise<void>;
  readonly comeBack: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts the endpoint on a free port, or on a given one. */
export async function startModel(port = 0): Promise<Model> {
  const requests: Asked[] = [];
  const scripts = new Map<string, Script>();
  let otherwise: Script = inOrder([say("Done.")]);
  let key: string | null = null;
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (key !== null && request.headers.authorization !== `Bearer ${key}`) {
      await stream(response, [refuse(401, "no such key")], 0);
      return;
    }
    if (request.method === "GET" && request.url === "/v1/models") {
      const data = MODELS.map((id) => ({ id, object: "model" }));
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify({ object: "list", data }));
      return;
    }
    if (request.url !== "/v1/chat/completions") {
      response.writeHead(404).end();
      return;
    }
    const text = await bodyOf(request);
    const asked: Asked = JSON.parse(text);
    requests.push(asked);
    const reply = isLoginTest(text)
      ? [{ kind: "call", name: "report", arguments: { word: "ready" } } as const]
      : replyTo(asked, scripts, otherwise);
    await stream(response, reply, Math.ceil(text.length / 4));
  };
  const listen = async (on: number): Promise<number> => {
    server.listen(on, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the model has no port");
    return address.port;
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const bound = await listen(port);
  return {
    url: `http://127.0.0.1:${bound}/v1`,
    port: bound,
    requests,
    on: (word, script) => scripts.set(word, script),
    otherwise: (script) => {
      otherwise = script;
    },
    requireKey: (given) => {
      key = given;
    },
    goAway: stop,
    comeBack: async () => {
      await listen(bound);
    },
    close: stop,
  };
}

/** Returns whether `indwell login` sent the request: its test listModels one tool named `report`. */
function isLoginTest(body: string): boolean {
  return body.includes('"name":"report"') || body.includes('"name": "report"');
}

async function stream(
  response: ServerResponse,
  reply: readonly Part[],
  promptTokens: number,
): Promise<void> {
  const refused = reply.find((part) => part.kind === "refuse");
  if (refused !== undefined) {
    response.writeHead(refused.status, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ error: { message: refused.message, type: "some_error", code: null } }),
    );
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const send = (delta: object, finish: string | null = null): void => {
    const choices = [{ index: 0, delta, finish_reason: finish }];
    response.write(
      `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model: "m", choices })}\n\n`,
    );
  };
  let calls = 0;
  let characters = 0;
  for (const part of reply) {
    switch (part.kind) {
      case "say":
        for (const piece of pieces(part.text, part.piece ?? 12)) {
          send({ content: piece });
          if (part.paceMs !== undefined)
            await sleep(part.paceMs, undefined, { signal: gone.signal });
        }
        characters += part.text.length;
        break;
      case "think":
        for (const piece of pieces(part.text, 12)) send({ reasoning_content: piece });
        characters += part.text.length;
        break;
      case "call": {
        const first = { index: calls, id: `call_${calls}`, type: "function" };
        send({
          tool_calls: [
            { ...first, function: { name: part.name, arguments: JSON.stringify(part.arguments) } },
          ],
        });
        calls += 1;
        break;
      }
      case "wait":
        await Promise.race([
          part.until ?? new Promise(() => undefined),
          once(gone.signal, "abort"),
        ]);
        break;
      case "refuse":
        break;
      default:
        part satisfies never;
    }
  }
  send({}, calls > 0 ? "tool_calls" : "stop");
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: Math.max(1, Math.ceil(characters / 4)),
    prompt_tokens_details: { cached_tokens: Math.floor(promptTokens * CACHED_SHARE) },
  };
  response.write(
    `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 0, model: "m", choices: [], usage })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const chunk of request) text += chunk;
  return text;
}

function* pieces(text: string, size: number): Generator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}
