/** Decodes whole answers, blocks of content and stop reasons. */
import type { Json } from '../../../engine/plugin.ts'
import {
  type Fields,
  isFields,
  lenientObject,
  lenientObjects,
  lenientText,
  lookUp,
} from '../fields.ts'
import type { Answer, Stop } from '../hub/answer.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { Call, Citation, Content, Thought } from '../hub/content.ts'
import { REDACTED } from './content.ts'
import { imageType } from './media.ts'
import { decodeToolName, NAME } from './name.ts'
import { countsIn, metersOf } from './usage.ts'

const STOPS: Readonly<Record<string, Stop['reason']>> = {
  end_turn: 'end',
  stop_sequence: 'sequence',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'call',
  content_filtered: 'filter',
  guardrail_intervened: 'filter',
  malformed_model_output: 'broken',
  malformed_tool_use: 'broken',
}
/** Whether it means that the model failed. */
export const isFailedReason = (reason: Json | undefined): boolean =>
  typeof reason === 'string' && lookUp(STOPS, reason) === 'broken'
/** Of an answer, or of the event `messageStop`. */
export const stopOf = (fields: Fields, hasCalls: boolean): Stop => {
  const raw = lenientText(fields, 'stopReason')
  const reason = (raw !== undefined && lookUp(STOPS, raw)) || 'end'
  const sequence = lenientText(
    lenientObject(fields, 'additionalModelResponseFields'),
    'stop_sequence',
  )
  return {
    reason: correctReason(reason, hasCalls),
    ...(raw !== undefined && { raw }),
    ...(sequence !== undefined && reason === 'sequence' && { sequence }),
  }
}
const correctReason = (reason: Stop['reason'], hasCalls: boolean): Stop['reason'] => {
  if (reason === 'call') return hasCalls ? 'call' : 'end'
  return reason === 'end' && hasCalls ? 'call' : reason
}

export const decodeAnswer = (body: Fields): Answer => {
  const message = lenientObject(lenientObject(body, 'output'), 'message')
  const content = lenientObjects(message, 'content').flatMap(contentOf)
  const counts = countsIn(body)
  const isFailed = !isFields(body.output) && body.stopReason === undefined
  return {
    // An answer of another shape has no choices.
    choices: isFailed
      ? []
      : [
          {
            content,
            stop: stopOf(
              body,
              content.some(({ type }) => type === 'call'),
            ),
          },
        ],
    ...(counts && { meters: metersOf(counts) }),
    ...tierIn(body),
  }
}
/** The tier that served the request. */
const tierIn = (fields: Fields): { readonly tier?: string } => {
  const tier = lenientText(lenientObject(fields, 'serviceTier'), 'type')
  return tier === undefined ? {} : { tier }
}

const contentOf = (block: Fields, index: number): readonly Content[] => {
  const text = lenientText(block, 'text')
  if (text !== undefined) return text === '' ? [] : [{ type: 'text', text }]
  if (isFields(block.reasoningContent)) return thoughtsIn(block.reasoningContent)
  if (isFields(block.toolUse)) return [callOf(block.toolUse, index)]
  if (isFields(block.citationsContent)) return citedText(block.citationsContent)
  if (isFields(block.image)) return imageIn(block.image)
  return []
}
const thoughtsIn = (reasoning: Fields): readonly Thought[] => {
  const redacted = lenientText(reasoning, 'redactedContent')
  if (redacted !== undefined)
    return [
      { type: 'thought', text: '', payload: { origin: NAME, data: redacted, kind: REDACTED } },
    ]
  const fields = lenientObject(reasoning, 'reasoningText')
  const [text, signature] = [lenientText(fields, 'text') ?? '', lenientText(fields, 'signature')]
  if (text === '' && !signature) return []
  return [
    { type: 'thought', text, ...(signature && { payload: { origin: NAME, data: signature } }) },
  ]
}
const citedText = (fields: Fields): readonly Content[] => {
  const text = lenientObjects(fields, 'content')
    .map(each => lenientText(each, 'text') ?? '')
    .join('')
  if (text === '') return []
  const citations = lenientObjects(fields, 'citations').map(citationOf)
  return [{ type: 'text', text, ...(citations.length > 0 && { citations }) }]
}
export const citationOf = (citation: Fields): Citation => {
  const location = lenientObject(citation, 'location')
  const document = Object.values(location)
    .filter(isFields)
    .find(({ documentIndex }) => documentIndex !== undefined)?.documentIndex
  const url = lenientText(lenientObject(location, 'web'), 'url')
  const title = lenientText(citation, 'title')
  const quote = lenientObjects(citation, 'sourceContent')
    .map(each => lenientText(each, 'text') ?? '')
    .join('')
  return {
    ...(url !== undefined && { url }),
    ...(title !== undefined && { title }),
    ...(quote !== '' && { quote }),
    ...(typeof document === 'number' && { document }),
  }
}
const imageIn = (image: Fields): readonly Content[] => {
  const base64 = lenientText(lenientObject(image, 'source'), 'bytes')
  if (base64 === undefined) return []
  const mime = imageType(lenientText(image, 'format') ?? 'png')
  return [{ type: 'media', kind: 'image', source: { type: 'data', data: base64, mime } }]
}

/** The call of a block or of its start; in a stream its input follows. */
export const callOf = (toolUse: Fields, index: number): Call => {
  const name = decodeToolName(lenientText(toolUse, 'name') ?? '')
  return {
    type: 'call',
    id: decodeCallId(lenientText(toolUse, 'toolUseId') || `call_${index}`),
    ...name,
    input: name.isFreeText ? freeInput(toolUse.input) : JSON.stringify(toolUse.input ?? {}),
  }
}
/** The text of a tool with free text input. */
export const freeInput = (input: Json | undefined): string => {
  const text = isFields(input) ? input.input : input
  return typeof text === 'string' ? text : JSON.stringify(text ?? '')
}
