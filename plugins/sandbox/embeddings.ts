/** The sandbox's embeddings, in OpenAI's format and in Google's: unit vectors, the same for the same words. */
import { createHash } from 'node:crypto'
import type { Json } from '../../engine/plugin.ts'
import type { Still } from './still.ts'
import { type Fields, fieldsIn, listIn, numberIn, textIn } from './voice.ts'

/** Numbers of one answer. */
const MOST = 2 ** 20
const USUAL = { openai: 1_536, google: 768 }

export const openaiEmbeddings: Still = {
  path: /\/embeddings$/,
  plain(body) {
    const { input } = body
    const many = Array.isArray(input) && typeof input[0] !== 'number'
    const items = many ? listIn(input) : [input ?? '']
    const size = numberIn(body.dimensions) ?? USUAL.openai
    const vectors = vectorsOf(items.map(item => ({ item, size })))
    const packed = body.encoding_format === 'base64'
    const tokens = tokensOf(items)
    return (
      vectors && {
        object: 'list',
        data: vectors.map((vector, index) => ({
          ...{ object: 'embedding', index },
          embedding: packed ? base64(vector) : [...vector],
        })),
        model: textIn(body.model),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      }
    )
  },
}

export const googleEmbeddings: Still = {
  path: /:(?:embedContent|batchEmbedContents)$/,
  plain(body, path) {
    const many = path.endsWith(':batchEmbedContents')
    const requests = many ? listIn(body.requests).map(fieldsIn) : [body]
    const items = requests.map(({ content }) => content ?? '')
    const vectors = vectorsOf(
      requests.map(({ content, outputDimensionality, output_dimensionality }) => ({
        item: content ?? '',
        size: numberIn(outputDimensionality) ?? numberIn(output_dimensionality) ?? USUAL.google,
      })),
    )
    if (!vectors) return undefined
    const rows = vectors.map(vector => ({ values: [...vector] }))
    const usage: Fields = { usageMetadata: { promptTokenCount: tokensOf(items) } }
    return many ? { embeddings: rows, ...usage } : { embedding: rows[0] ?? null, ...usage }
  },
}

const vectorsOf = (
  wanted: readonly { readonly item: Json; readonly size: number }[],
): readonly Float32Array[] | undefined =>
  wanted.every(({ size }) => Number.isInteger(size) && size >= 1) &&
  wanted.reduce((sum, { size }) => sum + size, 0) <= MOST
    ? wanted.map(({ item, size }) => vectorOf(JSON.stringify(item), size))
    : undefined
/** A direction that the words alone decide. */
const vectorOf = (words: string, size: number): Float32Array => {
  let state = createHash('sha256').update(words).digest().readUInt32LE(0)
  const vector = Float32Array.from({ length: size }, () => {
    // Numerical Recipes' generator: all that is wanted of it is that it repeats itself.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  })
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map(value => value / length)
}
const base64 = (vector: Float32Array): string =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
const tokensOf = (items: readonly Json[]): number =>
  Math.max(1, Math.ceil(JSON.stringify(items).length / 4))
