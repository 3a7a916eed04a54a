/** Lists the tasks of the workspace, with buttons to run, stop and open each. */

import * as vscode from "vscode";
import type { TaskRow, TasksResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { plainWords } from "../../plain-words.ts";
import { say } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import type { ChatLink } from "../chat-link.ts";
import { argumentOf, type Handler, stringIn } from "./run.ts";
import { taskFigure } from "./task-words.ts";

const RUN: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("play"),
  tooltip: t("Run the Task in a Session"),
};
const STOP: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("debug-stop"),
  tooltip: t("Stop the Task"),
};
const DONE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("check"),
  tooltip: t("Mark as Done"),
};
const REMOVE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("trash"),
  tooltip: t("Remove the Task"),
};
const ADD: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("add"),
  tooltip: t("Add a Task"),
};
const RUN_ALL: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("run-all"),
  tooltip: t("Run All Tasks That Are Not Done"),
};
const CLEAR: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("clear-all"),
  tooltip: t("Remove the Tasks That Are Done"),
};

type Row = vscode.QuickPickItem & { readonly task: TaskRow | null };

/**
 * The handler of the list; with `words`, the handler carries out a command without showing the
 * list.
 */
export function listedTasks(server: Server, chat: ChatLink): Readonly<Record<string, Handler>> {
  return {
    "indwell.tasks": (...args) => {
      const words = stringIn(argumentOf(args), "words");
      return words === null
        ? show(server, chat)
        : server.execute("indwell.tasks", { words, wait: true });
    },
  };
}

/** Shows the list until the user closes it, and updates the list when tasks start and end. */
async function show(server: Server, chat: ChatLink): Promise<void> {
  const box = vscode.window.createQuickPick<Row>();
  box.title = t("Indwell: tasks of this folder");
  box.placeholder = t("Write the title of a new task, or choose a task to open its session");
  box.buttons = [RUN_ALL, CLEAR];
  box.matchOnDescription = true;
  let tasks: readonly TaskRow[] = [];
  const draw = (): void => {
    const title = box.value.trim();
    const add: Row[] =
      title === ""
        ? []
        : [{ label: t("$(add) Add “{0}”", title), alwaysShow: true, task: null, buttons: [ADD] }];
    box.items = [...tasks.map(rowOf), ...add];
  };
  const carryOut = async (words: string): Promise<void> => {
    try {
      const done = await server.request<TasksResult>("indwell/tasks", { words });
      tasks = done.tasks as unknown as readonly TaskRow[];
    } catch (error) {
      void say("error", `Indwell: ${error instanceof Error ? error.message : String(error)}`);
    }
    draw();
  };
  const add = async (): Promise<void> => {
    const title = box.value.trim();
    box.value = "";
    await carryOut(`add ${title}`);
  };
  const closed = new Promise<void>((resolve) => {
    box.onDidHide(resolve);
  });
  const parts = vscode.Disposable.from(
    box,
    chat.onEvent(({ event }) => {
      if (event.type !== "tasksChanged") return;
      tasks = event.tasks;
      draw();
    }),
    box.onDidChangeValue(draw),
    box.onDidTriggerButton((button) => carryOut(button === CLEAR ? "clear" : "run")),
    box.onDidTriggerItemButton(({ item: { task }, button }) =>
      task === null ? add() : carryOut(`${verbOf(button)} ${task.id}`),
    ),
    box.onDidAccept(() => {
      const task = box.selectedItems[0]?.task ?? null;
      if (task === null && box.value.trim() !== "") void add();
      if (task === null || task.session === "") return;
      box.hide();
      void chat.perform({ type: "openSession", session: task.session });
      void chat.show(true);
    }),
  );
  await carryOut("");
  box.show();
  await closed;
  parts.dispose();
}

function verbOf(button: vscode.QuickInputButton): string {
  if (button === RUN) return "run";
  if (button === STOP) return "stop";
  return button === DONE ? "done" : "remove";
}

function rowOf(task: TaskRow): Row {
  const starts = task.state === "running" || task.state === "waiting";
  const rest = task.state === "done" ? [REMOVE] : [RUN, DONE, REMOVE];
  return {
    task,
    label: plainWords(task.title),
    description: taskFigure(task),
    detail: plainWords(task.ending),
    buttons: starts ? [STOP] : rest,
  };
}
