/** Encodes a whole answer for a client, and decodes that of an upstream. */
import type { Meters } from '../../slots.ts'
import { type Fields, isFields, joinText, lenientObjects, omitUndefined } from '../fields.ts'
import type { Answer, Part, Stop } from '../hub/answer.ts'
import { Collector } from '../hub/answer-parts.ts'
import type { EncodeContext } from '../hub/codec.ts'
import { StepReader } from './step-reader.ts'
import { stepsOf } from './steps.ts'
import { statusFields } from './stops.ts'
import { countsOf } from './usage.ts'

export { about } from './about.ts'

interface InteractionFacts {
  readonly stop?: Stop
  readonly steps?: readonly Fields[]
  readonly created?: number | undefined
  readonly meters?: Meters | undefined
  readonly tier?: string | undefined
}
/** Without a stop it is in progress. */
export const interactionOf = (
  { id, model, now, prompt }: EncodeContext,
  { stop, steps, created = now, meters, tier }: InteractionFacts,
): Fields => {
  const time = new Date(created * 1_000).toISOString()
  return omitUndefined({
    id: joinText('int_', id),
    object: 'interaction',
    [prompt.agent ? 'agent' : 'model']: model,
    ...(stop ? statusFields(stop) : { status: 'in_progress' }),
    created: time,
    updated: time,
    steps,
    usage: meters && countsOf(meters),
    service_tier: tier === 'default' ? 'standard' : tier,
  })
}

/** This format carries one answer only; none means that the prompt was refused. */
export const encodeAnswer = ({ choices, ...facts }: Answer, context: EncodeContext): Fields => {
  const [{ content, stop } = { content: [], stop: { reason: 'filter' } as const }] = choices
  return interactionOf(context, { ...facts, stop, steps: content.flatMap(stepsOf) })
}

export const decodeAnswer = (body: Fields): Answer => {
  const collector = new Collector()
  const emit = (part: Part): void => collector.add(part)
  const reader = new StepReader()
  reader.begin(body, emit)
  lenientObjects(body, 'steps').forEach((step, index) => {
    if (!isFields(step) || step.type === 'user_input') return
    reader.start(index, step, emit)
    reader.stop(index, emit)
  })
  reader.finish(body, emit)
  return collector.answer()
}
