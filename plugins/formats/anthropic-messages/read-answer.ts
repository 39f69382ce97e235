/** Decodes an upstream's whole answer. */
import type { Answer } from '../answer.ts'
import type { Content } from '../content.ts'
import { type Fields, isFields } from '../fields.ts'
import { readBlocks } from './content.ts'
import { FORM_TOOL_NAME } from './form.ts'
import { listIn, textIn } from './members.ts'
import { callerIn, defaultStop, stopOf } from './stops.ts'
import { metersOf, tierOf } from './usage.ts'

export const decodeAnswer = (body: Fields): Answer => {
  const id = textIn(body, 'id', undefined)
  const model = textIn(body, 'model', undefined)
  const usage = isFields(body.usage) ? body.usage : undefined
  const tier = usage && tierOf(usage)
  const content = readBlocks(listIn(body, 'content', undefined) ?? [], undefined).map(
    convertFormCall,
  )
  const caller = callerIn(content)
  return {
    ...(id !== undefined && { id }),
    ...(model !== undefined && { model }),
    choices: [{ content, stop: stopOf(body, caller) ?? defaultStop(caller) }],
    ...(usage && { meters: metersOf(usage) }),
    ...(tier !== undefined && { tier }),
  }
}
/** Converts the call that stands in for structured output to text. */
const convertFormCall = (content: Content): Content =>
  content.type === 'call' && content.name === FORM_TOOL_NAME
    ? { type: 'text', text: content.input }
    : content
