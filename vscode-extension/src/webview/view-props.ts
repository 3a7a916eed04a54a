/** What every part of the panel is given. */
import type { ToHost } from "../shared/messages.ts";
import type { PanelState } from "../shared/state.ts";
import type { Channel } from "./channel.ts";

/** Send one message to the extension host; never throws. */
export type Post = (message: ToHost) => void;

export interface ViewProps {
  readonly state: PanelState;
  readonly post: Post;
  readonly channel: Channel;
}
