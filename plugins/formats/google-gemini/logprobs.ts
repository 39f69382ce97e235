/** Converts log probabilities between Google's two lists and the hub's list of tokens (OpenAI's
 *  shape). */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, inner, isFields, itemsIn, wordIn } from '../fields.ts'

/** `{content: [{token, logprob, bytes, top_logprobs}], refusal}` */
export const readLogprobs = (candidate: Fields): Json | undefined => {
  const result = inner(candidate, 'logprobsResult')
  const chosen = itemsIn(result, 'chosenCandidates')
  if (chosen.length === 0) return undefined
  const others = itemsIn(result, 'topCandidates')
  return {
    content: chosen.map((each, index) => ({
      ...tokenOf(each),
      top_logprobs: itemsIn(others[index] ?? {}, 'candidates').map(tokenOf),
    })),
    refusal: null,
  }
}
const tokenOf = (each: Fields): Fields => {
  const token = wordIn(each, 'token') ?? ''
  const { logProbability: logprob } = each
  return {
    token,
    logprob: typeof logprob === 'number' ? logprob : -9999,
    bytes: [...Buffer.from(token)],
  }
}

export const writeLogprobs = (logprobs: Json | undefined): Fields => {
  const tokens = isFields(logprobs) ? itemsIn(logprobs, 'content') : []
  if (tokens.length === 0) return {}
  const writeToken = (each: Fields): Fields => ({
    token: each.token ?? '',
    logProbability: each.logprob ?? 0,
  })
  return {
    logprobsResult: {
      chosenCandidates: tokens.map(writeToken),
      topCandidates: tokens.map(each => ({
        candidates: itemsIn(each, 'top_logprobs').map(writeToken),
      })),
    },
  }
}
