/** Decodes whole answers, and finish reasons. */
import type { Json } from '../../../engine/plugin.ts'
import { type Fields, lenientObject, lenientObjects, lenientText, lookUp } from '../fields.ts'
import type { Answer, Stop } from '../hub/answer.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { Call, Citation, Content, Text } from '../hub/content.ts'
import { countsIn, metersOf } from './usage.ts'

const STOPS: Readonly<Record<string, Stop['reason']>> = {
  COMPLETE: 'end',
  STOP_SEQUENCE: 'sequence',
  MAX_TOKENS: 'length',
  TOOL_CALL: 'call',
  ERROR_LIMIT: 'length',
  ERROR_TOXIC: 'filter',
  ERROR: 'broken',
  TIMEOUT: 'broken',
  USER_CANCEL: 'broken',
}
export const stopOf = (raw: Json | undefined, hasCalls: boolean): Stop => {
  const reason = (typeof raw === 'string' && lookUp(STOPS, raw)) || 'end'
  return {
    reason: reason === 'end' && hasCalls ? 'call' : reason,
    ...(typeof raw === 'string' && { raw }),
  }
}

export const decodeAnswer = (body: Fields): Answer => {
  const { id } = body
  const message = lenientObject(body, 'message')
  const calls = lenientObjects(message, 'tool_calls').map((call, index) => {
    const { input, ...rest } = callOf(call, index)
    return { ...rest, input: input || '{}' }
  })
  const counts = countsIn(body)
  return {
    ...(typeof id === 'string' && { id }),
    choices: [
      {
        content: [...planIn(message), ...contentIn(message), ...calls],
        stop: stopOf(body.finish_reason, calls.length > 0),
      },
    ],
    ...(counts && { meters: metersOf(counts) }),
  }
}

/** The model's plan for its tool calls is a thought. */
const planIn = (message: Fields): readonly Content[] => {
  const text = lenientText(message, 'tool_plan')
  return text ? [{ type: 'thought', text }] : []
}
const contentIn = (message: Fields): readonly Content[] => {
  const citations = lenientObjects(message, 'citations')
  return lenientObjects(message, 'content').flatMap((part, index): readonly Content[] => {
    const thought = lenientText(part, 'thinking')
    if (thought) return [{ type: 'thought', text: thought }]
    const text = lenientText(part, 'text')
    return text
      ? [
          textOf(
            text,
            citations.filter(each => indexOf(each) === index),
          ),
        ]
      : []
  })
}
const textOf = (text: string, all: readonly Fields[]): Text => {
  const citations = all.flatMap(citationsOf)
  return { type: 'text', text, ...(citations.length > 0 && { citations }) }
}
const indexOf = ({ content_index: index }: Fields): number =>
  typeof index === 'number' ? index : 0

/** Sources with a URL: those of the client's own documents and tools need none. */
export const citationsOf = (citation: Fields): readonly Citation[] => {
  const { start, end } = citation
  return lenientObjects(citation, 'sources').flatMap(source => {
    const document = lenientObject(source, 'document')
    const [url, title] = [lenientText(document, 'url'), lenientText(document, 'title')]
    if (url === undefined) return []
    return [
      {
        url,
        ...(title !== undefined && { title }),
        ...(typeof start === 'number' && { start }),
        ...(typeof end === 'number' && { end }),
      },
    ]
  })
}

/** The input may be empty: in a stream it follows. */
export const callOf = (call: Fields, index: number): Call => {
  const fields = lenientObject(call, 'function')
  return {
    type: 'call',
    id: decodeCallId(lenientText(call, 'id') || `call_${index}`),
    name: lenientText(fields, 'name') ?? '',
    input: lenientText(fields, 'arguments') ?? '',
  }
}
