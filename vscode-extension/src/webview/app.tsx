/** The frame of the panel, which arranges its parts from top to bottom. */
import { sending } from "../shared/selectors.ts";
import { Banner } from "./banner/banner.tsx";
import { CommandsLine } from "./commands/commands-line.tsx";
import { Composer } from "./composer/composer.tsx";
import { Announcer } from "./conversation/announcer.tsx";
import { Conversation } from "./conversation/conversation.tsx";
import { Empty } from "./empty/empty.tsx";
import { FirstRun } from "./first-run/first-run.tsx";
import { Header } from "./header/header.tsx";
import { McpPageView } from "./mcp/mcp-page.tsx";
import { PendingBar } from "./pending/pending-bar.tsx";
import { PlanLine } from "./plan/plan-line.tsx";
import { Questions } from "./questions/questions.tsx";
import { OthersLine } from "./sessions/others-line.tsx";
import { SessionList } from "./sessions/session-list.tsx";
import { TodoLine } from "./todo/todo-line.tsx";
import type { ViewProps } from "./view-props.ts";

/** Draws the whole panel for one state. */
export function App(props: ViewProps) {
  const { state } = props;
  const isPage = state.list !== null || state.mcp !== null;
  return (
    <div class={classOf(state)}>
      <Header {...props} />
      {state.list === null && !state.isTab && <OthersLine {...props} />}
      <Banner {...props} />
      <main class="panel-main">
        <Middle {...props} />
      </main>
      <footer class="panel-foot">
        {!isPage && (
          <>
            <CommandsLine {...props} />
            <PlanLine {...props} />
            <TodoLine {...props} />
            <PendingBar {...props} />
          </>
        )}
        {/* Whatever else is shown, a question stays visible, beside the field for typing. */}
        <Questions {...props} />
        {!isPage && state.firstRun === null && (
          <div class="panel-input">
            <Composer {...props} />
          </div>
        )}
      </footer>
      <Announcer state={state} />
    </div>
  );
}

function classOf({ looks, isTab }: ViewProps["state"]): string {
  return ["panel", ...(looks.reducedMotion ? ["still"] : []), ...(isTab ? ["tab"] : [])].join(" ");
}

function Middle(props: ViewProps) {
  const { state } = props;
  if (state.list !== null) return <SessionList {...props} />;
  if (state.mcp !== null) return <McpPageView {...props} />;
  if (state.firstRun !== null) return <FirstRun {...props} />;
  const isEmpty = state.turns.length === 0 && state.older === "none";
  if (isEmpty && sending(state).length === 0) return <Empty {...props} />;
  return <Conversation key={state.session ?? ""} {...props} />;
}
