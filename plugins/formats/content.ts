/** The hub, second part: what turns and answers are made of. Types only. What only one provider can read (signatures,
 *  encrypted thoughts, raw items of its own tools) travels sealed. */
import type { Json } from '../../engine/plugin.ts'

export type Content = Text | Refused | Thought | Media | Call | Result | Work

interface Sealable {
  /** What its provider must get back unchanged, at the same place. */
  readonly seal?: Seal
  readonly cache?: Cache
}
/** Readable by one provider only. `origin`: the name of its format. */
export interface Seal {
  readonly origin: string
  readonly data: string
  /** Where the same provider seals in several ways. */
  readonly kind?: string
  /** The item it is bound to. */
  readonly id?: string
}
/** Where a provider that caches prompts on demand shall cut: `5m`, `1h`. */
export interface Cache {
  readonly ttl?: string
}

export interface Text extends Sealable {
  readonly type: 'text'
  readonly text: string
  readonly citations?: readonly Citation[]
}
/** What the model said instead of an answer. */
export interface Refused {
  readonly type: 'refusal'
  readonly text: string
}
/** The text may be empty where a seal carries it: it is no less a thought. */
export interface Thought extends Sealable {
  readonly type: 'thought'
  readonly text: string
}
export interface Media extends Sealable {
  readonly type: 'media'
  readonly kind: 'image' | 'document' | 'audio' | 'video'
  readonly source: Source
  /** low, high or auto: how closely an image is looked at. */
  readonly detail?: string
  readonly name?: string
  /** Of a document: what it is about, and whether it shall be cited. */
  readonly context?: string
  readonly cited?: boolean
  /** Of a video: `{startOffset, endOffset, fps}`. */
  readonly clip?: Json
  /** Of an image that was drawn: the prompt as its model revised it. */
  readonly revised?: string
  /** Of what is shown beside an image that is to be changed: transparent where. */
  readonly mask?: boolean
  /** Chat clients of its model read nothing but its address, or its base64. */
  readonly bare?: boolean
  /** Where in the client's request it stands, for a refusal to name: `messages[2].content[1]`. */
  readonly at?: string
}
/** `data`: standard base64. `file`: an id that only `origin` knows. */
export type Source =
  | { readonly type: 'data'; readonly data: string; readonly mime: string }
  | { readonly type: 'url'; readonly url: string; readonly mime?: string }
  | {
      readonly type: 'file'
      readonly file: string
      readonly origin: string
      readonly mime?: string
    }
  | { readonly type: 'text'; readonly text: string }

/** The model wants one of the client's tools. */
export interface Call extends Sealable {
  readonly type: 'call'
  readonly id: string
  readonly name: string
  /** JSON text, `{}` where there are none; of a free tool the text itself. */
  readonly input: string
  readonly free?: boolean
}
/** What a client's tool gave. */
export interface Result extends Sealable {
  readonly type: 'result'
  /** Of the call. */
  readonly id: string
  /** Of the tool, where the format says it or an earlier call of this id does. */
  readonly name?: string
  readonly content: readonly (Text | Media)[]
  /** Whole, where the format carries objects. */
  readonly value?: Json
  readonly failed?: boolean
  readonly free?: boolean
}
/** What a hosted tool did. Never a call of the client's. */
export interface Work extends Sealable {
  readonly type: 'work'
  readonly tool: HostedName | 'other'
  readonly id: string
  /** The query, the code, the address. */
  readonly input: Json
  readonly output?: Json
  /** Pages that were found. */
  readonly found?: readonly Citation[]
  readonly failed?: string
  /** As its provider wrote it, to be given back to it and to nobody else. */
  readonly raw?: { readonly origin: string; readonly items: readonly Json[] }
}
/** What stands behind a stretch of text. Offsets count UTF-16 units of the text they stand at. */
export interface Citation {
  readonly url?: string
  readonly title?: string
  /** The words that are cited. */
  readonly quote?: string
  readonly start?: number
  readonly end?: number
  /** A document of the prompt, where no address is cited. */
  readonly document?: number
  readonly file?: string
  readonly seal?: Seal
}

/** Tools that whoever answers runs himself. */
export type HostedName =
  | 'web_search'
  | 'web_fetch'
  | 'code_execution'
  | 'file_search'
  | 'url_context'
  | 'image_generation'
