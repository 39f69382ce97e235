/** Decodes an upstream's whole answer, and encodes one for a client. */
import { type Fields, isFields, lenientObjects, lenientText } from '../fields.ts'
import type { Answer } from '../hub/answer.ts'
import { partsOf } from '../hub/answer-parts.ts'
import type { EncodeContext } from '../hub/codec.ts'
import { contentOf } from './answer/item.ts'
import { Output } from './answer/output.ts'
import { responseOf } from './answer/response-object.ts'
import { endingOf, stopOf } from './stops.ts'
import { offersSearch } from './tool-search.ts'
import { metersOf } from './usage.ts'

export { about } from './about.ts'

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

export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const output = new Output(context.id, offersSearch(context.prompt), () => undefined)
  // This format carries one answer only.
  const choices = answer.choices.slice(0, 1)
  for (const part of partsOf({ ...answer, choices })) if ('index' in part) output.add(part)
  const stop = choices[0]?.stop ?? { reason: 'filter' }
  if (stop.reason === 'refusal') output.addRefusal(stop.message)
  const ending = endingOf(stop, output.hasRefusal)
  output.finish(ending.status === 'completed' ? 'completed' : 'incomplete')
  const { meters, tier } = answer
  return responseOf(context, { ...ending, output: output.items, meters, tier })
}
