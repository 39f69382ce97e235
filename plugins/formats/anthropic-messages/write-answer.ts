/** A whole answer for a client of this format. */
import type { Answer } from '../answer.ts'
import type { Context } from '../codec.ts'
import type { Fields } from '../fields.ts'
import { answerBlocks } from './answer-blocks.ts'
import { stopFields } from './stops.ts'
import { usageOf } from './usage.ts'

/** What an answer and the start of a stream have in common. */
export const messageHead = (answer: Pick<Answer, 'id'>, context: Context): Fields => ({
  id: answer.id?.startsWith('msg_') ? answer.id : `msg_${context.id}`,
  type: 'message',
  role: 'assistant',
  model: context.model,
  ...{ container: null, diagnostics: null },
})

/** There is one answer to a message: of several the first. Where there is none, the question was refused. */
export const encodeAnswer = (answer: Answer, context: Context): Fields => {
  const [choice] = answer.choices
  return {
    ...messageHead(answer, context),
    content: choice ? choice.content.flatMap(answerBlocks) : [],
    ...stopFields(choice?.stop ?? { reason: 'refusal' }),
    usage: usageOf(answer.meters, answer.tier),
  }
}
