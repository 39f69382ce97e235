/** Formats of embedding targets, by the names that routes and upstreams use in their options. */
import { lookUp } from './fields.ts'

/** The endpoint name in model lists. */
export const EMBEDDINGS = 'embeddings'

const FORMAT_NAMES = { openai: 'openai-embeddings', google: 'google-embeddings' } as const
export type EmbeddingName = keyof typeof FORMAT_NAMES

export const embeddingNames = Object.keys(FORMAT_NAMES) as readonly EmbeddingName[]
export const embeddingFormats: readonly string[] = Object.values(FORMAT_NAMES)

/** The format in which to call a target: the first that it supports, or `fallback` for a target
 *  that lists no formats. Undefined: the target supports no embeddings. */
export const embeddingFormatFor = (
  formatNames: readonly string[],
  fallback: EmbeddingName = 'openai',
): EmbeddingName | undefined =>
  formatNames.length === 0
    ? fallback
    : embeddingNames.find(name => formatNames.includes(FORMAT_NAMES[name]))

/** Looks up the value of an option of a route or an upstream. */
export const embeddingFormatNamed = (name: string): EmbeddingName | undefined =>
  lookUp(FORMAT_NAMES, name) && (name as EmbeddingName)
