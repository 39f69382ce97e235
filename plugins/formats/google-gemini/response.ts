/** Decodes an upstream's whole answer, and encodes one for a client. */
import { type Fields, lenientObjects, omitUndefined } from '../fields.ts'
import type { Answer, Choice, Part } from '../hub/answer.ts'
import { Collector } from '../hub/answer-parts.ts'
import type { EncodeContext } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import { withThoughtsOnCalls } from './answer/call-signatures.ts'
import { Grounding } from './answer/encode-grounding.ts'
import { partsOf } from './answer/encode-parts.ts'
import { readLogprobs, writeLogprobs } from './answer/logprobs.ts'
import { AnswerReader } from './answer/reader.ts'
import { blockReason, finishReason } from './stops.ts'
import { countsOf } from './usage.ts'

export { about } from './about.ts'

export const decodeAnswer = (body: Fields): Answer => {
  const collector = new Collector()
  const emit = (part: Part): void => collector.add(part)
  const reader = new AnswerReader()
  reader.add(body, emit)
  reader.finish(emit)
  const { choices, ...answer } = collector.answer()
  const logprobs = lenientObjects(body, 'candidates').map(readLogprobs)
  return {
    ...answer,
    choices: choices.map((choice, index) =>
      logprobs[index] === undefined ? choice : { ...choice, logprobs: logprobs[index] },
    ),
  }
}

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
export const timeOf = (() => {
  let [last, text] = [Number.NaN, '']
  // The last result is kept: many answers are made in the same second.
  return (seconds: number): string => {
    if (seconds !== last) text = new Date(seconds * 1000).toISOString()
    last = seconds
    return text
  }
})()

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
  const parts = withThoughtsOnCalls(content).flatMap(partsOf)
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
