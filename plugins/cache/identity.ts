/** The identity of a request: the request as its upstream gets it, in the hub, so that all formats
 *  of clients share one entry; and requests that are never answered from the cache. Pure. */
import { createHash } from 'node:crypto'
import { canonicalJson, isFields, parseJson } from '../formats/fields.ts'
import type { Codec } from '../formats/hub/codec.ts'
import { isRunByProvider, type Prompt } from '../formats/hub/prompt.ts'
import { type LastText, numbersIn } from './last-text.ts'

export interface IdentityRules {
  readonly anyTemperature: boolean
}

/** The request that an attempt sends; undefined: it cannot be answered from the cache. */
export const promptOf = (
  codec: Codec,
  body: Uint8Array,
  path: string,
  { anyTemperature }: IdentityRules,
): Prompt | undefined => {
  const fields = parseJson(Buffer.from(body).toString())
  if (!isFields(fields)) return undefined
  let hasUnknown = false
  const dropped = {
    add() {
      hasUnknown = true
    },
  }
  try {
    const prompt = codec.decodePrompt(fields, path, dropped)
    // The hub does not have every member: two requests that differ there are not equal.
    return hasUnknown || !isStorable(prompt, anyTemperature) ? undefined : prompt
  } catch {
    return undefined
  }
}
const isStorable = ({ settings, tools, turns, previous }: Prompt, anyTemperature: boolean) => {
  const { temperature, candidates = 1, store, background, logprobs, modalities } = settings
  if (!anyTemperature && temperature !== 0) return false
  if (candidates > 1 || store === true || background || logprobs) return false
  if (settings.alternatives || settings.audio !== undefined) return false
  if (modalities?.some(each => each !== 'text') || previous) return false
  if (tools.some(isRunByProvider)) return false
  return turns.every(({ content }) => content.every(isPlain))
}
/** Text, thoughts and calls of the client's own tools with their results. Media that a
 *  URL or an id names may change. */
const isPlain = (content: Prompt['turns'][number]['content'][number]): boolean =>
  content.type === 'result'
    ? content.content.every(({ type }) => type === 'text')
    : content.type !== 'media' && content.type !== 'hostedCall'

/** Everything else that an answer depends on. */
export interface Scope {
  readonly account: number
  /** The member of the team; null: all of them, or the account itself. */
  readonly member: number | null
  readonly share: string
  /** The key in `models:`, and the upstream's name of the model. */
  readonly model: string
  readonly target: string
  /** The zones and the retention of the upstream: an answer of another zone is another one. */
  readonly place: readonly string[]
  /** The entry of the model with its price, and the guards, as they are configured. */
  readonly versions: readonly string[]
  /** Headers that change what an upstream answers. */
  readonly headers: readonly string[]
}

/** 64 hexadecimal digits. */
export const identityOf = (prompt: Prompt, scope: Scope): string =>
  hashOf(comparedIn(prompt, scope))
/** Equal for requests that differ in the last text of the user only, and whose texts have the same
 *  numbers. `embedding`: identifies the model whose vectors are compared. 64 hexadecimal digits. */
export const restIdentityOf = (
  { text, rest }: LastText,
  scope: Scope,
  embedding: readonly string[],
): string => hashOf({ ...comparedIn(rest, scope), numbers: numbersIn(text), embedding })

const hashOf = (value: object): string =>
  createHash('sha256').update(canonicalJson(value)).digest('hex')

const comparedIn = (prompt: Prompt, scope: Scope): object => {
  const {
    stream: _stream,
    includeUsage: _usage,
    clientNames: _names,
    body: _body,
    cache: _cache,
    settings,
    ...rest
  } = prompt
  const {
    user: _user,
    metadata: _metadata,
    cacheKey: _key,
    cacheOptions: _options,
    cacheRetention: _retention,
    store: _store,
    ...others
  } = settings
  return {
    scope,
    rest: {
      ...rest,
      turns: rest.turns.map(turn => ({ ...turn, content: turn.content.map(withoutHint) })),
      tools: rest.tools.map(withoutHint),
    },
    settings: others,
  }
}

/** Where a provider may cache the prompt says nothing about the answer. */
const withoutHint = <T extends object>(value: T): object => {
  const { cache: _, ...others } = value as T & { readonly cache?: unknown }
  return 'content' in others && Array.isArray(others.content)
    ? { ...others, content: others.content.map(withoutHint) }
    : others
}
