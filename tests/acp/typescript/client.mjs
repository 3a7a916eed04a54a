// A client made with the TypeScript SDK. It starts the program of its arguments, runs one prompt in
// $ACP_FOLDER with the text of $ACP_WORDS, allows each call once, and prints what it saw as JSON.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.on("exit", resolve));
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const { agent, client } = acp.methods;
const seen = { updates: [], asked: [] };

await acp
  .client({ name: "test" })
  .onRequest(client.session.requestPermission, ({ params }) => {
    seen.asked.push(params.toolCall.title);
    const once = params.options.find((one) => one.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: once.optionId } };
  })
  .onRequest(client.fs.readTextFile, async ({ params }) => ({
    content: await readFile(params.path, "utf8"),
  }))
  .onNotification(client.session.update, ({ params }) => {
    seen.updates.push(params.update);
  })
  .connectWith(stream, async (ctx) => {
    const clientCapabilities = { fs: { readTextFile: true, writeTextFile: false } };
    const told = await ctx.request(agent.initialize, { protocolVersion: 1, clientCapabilities });
    seen.agent = told.agentInfo.name;
    const session = await ctx.request(agent.session.new, {
      cwd: process.env.ACP_FOLDER,
      mcpServers: [],
    });
    const prompt = [{ type: "text", text: process.env.ACP_WORDS }];
    const answer = await ctx.request(agent.session.prompt, { sessionId: session.sessionId, prompt });
    seen.stopReason = answer.stopReason;
    const listed = await ctx.request(agent.session.list, { cwd: process.env.ACP_FOLDER });
    seen.titles = listed.sessions.map((one) => one.title);
    await ctx.request(agent.session.delete, { sessionId: session.sessionId });
    const left = await ctx.request(agent.session.list, { cwd: process.env.ACP_FOLDER });
    seen.left = left.sessions.length;
  });
child.stdin.end();
seen.code = await ended;
process.stdout.write(JSON.stringify(seen));
