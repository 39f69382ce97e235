/** Hub types of embeddings: requests and answers independent of the wire format. */
import type { Bytes, Json, Target } from '../../engine/plugin.ts'
import type { EmbeddingName } from '../formats/embedding.ts'
import type { Fields } from '../formats/fields.ts'
import type { DroppedFields } from '../formats/hub/codec.ts'
import type { Media, Text } from '../formats/hub/content.ts'
import { checkInlineMedia } from '../formats/media/inline-media.ts'
import type { Meters, Served } from '../slots.ts'

/** A setting, and its path in the client's request: `requests[1].taskType`. */
export interface Setting<T> {
  readonly value: T
  readonly path: string
}
/** An input; each results in one vector. */
export type EmbeddingInput = VectorSettings &
  (
    | { readonly type: 'content'; readonly content: readonly (Text | Media)[] }
    /** Token ids, which only their provider can read. */
    | { readonly type: 'tokens'; readonly tokens: readonly number[] }
  )
/** The settings of one vector. */
interface VectorSettings {
  readonly dimensions?: Setting<number>
  /** The task type, in formats that have one. */
  readonly task?: Setting<string>
  readonly title?: Setting<string>
}
export interface EmbeddingPrompt {
  readonly items: readonly EmbeddingInput[]
  /** `base64`: 32-bit floats, little-endian. */
  readonly encoding: 'float' | 'base64'
  readonly user?: string
  /** Whether the answer is a list even for one item. */
  readonly isList: boolean
}
/** Throws DATA_BROKEN. */
export const checkInlineInputs = ({ items }: EmbeddingPrompt): void => {
  for (const item of items)
    if (item.type === 'content')
      checkInlineMedia(item.content.filter(part => part.type === 'media'))
}
export interface EmbeddingAnswer {
  readonly vectors: readonly (readonly number[])[]
  /** Absent if the upstream reported no usage. */
  readonly meters?: Meters
  /** How the upstream says that the answer was made. */
  readonly served?: Served
}

/** A client's request. */
export interface ClientRequest {
  readonly body: Fields
  /** Path of the request, which contains the method in some formats. */
  readonly path: string
  /** The model's name as the client sent it. */
  readonly model: string
}

/** The limits of requests to a target. */
type EmbeddingTraits = NonNullable<Target['traits']>

/** Reads and writes one wire format. */
export interface EmbeddingFormat {
  readonly name: EmbeddingName
  readonly dialect: 'openai' | 'google'
  /** The format in `plugins/formats` of the upstreams' errors. */
  readonly errors: string
  /** JSON Schema of responses; `path`: of the route. */
  schema(path: string): Json
  /** Reports fields that the hub does not support to `loss`. */
  readRequest(request: ClientRequest, loss: DroppedFields): EmbeddingPrompt
  /** The request for an upstream. `name`: the upstream's name of the model. */
  writeRequest(
    prompt: EmbeddingPrompt,
    name: string,
    loss: DroppedFields,
    traits: EmbeddingTraits,
  ): { readonly path: string; readonly body: Json }
  /** The request for an upstream of the client's format: the client's bytes with the upstream's
   *  model name. */
  passThrough(
    request: ClientRequest & { readonly bytes: Bytes },
    prompt: EmbeddingPrompt,
    name: string,
    traits: EmbeddingTraits,
  ): { readonly path: string; readonly body: Bytes }
  readAnswer(body: Fields): EmbeddingAnswer
  writeAnswer(vectors: EmbeddingAnswer, prompt: EmbeddingPrompt, model: string): Json
}
