/** Reads answers of generateContent without our codec, as a client of the format does. */
import type { Json } from '../../../../engine/plugin.ts'
import type { Answer } from '../../../../plugins/formats/hub/answer.ts'

interface GeminiPart {
  readonly text?: string
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: {
    readonly name?: string
    readonly args?: Json
    readonly partialArgs?: readonly { readonly [key: string]: Json }[]
  }
}
interface Candidate {
  readonly content?: { readonly parts?: readonly GeminiPart[] }
  readonly finishReason?: string
  readonly groundingMetadata?: {
    readonly groundingChunks?: readonly { readonly [kind: string]: { readonly uri?: string } }[]
    readonly groundingSupports?: readonly {
      readonly segment: { readonly startIndex?: number; readonly endIndex: number }
      readonly groundingChunkIndices: readonly number[]
    }[]
  }
}
export interface Gemini {
  readonly candidates?: readonly Candidate[]
  readonly promptFeedback?: { readonly blockReason?: string }
  readonly usageMetadata?: { readonly [name: string]: number }
  readonly request: {
    readonly contents: readonly { readonly role: string; readonly parts: readonly Json[] }[]
    readonly systemInstruction?: { readonly parts: Json }
    readonly generationConfig?: {
      readonly [name: string]: Json
      readonly thinkingConfig: { readonly thinkingLevel: string }
    }
    readonly toolConfig?: {
      readonly includeServerSideToolInvocations?: boolean
      readonly functionCallingConfig?: { readonly mode?: string }
    }
    readonly tools?: readonly { readonly functionDeclarations?: readonly Json[] }[]
    readonly modelArmorConfig?: Json
  }
}

/** Facts that a client reads: text, thoughts, calls in order, cited spans with their sources, and
 *  the total usage. */
export interface Facts {
  readonly text: string
  readonly thoughts: string
  readonly calls: readonly { readonly name: string; readonly args: Json }[]
  readonly signatures: readonly string[]
  readonly citations: readonly (readonly [words: string, source: string])[]
  readonly total: number
}

export const readDirectly = (chunks: readonly Gemini[]): Facts => {
  const candidates = chunks.flatMap(chunk => chunk.candidates ?? [])
  const parts = candidates.flatMap(({ content }) => content?.parts ?? [])
  const text = textOf(parts, false)
  return {
    text,
    thoughts: textOf(parts, true),
    calls: callsIn(parts),
    signatures: parts.flatMap(each => each.thoughtSignature ?? []),
    citations: candidates.flatMap(each => citationsIn(each, text)).sort(),
    total: Math.max(0, ...chunks.map(({ usageMetadata: usage }) => usage?.totalTokenCount ?? 0)),
  }
}
const textOf = (parts: readonly GeminiPart[], thought: boolean): string =>
  parts
    .filter(part => (part.thought ?? false) === thought)
    .map(({ text = '' }) => text)
    .join('')

