/** Encodes a whole answer for a client. */
import type { Answer } from '../answer.ts'
import type { EncodeContext } from '../codec.ts'
import type { Fields } from '../fields.ts'
import { answerBlocks } from './answer-blocks.ts'
import { stopFields } from './stops.ts'
import { usageOf } from './usage.ts'

/** The fields that an answer and the start of a stream share. */
export const messageHead = (answer: Pick<Answer, 'id'>, context: EncodeContext): Fields => ({
  id: answer.id?.startsWith('msg_') ? answer.id : `msg_${context.id}`,
  type: 'message',
  role: 'assistant',
  model: context.model,
  container: null,
  diagnostics: null,
})

/** This format carries one answer: the first. No answer means that the prompt was refused. */
export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const [choice] = answer.choices
  return {
    ...messageHead(answer, context),
    content: choice ? choice.content.flatMap(answerBlocks) : [],
    ...stopFields(choice?.stop ?? { reason: 'refusal' }),
    usage: usageOf(answer.meters, answer.tier),
  }
}
