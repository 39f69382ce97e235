/** Translation between a format and the hub, in both directions: requests, answers, streams and
 *  errors. */
import type { Bytes, Headers, Json } from '../../../engine/plugin.ts'
import type { Fields } from '../fields.ts'
import type { MediaPlace } from '../media/media-places.ts'
import type { Upload } from '../media/upload.ts'
import type { SseEvent } from '../stream/sse.ts'
import type { Answer, Part } from './answer.ts'
import type { HostedTool, Prompt } from './prompt.ts'

/** Translation for targets of a format. */
export interface TargetCodec {
  /** Encodes a request for an upstream of this format. Reports fields that the format cannot carry
   *  to `dropped`. Throws a fault for content that it cannot carry (a video for a text model),
   *  because omitting content would change the question. */
  encodePrompt(prompt: Prompt, target: TargetFacts, dropped: DroppedFields): UpstreamRequest
  decodeAnswer(body: Fields): Answer
  /** Creates a decoder for one stream. */
  decodeStream(): StreamDecoder
  /** Decodes an upstream's error reply of any shape; `body` is undefined if it was not JSON. */
  decodeError(status: number, body: Json | undefined): UpstreamError
  /** How upstreams of this format accept a file outside the request. */
  readonly upload?: Upload
  /** Present if targets of this format only generate images. */
  readonly imageGeneration?: ImageGeneration
  /** True if upstreams of this format run hosted tools (web search, code). For a request with
   *  hosted tools, a target that supports several formats is called in this one. */
  readonly runsHostedTools?: boolean
  /** True if a request of this format may continue an earlier answer that its upstream stores. */
  readonly continuesAnswers?: boolean
  /** The names of the service tiers that requests of this format take; others get their usual name,
   *  or are left out. Absent: the encoder knows. */
  readonly tiers?: ReadonlySet<string>
  /** True if system turns of this format hold media. */
  readonly takesSystemMedia?: boolean
  /** Whether upstreams of this format open a URL that serves no media: a page of a video. Such a
   *  URL is not fetched. */
  opensUrl?(url: string): boolean
  /** Which tools upstreams of this format accept. Absent: none, or only their own. */
  readonly tools?: ToolSupport
}

export interface ToolSupport {
  readonly format: string
  readonly names: ToolNameRule
  /** Whether upstreams run this tool. */
  runs(tool: HostedTool): boolean
  /** Whether this model accepts tools with free text. Absent: none does. */
  takesFreeText?(target: TargetFacts): boolean
  /** Whether this model accepts hosted tools beside functions. Absent: every model does. */
  mixesTools?(target: TargetFacts): boolean
}
/** The tool names that a format accepts. */
export interface ToolNameRule {
  /** Every character that is not allowed; a global expression. */
  readonly invalid: RegExp
  readonly maxLength: number
}

/** Translation for clients and targets of a format. */
export interface Codec extends TargetCodec {
  /** Decodes a client's request. Reports fields that the hub has no equivalent for to `dropped`.
   *  Throws a fault that names the field if the request is invalid in this format. `path`: the
   *  client's path with its query. */
  decodePrompt(body: Fields, path: string, dropped: DroppedFields): Prompt
  encodeAnswer(answer: Answer, context: EncodeContext): Fields
  encodeStream(context: EncodeContext): StreamEncoder
  /** Whether the gateway must translate this request although client and target use the same
   *  format: it uses the gateway's own extensions (a preset tool, a video given as an image URL),
   *  or asks for more than this target does in one call. */
  needsTranslation?(body: Fields, traits: TargetFacts['traits']): boolean
  /** Whether a target of this format needs the request in another form of the same format. */
  needsRewriting?(body: Fields, traits: TargetFacts['traits']): boolean
  /** The media of a request. Absent: its targets judge them themselves. */
  mediaIn?(body: Fields): readonly MediaPlace[]
  /** Whether the client of this request expects generated images as URLs. Absent: in the form that
   *  the target sends. */
  expectsImageUrls?(body: Fields): boolean
  /** True if the format has no field for thoughts and signatures, so that many clients do not send
   *  them back. */
  readonly losesSignatures?: boolean
  /** Hub name of a setting, or `turns`, `thinking`, `form`, `choice` -> its name in this format.
   *  Reports of dropped fields use the client's names. */
  readonly settings: Readonly<Record<string, string>>
}

