/** Writes the answers of the sandbox in formats that only targets use. */
import type { Bytes } from '../../engine/plugin.ts'
import type { Answer, Part, Stop } from '../formats/hub/answer.ts'
import type { Content } from '../formats/hub/content.ts'
import { writeFrame } from '../formats/stream/aws-event-stream.ts'
import { writeEvent } from '../formats/stream/sse.ts'
import { type Fields, fieldsIn } from './sandbox-format.ts'

/** Encodes the parts of one stream. */
export type PartEncoder = (part: Part) => readonly Bytes[]

// ---------------------------------------------------------------- Bedrock Converse

const STOP_REASONS: Readonly<Partial<Record<Stop['reason'], string>>> = {
  length: 'max_tokens',
  call: 'tool_use',
}
const converseUsage = ({ meters = {} }: Pick<Answer, 'meters'>): Fields => {
  const { input = 0, output = 0, thinking = 0 } = meters
  const outputTokens = output + thinking
  return { inputTokens: input, outputTokens, totalTokens: input + outputTokens }
}
const stopReason = (stop: Stop | undefined): string =>
  STOP_REASONS[stop?.reason ?? 'end'] ?? 'end_turn'

export const writeConverse = (answer: Answer): Fields => {
  const [choice] = answer.choices
  const content = (choice?.content ?? []).flatMap(each => converseBlock(each))
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: stopReason(choice?.stop),
    usage: converseUsage(answer),
    metrics: { latencyMs: 1 },
  }
}
const converseBlock = (content: Content): readonly Fields[] => {
  if (content.type === 'text') return [{ text: content.text }]
  if (content.type === 'thought') {
    const signature = content.payload && { signature: content.payload.data }
    return [{ reasoningContent: { reasoningText: { text: content.text, ...signature } } }]
  }
  if (content.type !== 'call') return []
  const { id, name, input } = content
  return [{ toolUse: { toolUseId: id, name, input: fieldsIn(JSON.parse(input)) } }]
}

export const converseEncoder = (answer: Answer): PartEncoder => {
  const opened = new Map<number, Content>()
  const delta = (index: number, content: Fields): readonly Bytes[] => [
    writeFrame('contentBlockDelta', { contentBlockIndex: index, delta: content }),
  ]
  return part => {
    if (part.type === 'begin') return [writeFrame('messageStart', { role: 'assistant' })]
    if (part.type === 'open') {
      const { index, content } = part
      opened.set(index, content)
      if (content.type === 'call') {
        const toolUse = { toolUseId: content.id, name: content.name }
        return [writeFrame('contentBlockStart', { contentBlockIndex: index, start: { toolUse } })]
      }
      const { data } = (content.type === 'thought' && content.payload) || {}
      return data === undefined ? [] : delta(index, { reasoningContent: { signature: data } })
    }
    if (part.type === 'grow') {
      const kind = opened.get(part.index)?.type
      if (kind === 'call') return delta(part.index, { toolUse: { input: part.text } })
      const isThought = kind === 'thought'
      return delta(
        part.index,
        isThought ? { reasoningContent: { text: part.text } } : { text: part.text },
      )
    }
    if (part.type === 'close')
      return [writeFrame('contentBlockStop', { contentBlockIndex: part.index })]
    if (part.type === 'stop')
      return [writeFrame('messageStop', { stopReason: stopReason(part.stop) })]
    if (part.type !== 'end') return []
    return [writeFrame('metadata', { usage: converseUsage(answer), metrics: { latencyMs: 1 } })]
  }
}

// ---------------------------------------------------------------- Cohere's chat

const FINISH_REASONS: Readonly<Partial<Record<Stop['reason'], string>>> = {
  length: 'MAX_TOKENS',
  call: 'TOOL_CALL',
}
const finishReason = (stop: Stop | undefined): string =>
  FINISH_REASONS[stop?.reason ?? 'end'] ?? 'COMPLETE'
const cohereUsage = ({ meters = {} }: Pick<Answer, 'meters'>): Fields => {
  const { input = 0, output = 0, thinking = 0 } = meters
  const units = { input_tokens: input, output_tokens: output + thinking }
  return { billed_units: units, tokens: units }
}
const coherePart = (content: Content): readonly Fields[] => {
  if (content.type === 'text') return [{ type: 'text', text: content.text }]
  return content.type === 'thought' ? [{ type: 'thinking', thinking: content.text }] : []
}
const cohereCall = (content: Content): readonly Fields[] => {
  if (content.type !== 'call') return []
  const { id, name, input } = content
  return [{ id, type: 'function', function: { name, arguments: input } }]
}

export const writeCohere = (answer: Answer, id: string): Fields => {
  const [choice] = answer.choices
  const contents = choice?.content ?? []
  const calls = contents.flatMap(cohereCall)
  return {
    id,
    finish_reason: finishReason(choice?.stop),
    message: {
      role: 'assistant',
      content: contents.flatMap(coherePart),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    usage: cohereUsage(answer),
  }
}

export const cohereEncoder = (answer: Answer, id: string): PartEncoder => {
  const opened = new Map<number, Content>()
  const event = (type: string, fields: Fields): readonly Bytes[] => [
    writeEvent(type, { type, ...fields }),
  ]
  const onBlock = (type: string, index: number, content: Content): readonly Bytes[] => {
    const [call] = cohereCall(content)
    const [part = {}] = coherePart(content)
    return call
      ? event(`tool-call-${type}`, { index, delta: { message: { tool_calls: call } } })
      : event(`content-${type}`, { index, delta: { message: { content: part } } })
  }
  return part => {
    if (part.type === 'begin')
      return event('message-start', { id, delta: { message: { role: 'assistant' } } })
    if (part.type === 'open') {
      opened.set(part.index, part.content)
      return onBlock('start', part.index, part.content)
    }
    if (part.type === 'grow') {
      const content = opened.get(part.index)
      if (!content) return []
      const member = content.type === 'call' ? { input: part.text } : { text: part.text }
      return onBlock('delta', part.index, { ...content, ...member } as Content)
    }
    if (part.type === 'close') {
      const isCall = opened.get(part.index)?.type === 'call'
      return event(isCall ? 'tool-call-end' : 'content-end', { index: part.index })
    }
    if (part.type !== 'stop') return []
    const delta = { finish_reason: finishReason(part.stop), usage: cohereUsage(answer) }
    return event('message-end', { delta })
  }
}
