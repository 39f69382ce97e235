/** Decodes an upstream's whole answer. */
import type { Answer } from '../answer.ts'
import { type Fields, isFields, lenientObjects, lenientText } from '../fields.ts'
import { contentOf } from './item.ts'
import { stopOf } from './stops.ts'
import { metersOf } from './usage.ts'

export const decodeAnswer = (body: Fields): Answer => {
  const content = lenientObjects(body, 'output').flatMap(contentOf)
  const tier = lenientText(body, 'service_tier')
  const types = content.map(({ type }) => type)
  return {
    ...factsOf(body),
    choices: [{ content, stop: stopOf(body, types), ...logprobsOf(body) }],
    ...(isFields(body.usage) && { meters: metersOf(body.usage) }),
    ...(tier !== undefined && { tier }),
  }
}
/** Members that are known when the answer begins. */
export const factsOf = (response: Fields): Pick<Answer, 'id' | 'model' | 'created'> => {
  const id = lenientText(response, 'id')
  const model = lenientText(response, 'model')
  const { created_at: created } = response
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    ...(typeof created === 'number' && { created }),
  }
}
/** The log probabilities of all texts, in the hub's shape. */
const logprobsOf = (body: Fields): Pick<Answer['choices'][number], 'logprobs'> => {
  const logprobs = lenientObjects(body, 'output')
    .flatMap(item => lenientObjects(item, 'content'))
    .flatMap(part => lenientObjects(part, 'logprobs'))
  return logprobs.length > 0 ? { logprobs: { content: logprobs, refusal: null } } : {}
}
