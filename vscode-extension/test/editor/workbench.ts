/** Starts VS Code's real server and one browser for many windows. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, BrowserContext } from "playwright-core";
import { buildExtension } from "./build.ts";
import { oneAtATime } from "./lock.ts";
import { browserPath, loadPlaywright, serverMain } from "./packages.ts";
import { makePlace, type Place } from "./place.ts";
import { type Group, startGroup } from "./process-group.ts";

const START_MS = 60_000;
const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

// The second host serves files of an extension; VS Code's page answers these requests itself.
const HERE =
  /^(data|blob|about|chrome|devtools):|^https?:\/\/(127\.0\.0\.1[:/]|[^/]+\.vscode-resource\.vscode-cdn\.net\/)/;

/** A running workbench. */
export interface Workbench {
  readonly place: Place;
  readonly context: BrowserContext;
  /** The server's port on the loopback address. */
  readonly port: number;
  /** The token that the probe requires. */
  readonly token: string;
  /** URLs outside this machine that any page requested. */
  readonly outside: readonly string[];
  /** Returns the server's output, for the message of a failed test. */
  readonly log: () => string;
  readonly close: () => Promise<void>;
}

/** The options of a workbench. */
export interface Start {
  /** Further extensions: the name of each and its folder. */
  readonly more?: Readonly<Record<string, string>>;
}

/**
 * Starts the server and the browser when no other run has an editor open.
 *
 * The extension is built from the working tree; the variable INDWELL_EXTENSION names an unpacked one instead.
 */
export async function startWorkbench(how: Start = {}): Promise<Workbench> {
  const given = process.env["INDWELL_EXTENSION"];
  const built = given === undefined ? buildExtension() : { folder: given, remove: () => undefined };
  endWithParent();
  const release = await oneAtATime();
  const place = makePlace({
    "indwell.indwell-0.1.0": built.folder,
    "indwell-tests.probe-0.0.1": join(import.meta.dirname, "probe"),
    ...how.more,
  });
  const token = randomUUID();
  const server = startServer(place, token);
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    await server.end();
    place.remove();
    built.remove();
    release();
  };
  try {
    const chromium = loadPlaywright().chromium;
    const launched = chromium.launch({
      executablePath: browserPath() ?? "chromium",
      args: FLAGS,
      chromiumSandbox: false,
    });
    browser = await launched;
    const port = await boundPort(server);
    const context = await browser.newContext({
      viewport: { width: 1280, height: 860 },
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const outside: string[] = [];
    context.on("request", (request) => {
      const url = request.url();
      if (!HERE.test(url)) outside.push(url);
    });
    return { place, context, port, token, outside, log: server.output, close };
  } catch (error) {
    await close();
    throw new Error(`the workbench did not start: ${server.output().slice(-2000)}`, {
      cause: error,
    });
  }
}

function startServer(place: Place, token: string): Group {
  const main = serverMain();
  if (main === undefined) throw new Error("VS Code's server is not installed");
  const options = {
    host: "127.0.0.1",
    port: "0",
    "telemetry-level": "off",
    "reconnection-grace-time": "5",
    "user-data-dir": place.userData,
    "extensions-dir": place.extensions,
    "server-data-dir": place.serverData,
  };
  const flags = [
    "--without-connection-token",
    "--enable-smoke-test-driver",
    "--accept-server-license-terms",
  ];
  const argv = [
    process.execPath,
    main,
    ...flags,
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
  ];
  return startGroup(argv, environment(place, token));
}

/** Returns the variables of a user whose only folders are those of the place. */
function environment(place: Place, token: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(INDWELL_|OPENAI_|XDG_|VSCODE_|NODE_|HOME$)/.test(name),
  );
  const xdg = ["CONFIG", "DATA", "STATE", "CACHE"].map((name) => [
    `XDG_${name}_HOME`,
    `${place.home}/${name.toLowerCase()}`,
  ]);
  return {
    ...Object.fromEntries([...kept, ...xdg]),
    HOME: place.home,
    LC_ALL: "C.UTF-8",
    EXTENSIONS_GALLERY: '{"serviceUrl":""}', // otherwise the page contacts the marketplace
    INDWELL_TEST_PROBE: place.probe,
    INDWELL_TEST_TOKEN: token,
  };
}

/** Ends this process with its parent: Node from PyPI has a wrapper, which passes no signal on. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, 500).unref();
}

async function boundPort(server: Group): Promise<number> {
  const deadline = Date.now() + START_MS;
  while (Date.now() < deadline && server.child.exitCode === null) {
    const found = /agent listening on (\d+)/.exec(server.output())?.[1];
    if (found !== undefined) return Number(found);
    await sleep(50);
  }
  throw new Error("VS Code's server did not start");
}
