/** Encodes a client's whole answer: builds the same items as a stream and discards the events. */
import type { Answer } from '../answer.ts'
import { partsOf } from '../answer-parts.ts'
import type { EncodeContext } from '../codec.ts'
import type { Fields } from '../fields.ts'
import { Output } from './output.ts'
import { responseOf } from './response.ts'
import { endingOf } from './stops.ts'

export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const output = new Output(context.id, () => undefined)
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