/** Values that arrive one by one belong to the last named call. */
const callsIn = (parts: readonly GeminiPart[]): Facts['calls'] => {
  const calls: { name: string; args: Json; texts: Map<string, Json> }[] = []
  for (const { functionCall: call } of parts) {
    if (call?.name !== undefined)
      calls.push({ name: call.name, args: call.args ?? {}, texts: new Map() })
    for (const value of call?.partialArgs ?? []) {
      const texts = calls.at(-1)?.texts
      const path = String(value.jsonPath)
      const current = texts?.get(path)
      const { stringValue, numberValue, boolValue = null } = value
      if (stringValue === undefined) texts?.set(path, numberValue ?? boolValue)
      else texts?.set(path, (current ?? '') + String(stringValue))
    }
  }
  return calls.map(({ name, args, texts }) => ({ name, args: flattenArgs(args, texts) }))
}
/** Flattens arguments to paths, so that both ways of sending them compare. */
const flattenArgs = (args: Json, texts: ReadonlyMap<string, Json>): Json => {
  const paths: [string, Json][] = [...texts]
  const walk = (value: Json, path: string): void => {
    if (typeof value !== 'object' || value === null) return void paths.push([path, value])
    for (const [key, each] of Object.entries(value))
      walk(each, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
  }
  walk(args, '$')
  return paths.sort(([one], [other]) => (one < other ? -1 : 1)) as Json
}

const citationsIn = ({ groundingMetadata }: Candidate, text: string): Facts['citations'] => {
  const { groundingChunks = [], groundingSupports = [] } = groundingMetadata ?? {}
  const bytes = Buffer.from(text)
  return groundingSupports.flatMap(({ segment, groundingChunkIndices }) =>
    groundingChunkIndices.flatMap((index): Facts['citations'] => {
      const [source] = Object.values(groundingChunks[index] ?? {})
      if (!source) return []
      const words = bytes.subarray(segment.startIndex ?? 0, segment.endIndex).toString()
      return [[words, String(source.uri ?? Object.values(source).at(-1))]]
    }),
  )
}
export const finishOf = (chunks: readonly Gemini[]): string | undefined =>
  chunks
    .flatMap(chunk => chunk.candidates ?? [])
    .map(each => each.finishReason)
    .findLast(Boolean)

/** The same facts of an answer in the hub. */
export const factsOfAnswer = ({ choices, meters = {} }: Answer): Facts => ({
  ...factsOfChoices(choices),
  total: Object.values(meters).reduce((sum, amount) => sum + amount, 0),
})
export const factsOfChoices = (choices: Answer['choices']): Omit<Facts, 'total'> => {
  const contents = choices.flatMap(({ content }) => content)
  const textOfType = (type: string): string =>
    contents.map(each => (each.type === type && 'text' in each ? each.text : '')).join('')
  return {
    text: textOfType('text'),
    thoughts: textOfType('thought'),
    calls: contents.flatMap(each =>
      each.type === 'call'
        ? [{ name: each.name, args: flattenArgs(JSON.parse(each.input) as Json, new Map()) }]
        : [],
    ),
    signatures: contents.flatMap(signaturesOf),
    citations: contents
      .flatMap(each =>
        each.type === 'text'
          ? (each.citations ?? []).map(
              ({ url, file, start = 0, end }): Facts['citations'][number] => [
                each.text.slice(start, end),
                String(url ?? file),
              ],
            )
          : [],
      )
      .sort(),
  }
}
const signaturesOf = (content: Answer['choices'][number]['content'][number]): readonly string[] => {
  if (content.type === 'hostedCall')
    return (content.raw?.items ?? []).flatMap(item => (item as GeminiPart).thoughtSignature ?? [])
  return 'payload' in content && content.payload ? [content.payload.data] : []
}

/** Normalises a request to the specification's names: camelCase, standard base64, JSON Schema. */
export const normaliseRequest = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(normaliseRequest)
  if (typeof value !== 'object' || value === null) return value
  const result: { [key: string]: Json } = {}
  for (const [name, each] of Object.entries(value as { [key: string]: Json })) {
    const key = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    if (OPAQUE.has(key)) result[key] = each
    else if (key === 'data' && typeof each === 'string')
      result[key] = Buffer.from(each, 'base64url').toString('base64')
    else if (key === 'parameters') result.parametersJsonSchema = lowerTypes(each)
    else result[key] = normaliseRequest(each)
  }
  return result
}
const OPAQUE = new Set(['args', 'response', 'parametersJsonSchema', 'responseJsonSchema'])
/** Converts schema types to lower case and omits `nullable`. */
const lowerTypes = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(lowerTypes)
  if (typeof value !== 'object' || value === null) return value
  const result: { [key: string]: Json } = {}
  for (const [key, each] of Object.entries(value as { [key: string]: Json })) {
    if (key === 'nullable') continue
    result[key] = key === 'type' && typeof each === 'string' ? each.toLowerCase() : lowerTypes(each)
  }
  return result
}
