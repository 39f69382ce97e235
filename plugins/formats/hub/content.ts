/** Types of the hub, part two: the content of turns and answers. Data that only one provider can
 *  read (signatures, encrypted thoughts, raw items of its own tools) is carried as an opaque
 *  payload. */
import type { Json } from '../../../engine/plugin.ts'

export type Content = Text | Refusal | Thought | Media | Call | Result | HostedCall

interface WithPayload {
  /** Must return to its provider unchanged, at the same position. */
  readonly payload?: OpaquePayload
  readonly cache?: Cache
}
/** Data that only one provider can read. `origin`: the name of its format. */
export interface OpaquePayload {
  readonly origin: string
  readonly data: string
  /** Distinguishes the kinds of payload of one provider. */
  readonly kind?: string
  /** The id of the item that the payload belongs to. */
  readonly id?: string
}
/** A cache breakpoint, for providers that cache prompts on request. `ttl`: `5m`, `1h`; of OpenAI
 *  `30m`, `12h`. `name`: the client's name of it, if not `cache_control`. */
export interface Cache {
  readonly ttl?: string
  readonly name?: string
  /** The gateway added it: it is never reported. */
  readonly isAdded?: true
}

export interface Text extends WithPayload {
  readonly type: 'text'
  readonly text: string
  readonly citations?: readonly Citation[]
}
/** The model's refusal to answer. */
export interface Refusal {
  readonly type: 'refusal'
  readonly text: string
}
/** The text may be empty if a payload carries the thought. */
export interface Thought extends WithPayload {
  readonly type: 'thought'
  readonly text: string
}
export interface Media extends WithPayload {
  readonly type: 'media'
  readonly kind: 'image' | 'document' | 'audio' | 'video'
  readonly source: Source
  /** low, high or auto: the resolution at which an image is read. */
  readonly detail?: string
  readonly name?: string
  /** For a document: a description, and whether the model shall cite it. */
  readonly context?: string
  readonly citationsEnabled?: boolean
  /** For a video: `{startOffset, endOffset, fps}`. */
  readonly clip?: Json
  /** For a generated image: the prompt as revised by the model. */
  readonly revisedPrompt?: string
  /** For a document that holds other content: `source` has its texts only. */
  readonly parts?: readonly (Text | Media)[]
  /** True for the mask of an image edit, transparent where the image shall change. */
  readonly isMask?: boolean
  /** Chat clients of this model expect the bare URL or base64, without Markdown around it. */
  readonly isBare?: boolean
  /** The path in the client's request for error messages: `messages[2].content[1]`. */
  readonly at?: string
}
/** `data`: standard base64; `filename`: for formats that need a name where the client gave none.
 *  `file`: an id at the provider `origin`. */
export type Source =
  | {
      readonly type: 'data'
      readonly data: string
      readonly mime: string
      readonly filename?: string
    }
  | { readonly type: 'url'; readonly url: string; readonly mime?: string }
  | {
      readonly type: 'file'
      readonly file: string
      readonly origin: string
      readonly mime?: string
    }
  | { readonly type: 'text'; readonly text: string }

/** A call of one of the client's tools. */
export interface Call extends WithPayload {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** The group of the tool, in formats that have groups. */
  readonly namespace?: string
  /** The arguments as JSON text, `{}` for none; for a free-text tool the text itself. */
  readonly input: string
  readonly isFreeText?: boolean
}
/** The result of a client's tool. */
export interface Result extends WithPayload {
  readonly type: 'result'
  /** The id of the call. */
  readonly id: string
  /** The name of the tool, if the format or an earlier call of this id names it. */
  readonly name?: string
  readonly content: readonly (Text | Media)[]
  /** The whole result, if the format carries objects. */
  readonly value?: Json
  readonly hasFailed?: boolean
  readonly isFreeText?: boolean
}
/** A call of a hosted tool, which the provider runs itself; never a call of the client's tools. */
export interface HostedCall extends WithPayload {
  readonly type: 'hostedCall'
  readonly tool: HostedToolName | 'other'
  /** For a tool of an MCP server: the server and the tool. */
  readonly mcp?: { readonly server: string; readonly tool: string }
  readonly id: string
  /** The query, the code or the URL. */
  readonly input: Json
  readonly output?: Json
  /** Pages that the tool found. */
  readonly sources?: readonly Citation[]
  readonly error?: string
  /** The provider's own items, sent back to this provider only. */
  readonly raw?: { readonly origin: string; readonly items: readonly Json[] }
  /** The place of a user's content of an unknown type; it is refused for other providers. */
  readonly at?: string
}
/** The source of a span of text. Offsets count UTF-16 units of that text. */
export interface Citation {
  readonly url?: string
  readonly title?: string
  /** The cited words. */
  readonly quote?: string
  readonly start?: number
  readonly end?: number
  /** The index of a document of the prompt, if the citation has no URL. */
  readonly document?: number
  readonly file?: string
  readonly payload?: OpaquePayload
}

/** Tools that the provider runs itself. */
export type HostedToolName =
  | 'web_search'
  | 'web_fetch'
  | 'code_execution'
  | 'file_search'
  | 'url_context'
  | 'image_generation'
