/** Decodes an upstream's whole answer, and encodes one for a client. */
import { type Fields, isFields, joinText } from '../fields.ts'
import type { Answer } from '../hub/answer.ts'
import type { EncodeContext } from '../hub/codec.ts'
import type { Content } from '../hub/content.ts'
import { answerBlocks } from './answer/blocks.ts'
import { readBlocks } from './decode-content.ts'
import { FORM_TOOL_NAME } from './form.ts'
import { listIn, textIn } from './members.ts'
import { callerIn, defaultStop, stopFields, stopOf } from './stops.ts'
import { contextMetersOf, countSearches, isSearch, tierOf, usageOf } from './usage.ts'

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
    ...(usage && { meters: contextMetersOf(usage) }),
    ...(tier !== undefined && { tier }),
  }
}
/** Converts the call that stands in for structured output to text. */
const convertFormCall = (content: Content): Content =>
  content.type === 'call' && content.name === FORM_TOOL_NAME
    ? { type: 'text', text: content.input }
    : content

/** The fields that an answer and the start of a stream share. */
export const messageHead = (answer: Pick<Answer, 'id'>, context: EncodeContext): Fields => ({
  id: answer.id?.startsWith('msg_') ? answer.id : joinText('msg_', context.id),
  type: 'message',
  role: 'assistant',
  model: context.model,
  container: null,
  diagnostics: null,
})

/** This format carries one answer: the first. No answer means that the prompt was refused. */
export const encodeAnswer = (answer: Answer, context: EncodeContext): Fields => {
  const [choice] = answer.choices
  const searches = choice?.content.filter(isSearch).length ?? 0
  return {
    ...messageHead(answer, context),
    content: choice ? choice.content.flatMap(answerBlocks) : [],
    ...stopFields(choice?.stop ?? { reason: 'refusal' }),
    usage: usageOf(countSearches(answer.meters, searches), answer.tier),
  }
}
