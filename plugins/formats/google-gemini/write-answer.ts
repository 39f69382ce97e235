/** Encodes a whole answer for a client. */
import type { Answer, Choice } from '../answer.ts'
import type { EncodeContext } from '../codec.ts'
import type { Content } from '../content.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { writeLogprobs } from './logprobs.ts'
import { blockReason, finishReason } from './stops.ts'
import { countsOf } from './usage.ts'
import { Grounding } from './write-grounding.ts'
import { partsOf } from './write-parts.ts'

export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const { meters, created } = answer
  const choices = answer.choices.length > 0 ? answer.choices : [NO_CHOICE]
  const blockFeedback = blockOf(choices)
  return omitUndefined({
    ...(blockFeedback
      ? { promptFeedback: blockFeedback }
      : { candidates: choices.map(candidateOf) }),
    usageMetadata: meters ? countsOf(meters) : undefined,
    modelVersion: context.model,
    createTime: created === undefined ? undefined : timeOf(created),
    responseId: answer.id ?? context.id,
  })
}
/** No answer means that the prompt was refused. */
const NO_CHOICE: Choice = { content: [], stop: { reason: 'filter' } }
export const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** The feedback for a refused prompt. */
const blockOf = (choices: readonly Pick<Choice, 'content' | 'stop'>[]): Fields | undefined => {
  const [only, more] = choices
  if (!only || more || only.content.length > 0 || only.stop.reason !== 'filter') return undefined
  const { stop } = only
  return omitUndefined({ blockReason: blockReason(stop), blockReasonMessage: stop.message })
}

const candidateOf = ({ content, stop, logprobs }: Choice, index: number): Fields => {
  const grounding = new Grounding()
  for (const each of content) ground(grounding, each)
  const parts = content.flatMap(partsOf)
  return omitUndefined({
    content: parts.length > 0 ? { parts, role: 'model' } : undefined,
    finishReason: finishReason(stop),
    finishMessage: stop.message,
    index,
    ...grounding.metadata,
    ...writeLogprobs(logprobs),
  })
}
const ground = (grounding: Grounding, content: Content): void => {
  if (content.type === 'hostedCall') grounding.addHostedCall(content)
  if (content.type !== 'text' && content.type !== 'refusal') return
  grounding.beginBlock()
  grounding.add(content.text)
  if (content.type === 'text') for (const each of content.citations ?? []) grounding.cite(each)
  grounding.endBlock()
}
