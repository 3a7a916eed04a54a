/** The props that every part of the panel gets. */
import type { ToHost } from "../shared/messages.ts";
import type { PanelState } from "../shared/state.ts";
import type { Channel } from "./channel.ts";

/** Sends one message to the extension host; never throws. */
export type Post = (message: ToHost) => void;

export interface ViewProps {
  readonly state: PanelState;
  readonly post: Post;
  readonly channel: Channel;
}
