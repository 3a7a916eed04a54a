/** Draws the user's prompt, with its attachments below. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../../shared/l10n.ts";
import type { Turn } from "../../shared/state/state.ts";
import { baseName } from "../../shared/words.ts";
import { lengthProblem } from "../composer/sending.tsx";
import { Icon, memo } from "../elements.tsx";
import type { Post } from "../host/channel.ts";
import type { KeptWords } from "../host/kept-words.ts";
import { fileReference } from "../markdown/links.ts";
import { turnKey } from "./rows.ts";

/** The server makes a title from this many characters of the user's own text (`title_of`). */
const READ = 1000;
const LENGTH = 60;

/**
 * Returns whether a prompt is that of a code action, such as *Fix this*, so that its text is
 * Indwell's, not the user's.
 */
export function isTask(words: string, title: string): boolean {
  if (title === "" || words === "" || words.startsWith("/")) return false;
  const own = [...words.trimStart().slice(0, READ).split(/\s+/).join(" ")]
    .slice(0, LENGTH)
    .join("");
  return own.trim() !== title.trim();
}

interface Props {
  readonly session: string;
  readonly number: number;
  readonly words: string;
  readonly title: string;
  readonly chips: Turn["chips"];
  readonly images: Turn["images"];
  readonly canEdit: boolean;
  readonly post: Post;
  readonly kept: KeptWords;
}

interface RowProps {
  readonly turn: Turn;
  readonly post: Post;
  readonly kept: KeptWords;
}

export function PromptRow({ turn, post, kept }: RowProps) {
  const { session, number, words, title, chips, images, ending } = turn;
  return (
    <Prompt
      key={turnKey(turn)}
      {...{ session, number, words, title, chips, images, post, kept }}
      canEdit={ending !== "running" && !turn.left}
    />
  );
}

const Prompt = memo((props: Props) => {
  const { session, number, words, title, chips, images, canEdit, post, kept } = props;
  const key = `prompt ${session} ${number}`;
  // If the panel was hidden during an edit, the edited text is shown again when the panel is shown.
  const [isEditing, setEditing] = useState(canEdit && kept.draft(key) !== null);
  if (isEditing) {
    const close = () => {
      kept.keepDraft(key, null);
      setEditing(false);
    };
    const resend = (text: string) => {
      close();
      post({ type: "resend", turn: number, text });
    };
    return (
      <EditPrompt
        words={kept.draft(key) ?? words}
        changed={(text) => kept.keepDraft(key, text)}
        resend={resend}
        cancel={close}
      />
    );
  }
  return (
    <div class="prompt">
      <h2 class="sr-only">{t("You")}</h2>
      {isTask(words, title) ? (
        <Task title={title} words={words} />
      ) : (
        <Words text={words === "" ? title : words} />
      )}
      <Along chips={chips} images={images} post={post} />
      <div class="turn-tools" role="toolbar" aria-label={t("Prompt of turn {0}", number)}>
        {canEdit && (
          <button
            type="button"
            class="icon-button"
            title={t("Edit and resend")}
            aria-label={t("Edit and resend")}
            onClick={() => setEditing(true)}
          >
            <Icon name="edit" />
          </button>
        )}
        <button
          type="button"
          class="icon-button"
          title={t("Copy the prompt")}
          aria-label={t("Copy the prompt")}
          onClick={() => post({ type: "copy", text: words })}
        >
          <Icon name="copy" />
        </button>
      </div>
    </div>
  );
});

/** Draws a prompt of a code action: its title, and its text on demand. */
function Task({ title, words }: Pick<Props, "title" | "words">) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="prompt-words" dir="auto">
      {title.replace(": ", " · ")}{" "}
      <button
        type="button"
        class="link-button prompt-more"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? t("Hide the prompt") : t("Show the prompt")}
      </button>
      {isOpen && (
        <div class="prompt-behind" dir="auto">
          {words}
        </div>
      )}
    </div>
  );
}

/** Longer texts, in characters or lines, are folded behind "Show all". */
const MOST = 1500;
const MOST_LINES = 12;

function beginning(text: string): string {
  return text.slice(0, MOST).split("\n").slice(0, MOST_LINES).join("\n");
}

function Words({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  const begun = beginning(text);
  // Text that is only a little longer is shown whole, because the button would take as much space.
  const isLong = text.length > begun.length + 200 || text.split("\n").length > MOST_LINES + 2;
  return (
    <div class="prompt-words" dir="auto">
      {isLong && !isWhole ? `${begun} …` : text}
      {isLong && (
        <button
          type="button"
          class="link-button prompt-more"
          aria-expanded={isWhole}
          onClick={() => setWhole(!isWhole)}
        >
          {isWhole ? t("Show less") : t("Show all")}
        </button>
      )}
    </div>
  );
}

/** Draws the chips and pictures of a prompt. */
function Along({ chips, images, post }: Pick<Props, "chips" | "images" | "post">) {
  if (chips.length === 0 && images.length === 0) return null;
  return (
    <div class="prompt-along">
      {chips.map((chip) => (
        <Chip key={chip.label} label={chip.label} post={post} />
      ))}
      {images.map((image) =>
        image.url?.startsWith("data:image/") ? (
          <img
            key={image.label}
            class="prompt-image"
            src={image.url}
            alt={image.label}
            title={image.label}
          />
        ) : (
          <span key={image.label} class="chip">
            <Icon name="file-media" />
            <span>{image.label}</span>
          </span>
        ),
      )}
    </div>
  );
}

function Chip({ label, post }: { readonly label: string; readonly post: Post }) {
  const target = fileReference(label.replace(/[–—]/g, "-"));
  if (target === null) {
    return (
      <span class="chip" title={label}>
        <span>{label}</span>
      </span>
    );
  }
  return (
    <button
      type="button"
      class="chip"
      title={t("Open {0}", label)}
      onClick={() => post({ type: "openFile", target })}
    >
      <Icon name="file" />
      <span>{baseName(label)}</span>
    </button>
  );
}

interface EditProps {
  readonly words: string;
  readonly changed: (text: string) => void;
  readonly resend: (text: string) => void;
  readonly cancel: () => void;
}

/**
 * Draws the prompt in a field; sending the edited text takes the conversation back to before this
 * prompt.
 */
function EditPrompt({ words: begun, changed, resend, cancel }: EditProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [words] = useState(begun);
  const [problem, setProblem] = useState("");
  useLayoutEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(words.length, words.length);
  }, [words.length]);
  const send = () => {
    const text = field.current?.value.trim() ?? "";
    if (lengthProblem(text) !== "") setProblem(lengthProblem(text));
    else if (text !== "") resend(text);
  };
  return (
    <div class="prompt-edit">
      <textarea
        dir="auto"
        ref={field}
        aria-label={t("Edit the prompt")}
        rows={Math.min(10, words.split("\n").length + 1)}
        defaultValue={words}
        onInput={(event) => changed(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Escape") cancel();
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            send();
          }
        }}
      />
      {problem !== "" && <p role="alert">{problem}</p>}
      <p class="muted">
        {t(
          "Sending goes back to before this prompt; what came after is left behind. Files stay as they are.",
        )}
      </p>
      <div class="button-row">
        <button type="button" class="button" onClick={send}>
          {t("Send")}
        </button>
        <button type="button" class="button secondary" onClick={cancel}>
          {t("Cancel")}
        </button>
      </div>
    </div>
  );
}