/** Reduces a conversation to a request for images. */
export interface ImageGeneration {
  /** Fields of the client's body that this format accepts, whatever the client's format. */
  readonly acceptedFields: ReadonlySet<string>
  /** Reduces a prompt to one user turn: the description and the source images. Only these images
   *  are downloaded. */
  reducePrompt(prompt: Prompt, target: TargetFacts, dropped: DroppedFields): Prompt
  /** Joins the answers to all requests that one prompt was split into. */
  joinAnswers(bodies: readonly Fields[]): Fields
  /** The base64 of the images inside an answer, by their positions. */
  inlineImages(body: Fields): ReadonlyMap<number, string>
  /** The answer with URLs in place of the images at these positions. */
  replaceImages(body: Fields, urls: ReadonlyMap<number, string>): Fields
}

/** The request for the upstream. `path` starts with the version prefix that clients use:
 *  `/v1/chat/completions`. */
export interface UpstreamRequest {
  readonly path: string
  /** If bytes: `headers` names their content type. */
  readonly body: Fields | Bytes
  readonly headers?: Headers
  /** Further requests for the rest of the answer, sent after the first succeeded. */
  readonly followUps?: readonly UpstreamRequest[]
}

/** Properties of a target, from its entry in `models:`. */
export interface TargetFacts {
  /** The upstream's name of the model. */
  readonly name: string
  /** The maximum output, in tokens. */
  readonly maxOutput?: number
  readonly traits: { readonly [key: string]: Json }
}

/** Collects the names of the client's fields that the target cannot carry. */
export interface DroppedFields {
  /** `field`: the client's name, or the hub's name of a setting. */
  add(field: string): void
}

/** The facts about a request that encoders of its answer need. */
export interface EncodeContext {
  /** The exchange's id without its `req_` prefix; the format's own ids derive from it. */
  readonly id: string
  /** The client's name of the model. */
  readonly model: string
  /** Seconds since 1970. */
  readonly now: number
  readonly prompt: Prompt
  /** Path and query of the client's request; some formats select the framing by it. */
  readonly path: string
  /** The service tier that the answer named so far, if it is one that every format names. */
  servedTier?(): string | undefined
}

/** Decodes the events of an upstream's stream one by one. Emits `end` exactly once, at the format's
 *  terminator, and nothing after it. */
export interface StreamDecoder {
  push(event: SseEvent, emit: (part: Part) => void): void
  /** For formats without a terminator: the answer is complete if no more events come. */
  readonly mayHaveEnded?: boolean
  /** Called when the upstream closed without a terminator. If only the terminator is missing, emits
   *  `end` and returns true. */
  close(emit: (part: Part) => void): boolean
}

/** Encodes a client's stream: takes every part in order and returns the text to send, '' for
 *  none. */
export interface StreamEncoder {
  /** The content type, if not that of server-sent events. */
  readonly type?: string
  /** For the part `end` it returns the end of the stream, which is held back until the charge is
   *  durable. */
  push(part: Part): string
  /** Ends the stream with an error instead. `body`: the error in the client's dialect. */
  failure(body: Fields): string
}

/** An upstream's error. `code` and `param`: if the upstream sent them. */
export interface UpstreamError {
  readonly status: number
  readonly message: string
  readonly type?: string
  readonly code?: string
  readonly param?: string
  /** Seconds after which to retry, if the body names them. */
  readonly retryAfter?: number
}
