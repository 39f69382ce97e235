/** What a format can do beyond letting bytes pass: both directions of request, answer, stream and error, against the hub. */
import type { Bytes, Headers, Json } from '../../engine/plugin.ts'
import type { Answer, Part } from './answer.ts'
import type { Fields } from './fields.ts'
import type { Prompt } from './hub.ts'
import type { SseEvent } from './sse.ts'
import type { Upload } from './upload.ts'

/** What is known of a format that targets speak. */
export interface TargetCodec {
  /** For an upstream that speaks this format. What it cannot carry is told to `loss`; content that it cannot carry (a
   *  film for a reader of text) is refused with a fault, since leaving it out would change the question. */
  encodePrompt(prompt: Prompt, target: TargetFacts, loss: Loss): Sent
  decodeAnswer(body: Fields): Answer
  /** One closure for each stream. */
  decodeStream(): StreamDecoder
  /** An upstream's refusal, whatever it wrote; `body` is undefined where it was no JSON. */
  decodeError(status: number, body: Json | undefined): Refused
  /** How its upstreams take a file beside a request. */
  readonly upload?: Upload
  /** Of a format whose targets only draw. */
  readonly drawing?: Drawing
  /** Its upstreams run tools themselves (a search, code): a target of several formats is asked for such in this one. */
  readonly runsTools?: boolean
}

/** What is known of a format that clients speak, too. */
export interface Codec extends TargetCodec {
  /** A client's request. What the hub has no word for is told to `loss`. Throws a fault that names the field where the
   *  request makes no sense in this format. `path` as the client wrote it, query and all. */
  decodePrompt(body: Fields, path: string, loss: Loss): Prompt
  encodeAnswer(answer: Answer, context: Context): Fields
  encodeStream(context: Context): StreamEncoder
  /** Whether this request says something in words of ours that upstreams of this format do not know (a preset tool, a film
   *  by an image's address), or asks more of this target than it does at once: then its bytes cannot pass as they are. */
  needsReading?(body: Fields, traits: TargetFacts['traits']): boolean
  /** Its clients have no field of their own for thoughts and signatures, and many do not give back what they do not know. */
  readonly forgets?: boolean
  /** Hub name of a setting, or of `thinking`, `form` and `choice` -> the name it has here, for `loss` to call it as the client did. */
  readonly settings: Readonly<Record<string, string>>
}

/** How a conversation becomes one request for images. */
export interface Drawing {
  /** Members of the client's body that are read here, whatever the client's format. */
  readonly takes: ReadonlySet<string>
  /** One user turn: what is to be drawn, and the images it starts from. Only these are fetched. */
  reduce(prompt: Prompt, target: TargetFacts, loss: Loss): Prompt
  /** The answers to all requests that one was split into, as one. */
  join(bodies: readonly Fields[]): Fields
}

/** What goes to the upstream. `path` is relative to the version prefix its clients write: `/v1/chat/completions`. */
export interface Sent {
  readonly path: string
  /** Bytes: of the content type in `headers`. */
  readonly body: Fields | Bytes
  readonly headers?: Headers
  /** What one call does not give: asked once the first was granted. */
  readonly more?: readonly Sent[]
}

/** What is known of a target: from its entry in `models:`. */
export interface TargetFacts {
  /** The model by the upstream's own name. */
  readonly name: string
  /** The most it writes, tokens. */
  readonly output?: number
  readonly traits: { readonly [key: string]: Json }
}

/** Collects what a target cannot carry, by the names the client used. */
export interface Loss {
  /** `field`: as the client wrote it, or the hub's name of a setting. */
  drop(field: string): void
}

/** What an encoder of answers must know of the request. */
export interface Context {
  /** `req_…` of the exchange without its prefix: ids that the format wants are made of it. */
  readonly id: string
  /** The model by the name the client asked for. */
  readonly model: string
  /** Seconds since 1970. */
  readonly now: number
  readonly prompt: Prompt
  /** Path and query of the client's request: some formats choose the framing there. */
  readonly path: string
}

/** Takes the events of an upstream one by one. Knows its terminator: `end` is emitted once, and nothing behind it. */
export interface StreamDecoder {
  event(event: SseEvent, emit: (part: Part) => void): void
  /** The upstream closed without its terminator: true where nothing but that was missing; then it has emitted `end`. */
  close(emit: (part: Part) => void): boolean
}

/** Writes a client's stream. Takes every part in the order it came; returns the bytes it makes, '' for none. */
export interface StreamEncoder {
  /** The content type, where it is not that of server-sent events. */
  readonly type?: string
  /** Of the part `end`: what completes the stream, kept back until the charge is durable. */
  part(part: Part): string
  /** Ends it in an error instead. `body`: the error as the client's dialect writes it. */
  fail(body: Fields): string
}

/** A refusal of an upstream. `code` and `param` as far as it told them. */
export interface Refused {
  readonly status: number
  readonly message: string
  readonly type?: string
  readonly code?: string
  readonly param?: string
  /** Seconds after which another try may do, where the body says so. */
  readonly wait?: number
}
