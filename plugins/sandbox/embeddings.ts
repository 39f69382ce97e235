/** Embeddings of the sandbox in OpenAI's and Google's format: unit vectors, the same for the same
 *  text. */
import { createHash } from 'node:crypto'
import type { Json } from '../../engine/plugin.ts'
import { estimatePromptTokens } from '../formats/prompt-tokens.ts'
import type { CannedResult } from './canned-result.ts'
import { type Fields, fieldsIn, listIn, numberIn, textIn } from './sandbox-format.ts'

/** Maximum of numbers in one answer. */
const MAX_NUMBERS = 2 ** 20
/** Numbers of a vector if the request sets none, as the providers of these models send them. */
const SIZES: Readonly<Record<string, number>> = {
  'multimodal-embedding-v1': 1_024,
  'text-embedding-3-large': 3_072,
  'gemini-embedding-001': 3_072,
}
const DEFAULT_SIZE = { openai: 1_536, google: 768 }
/** `model`: the upstream's name. */
const sizeOf = (model: string, format: keyof typeof DEFAULT_SIZE): number =>
  (Object.hasOwn(SIZES, model) && SIZES[model]) || DEFAULT_SIZE[format]

export const openaiEmbeddings: CannedResult = {
  path: /\/embeddings$/,
  plain(body) {
    const { input } = body
    const many = Array.isArray(input) && typeof input[0] !== 'number'
    const items = many ? listIn(input) : [input ?? '']
    const size = numberIn(body.dimensions) ?? sizeOf(textIn(body.model), 'openai')
    const vectors = vectorsOf(items.map(item => ({ item, size })))
    const isBase64 = body.encoding_format === 'base64'
    const tokens = tokensOf(items)
    return (
      vectors && {
        object: 'list',
        data: vectors.map((vector, index) => ({
          object: 'embedding',
          index,
          embedding: isBase64 ? base64(vector) : [...vector],
        })),
        model: textIn(body.model),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }
    )
  },
}

export const googleEmbeddings: CannedResult = {
  path: /:(?:embedContent|batchEmbedContents)$/,
  plain(body, path) {
    const many = path.endsWith(':batchEmbedContents')
    const requests = many ? listIn(body.requests).map(fieldsIn) : [body]
    const items = requests.map(({ content }) => content ?? '')
    const usual = sizeOf(/\/([^/:]+):\w+$/.exec(path)?.[1] ?? '', 'google')
    const vectors = vectorsOf(
      requests.map(({ content, outputDimensionality, output_dimensionality }) => ({
        item: content ?? '',
        size: numberIn(outputDimensionality) ?? numberIn(output_dimensionality) ?? usual,
      })),
    )
    if (!vectors) return undefined
    const rows = vectors.map(vector => ({ values: [...vector] }))
    const usage: Fields = { usageMetadata: { promptTokenCount: tokensOf(items) } }
    return many ? { embeddings: rows, ...usage } : { embedding: rows[0] ?? null, ...usage }
  },
}

const vectorsOf = (
  inputs: readonly { readonly item: Json; readonly size: number }[],
): readonly Float32Array[] | undefined =>
  inputs.every(({ size }) => Number.isInteger(size) && size >= 1) &&
  inputs.reduce((sum, { size }) => sum + size, 0) <= MAX_NUMBERS
    ? inputs.map(({ item, size }) => vectorOf(JSON.stringify(item), size))
    : undefined
/** A unit vector that depends only on the text. */
const vectorOf = (text: string, size: number): Float32Array => {
  let state = createHash('sha256').update(text).digest().readUInt32LE(0)
  const vector = Float32Array.from({ length: size }, () => {
    // The generator of Numerical Recipes: it only has to be deterministic.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  })
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map(value => value / length)
}
const base64 = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
const tokensOf = (items: readonly Json[]): number =>
  Math.max(1, estimatePromptTokens({ contents: items }, 0))
