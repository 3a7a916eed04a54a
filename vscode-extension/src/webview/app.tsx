/** The frame of the panel, which arranges its parts from top to bottom. */
import { sending } from "../shared/state/selectors.ts";
import { Composer } from "./composer/composer.tsx";
import { Announcer, Conversation } from "./conversation/conversation.tsx";
import { Banner } from "./header/banner.tsx";
import { Header } from "./header/header.tsx";
import type { ViewProps } from "./host/channel.ts";
import { McpPageView } from "./mcp/mcp-page.tsx";
import { Questions } from "./questions/questions.tsx";
import { OthersLine } from "./sessions/others-line.tsx";
import { SessionList } from "./sessions/session-list.tsx";
import { Empty } from "./start/empty.tsx";
import { FirstRun } from "./start/first-run.tsx";
import { CommandsLine } from "./work/commands-line.tsx";
import { PendingBar } from "./work/pending-bar.tsx";
import { PlanLine } from "./work/plan.tsx";
import { TodoLine } from "./work/todo-line.tsx";

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
