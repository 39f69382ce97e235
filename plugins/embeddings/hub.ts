/** Embeddings between two wire formats: what is asked and what is answered, whoever asks and whoever answers. Types only. */
import type { Json } from '../../engine/plugin.ts'
import type { Media, Text } from '../formats/content.ts'
import type { Fields } from '../formats/fields.ts'
import type { Meters } from '../slots.ts'

/** One vector is wanted for each. */
export type Item =
  | { readonly type: 'content'; readonly content: readonly (Text | Media)[] }
  /** Numbers of tokens, which only their own provider can read. */
  | { readonly type: 'tokens'; readonly tokens: readonly number[] }

export interface Wanted {
  readonly items: readonly Item[]
  readonly dimensions?: number
  /** `base64`: 32-bit floats, little end first. */
  readonly encoding: 'float' | 'base64'
  /** What the vectors are for, in the words of formats that ask. */
  readonly task?: string
  readonly title?: string
  readonly user?: string
  /** Whether the answer is a list where one item was asked for. */
  readonly many: boolean
}
export interface Vectors {
  readonly vectors: readonly (readonly number[])[]
  /** Absent where the upstream counted nothing. */
  readonly meters?: Meters
}
interface Loss {
  drop(field: string): void
}

/** Both sides of one wire format. */
export interface EmbeddingFormat {
  readonly name: string
  readonly dialect: 'openai' | 'google'
  /** The format of `plugins/formats` whose errors its upstreams write. */
  readonly errors: string
  /** `path`: of the client's request, which may name the verb. */
  read(body: Fields, path: string): Wanted
  /** For an upstream that knows the model as `name`. */
  write(wanted: Wanted, name: string, loss: Loss): { readonly path: string; readonly body: Json }
  readAnswer(body: Fields): Vectors
  writeAnswer(vectors: Vectors, wanted: Wanted, model: string): Json
}
