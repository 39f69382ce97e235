/** Converts log probabilities: the hub has those of chat, `{content: [{token, logprob,
 *  top_logprobs: [{token, logprob}]}]}`; this format has lists side by side. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, isFields, lenientObjects, lenientText } from '../fields.ts'

const tokenOf = (entry: Fields): string => lenientText(entry, 'token') ?? ''

/** `offset`: of the first token in the text, in characters. */
export const writeLogprobs = (logprobs: Json | undefined, offset: number): Json => {
  const entries = isFields(logprobs) ? lenientObjects(logprobs, 'content') : []
  if (entries.length === 0) return null
  let position = offset
  return {
    tokens: entries.map(tokenOf),
    token_logprobs: entries.map(({ logprob = null }) => logprob),
    top_logprobs: entries.map(entry =>
      Object.fromEntries(
        lenientObjects(entry, 'top_logprobs').map(each => [tokenOf(each), each.logprob ?? null]),
      ),
    ),
    text_offset: entries.map(entry => {
      const start = position
      position += tokenOf(entry).length
      return start
    }),
  }
}

export const readLogprobs = (logprobs: Json | undefined): Json | undefined => {
  if (!isFields(logprobs) || !Array.isArray(logprobs.tokens)) return undefined
  const [values, alternatives] = [listIn(logprobs.token_logprobs), listIn(logprobs.top_logprobs)]
  const entry = (token: Json, logprob: Json | undefined): Fields => ({
    token,
    logprob: logprob ?? null,
    bytes: typeof token === 'string' ? [...Buffer.from(token)] : null,
  })
  const content = logprobs.tokens.map((token: Json, index: number) => {
    const others = alternatives[index] ?? null
    return {
      ...entry(token, values[index]),
      top_logprobs: Object.entries(isFields(others) ? others : {}).map(([name, value]) =>
        entry(name, value),
      ),
    }
  })
  return { content, refusal: null }
}
const listIn = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : [])
