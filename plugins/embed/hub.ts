/** Embeddings between two wire formats: what is asked and what is answered, whoever asks and whoever answers. Types only. */
import type { Bytes, Json } from '../../engine/plugin.ts'
import type { Loss } from '../formats/codec.ts'
import type { Media, Text } from '../formats/content.ts'
import type { EmbeddingName } from '../formats/embedding.ts'
import type { Fields } from '../formats/fields.ts'
import type { Meters } from '../slots.ts'

/** A setting, and where its client wrote it: `requests[1].taskType`. */
export interface Said<T> {
  readonly value: T
  readonly at: string
}
/** One vector is wanted for each. */
export type Item = Wish &
  (
    | { readonly type: 'content'; readonly content: readonly (Text | Media)[] }
    /** Numbers of tokens, which only their own provider can read. */
    | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  )
/** What is wanted of one vector. */
interface Wish {
  readonly dimensions?: Said<number>
  /** What it is for, in the words of formats that ask. */
  readonly task?: Said<string>
  readonly title?: Said<string>
}
export interface Wanted {
  readonly items: readonly Item[]
  /** `base64`: 32-bit floats, little end first. */
  readonly encoding: 'float' | 'base64'
  readonly user?: string
  /** Whether the answer is a list where one item was asked for. */
  readonly many: boolean
}
export interface Vectors {
  readonly vectors: readonly (readonly number[])[]
  /** Absent where the upstream counted nothing. */
  readonly meters?: Meters
}

/** A client's request as it came. */
export interface Sent {
  readonly body: Fields
  /** It may name the verb. */
  readonly path: string
  /** The model by the name that the client asked for. */
  readonly model: string
}

/** Both sides of one wire format. */
export interface EmbeddingFormat {
  readonly name: EmbeddingName
  readonly dialect: 'openai' | 'google'
  /** The format of `plugins/formats` whose errors its upstreams write. */
  readonly errors: string
  /** What the hub has no word for is told to `loss`. */
  read(sent: Sent, loss: Loss): Wanted
  /** For an upstream that knows the model as `name`. */
  write(wanted: Wanted, name: string, loss: Loss): { readonly path: string; readonly body: Json }
  /** For one that speaks the client's own format: what was sent, under its own name of the model. */
  pass(
    sent: Sent & { readonly bytes: Bytes },
    wanted: Wanted,
    name: string,
  ): { readonly path: string; readonly body: Bytes }
  readAnswer(body: Fields): Vectors
  writeAnswer(vectors: Vectors, wanted: Wanted, model: string): Json
}
