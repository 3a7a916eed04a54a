/**
 * An extension for tests only: it runs functions that the tests send, inside the extension host.
 * It listens on the loopback address and requires the token of the run.
 */
const { createServer } = require("node:http");
const { basename, join } = require("node:path");
const { mkdirSync, renameSync, writeFileSync } = require("node:fs");
const vscode = require("vscode");

exports.activate = (context) =>
  new Promise((done) => {
    const folder = process.env.INDWELL_TEST_PROBE;
    const token = process.env.INDWELL_TEST_TOKEN;
    const root = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    if (!folder || !token || !root) return done();
    const kept = {}; // values that a function keeps for later functions
    const server = createServer(async (request, response) => {
      if (request.headers.authorization !== token) return response.writeHead(403).end();
      let body = "";
      for await (const chunk of request) body += chunk;
      const { code, argument } = JSON.parse(body);
      let answer;
      try {
        const value = await new Function("require", `return (${code})`)(require)(
          vscode,
          argument,
          kept,
        );
        answer = { value };
      } catch (error) {
        answer = { error: String(error?.stack ?? error) };
      }
      response.end(JSON.stringify(answer));
    });
    context.subscriptions.push({ dispose: () => server.close() });
    server.listen(0, "127.0.0.1", () => {
      mkdirSync(folder, { recursive: true });
      const path = join(folder, basename(root));
      writeFileSync(
        `${path}.new`,
        JSON.stringify({ port: server.address().port, pid: process.pid }),
      );
      renameSync(`${path}.new`, path); // so that no reader sees half a file
      done();
    });
  });
