/** Converts log probabilities between Google's two lists and the hub's list of tokens (OpenAI's
 *  shape). */
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields, lenientObject, lenientObjects, lenientText } from '../../fields.ts'

/** `{content: [{token, logprob, bytes, top_logprobs}], refusal}` */
export const readLogprobs = (candidate: Fields): Json | undefined => {
  const result = lenientObject(candidate, 'logprobsResult')
  const chosenTokens = lenientObjects(result, 'chosenCandidates')
  if (chosenTokens.length === 0) return undefined
  const alternatives = lenientObjects(result, 'topCandidates')
  return {
    content: chosenTokens.map((each, index) => ({
      ...tokenOf(each),
      top_logprobs: lenientObjects(alternatives[index] ?? {}, 'candidates').map(tokenOf),
    })),
    refusal: null,
  }
}
const tokenOf = (each: Fields): Fields => {
  const token = lenientText(each, 'token') ?? ''
  const { logProbability: logprob } = each
  return {
    token,
    logprob: typeof logprob === 'number' ? logprob : -9999,
    bytes: [...Buffer.from(token)],
  }
}

export const writeLogprobs = (logprobs: Json | undefined): Fields => {
  const tokens = isFields(logprobs) ? lenientObjects(logprobs, 'content') : []
  if (tokens.length === 0) return {}
  const writeToken = (each: Fields): Fields => ({
    token: each.token ?? '',
    logProbability: each.logprob ?? 0,
  })
  return {
    logprobsResult: {
      chosenCandidates: tokens.map(writeToken),
      topCandidates: tokens.map(each => ({
        candidates: lenientObjects(each, 'top_logprobs').map(writeToken),
      })),
    },
  }
}
