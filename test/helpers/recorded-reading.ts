/** Reads a provider's answer, plain or streamed, without our code: the reference for what clients
 *  of other formats must receive. */

import { addCall } from './gemini-calls.ts'
import { type Any, events, json, list, number, object, string } from './loose.ts'

export interface Reading {
  readonly text: string
  /** In order, with parsed arguments. */
  readonly calls: readonly (readonly [name: string, input: unknown])[]
  readonly finish: 'end' | 'length' | 'call' | 'filter' | 'broken'
  readonly thoughts: string
  /** Cited URLs, without duplicates and sorted. */
  readonly citations: readonly string[]
  /** Input and output tokens, thoughts included. */
  readonly input: number
  readonly output: number
}
interface Draft {
  text: string
  calls: [string, unknown][]
  finish: string
  thoughts: string
  citations: Set<string>
  input: number
  output: number
}
const draft = (): Draft => ({
  ...{
    text: '',
    calls: [],
    finish: '',
    thoughts: '',
    citations: new Set<string>(),
    input: 0,
    output: 0,
  },
})
const finishReading = ({ citations, ...rest }: Draft, finish: Reading['finish']): Reading => ({
  ...rest,
  // Formats split thoughts differently.
  thoughts: rest.thoughts.replace(/\s+/g, ''),
  finish,
  citations: [...citations].sort(),
})

const COUNTS: Readonly<Record<string, (usage: Any) => readonly [number, number]>> = {
  chat(usage) {
    const [prompt, completion] = [number(usage.prompt_tokens), number(usage.completion_tokens)]
    const total = number(usage.total_tokens)
    return [prompt, Math.max(completion, total - prompt)]
  },
  responses: usage => [number(usage.input_tokens), number(usage.output_tokens)],
  messages: usage => [
    number(usage.input_tokens) +
      number(usage.cache_creation_input_tokens) +
      number(usage.cache_read_input_tokens),
    number(usage.output_tokens),
  ],
  gemini: usage => [
    number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount),
    number(usage.candidatesTokenCount) + number(usage.thoughtsTokenCount),
  ],
}
const count = (out: Draft, format: string, usage: unknown): void => {
  if (!usage) return
  const [input, output] = COUNTS[format]?.(object(usage)) ?? [0, 0]
  out.input = input
  out.output = output
}

const FINISH: Readonly<Record<string, Reading['finish']>> = {
  length: 'length',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  max_output_tokens: 'length',
  MAX_TOKENS: 'length',
  content_filter: 'filter',
  refusal: 'filter',
  SAFETY: 'filter',
  RECITATION: 'filter',
  PROHIBITED_CONTENT: 'filter',
  BLOCKLIST: 'filter',
  SPII: 'filter',
  MODEL_ARMOR: 'filter',
  IMAGE_SAFETY: 'filter',
  MALFORMED_FUNCTION_CALL: 'broken',
  UNEXPECTED_TOOL_CALL: 'broken',
  TOO_MANY_TOOL_CALLS: 'broken',
  error: 'broken',
}
const finishOf = (raw: string, calls: number): Reading['finish'] =>
  FINISH[raw] ?? (calls > 0 ? 'call' : 'end')

/** Reads the first choice only. */
const isFirst = ({ index }: Any): boolean => number(index) === 0

export const readChat = (bodies: readonly unknown[]): Reading => {
  const out = draft()
  const calls: { name: string; text: string }[] = []
  for (const body of bodies.map(object)) {
    count(out, 'chat', body.usage)
    for (const choice of list(body.choices).filter(isFirst)) {
      const message = object(choice.message ?? choice.delta)
      out.text += string(message.content)
      out.thoughts += string(message.reasoning_content) || string(message.reasoning)
      out.finish = string(choice.finish_reason) || out.finish
      for (const note of list(message.annotations))
        out.citations.add(string(object(note.url_citation).url))
      list(message.tool_calls).forEach((each, at) => {
        const index = typeof each.index === 'number' ? each.index : at
        calls[index] ??= { name: '', text: '' }
        const call = calls[index]
        const callFields = object(each.function ?? each.custom)
        call.name += string(callFields.name)
        call.text += string(callFields.arguments) || string(callFields.input)
      })
    }
  }
  for (const { name, text } of calls) out.calls.push([name, json(text)])
  return finishReading(out, finishOf(out.finish, calls.length))
}

/** The first of these events ends a response, whatever follows it. */
export const isEnd = (type: unknown): boolean =>
  /^response\.(?:completed|incomplete|failed)$/.test(string(type))
export const readResponse = (response: unknown): Reading => {
  const out = draft()
  const body = object(response)
  count(out, 'responses', body.usage)
  for (const item of list(body.output)) {
    if (item.type === 'function_call')
      out.calls.push([string(item.name), json(string(item.arguments))])
    if (item.type === 'custom_tool_call') out.calls.push([string(item.name), string(item.input)])
    if (item.type === 'reasoning')
      for (const part of [...list(item.summary), ...list(item.content)])
        out.thoughts += string(part.text)
    if (item.type !== 'message') continue
    for (const part of list(item.content)) {
      if (part.type === 'refusal') out.finish = 'refusal'
      out.text += string(part.text)
      for (const note of list(part.annotations)) if (note.url) out.citations.add(string(note.url))
    }
  }
  const why = string(object(body.incomplete_details).reason) || out.finish
  return finishReading(out, body.status === 'failed' ? 'broken' : finishOf(why, out.calls.length))
}

export const readMessage = (message: unknown): Reading => {
  const out = draft()
  const body = object(message)
  count(out, 'messages', body.usage)
  for (const block of list(body.content)) {
    if (block.type === 'text') out.text += string(block.text)
    if (block.type === 'thinking') out.thoughts += string(block.thinking)
    if (block.type === 'tool_use') out.calls.push([string(block.name), block.input])
    for (const note of list(block.citations)) if (note.url) out.citations.add(string(note.url))
  }
  return finishReading(out, finishOf(string(body.stop_reason), out.calls.length))
}
/** Assembles the blocks of a stream. */
const messageIn = (all: readonly Any[]): Any => {
  let message: Record<string, unknown> = {}
  const blocks: Record<string, unknown>[] = []
  const inputs: string[] = []
  let usage: Record<string, unknown> = {}
  for (const event of all) {
    if (event.type === 'message_stop') break
    if (event.type === 'message_start') {
      message = { ...object(event.message) }
      usage = { ...object(message.usage) }
    } else if (event.type === 'content_block_start') {
      blocks[number(event.index)] = { ...object(event.content_block) }
      inputs[number(event.index)] = ''
    } else if (event.type === 'content_block_delta') {
      const at = number(event.index)
      blocks[at] ??= {}
      const block = blocks[at]
      const delta = object(event.delta)
      if (delta.type === 'text_delta') block.text = string(block.text) + delta.text
      if (delta.type === 'thinking_delta') block.thinking = string(block.thinking) + delta.thinking
      if (delta.type === 'input_json_delta') inputs[at] += string(delta.partial_json)
      if (delta.type === 'citations_delta')
        block.citations = [...list(block.citations), delta.citation]
    } else if (event.type === 'message_delta') {
      message = { ...message, ...object(event.delta) }
      usage = { ...usage, ...object(event.usage) }
    }
  }
  blocks.forEach((block, index) => {
    if (inputs[index]) block.input = json(inputs[index])
  })
  return { ...message, content: blocks, usage }
}

export const readGemini = (bodies: readonly unknown[]): Reading => {
  const out = draft()
  for (const body of bodies.map(object)) {
    const usage = object(body.usageMetadata)
    if (usage.promptTokenCount !== undefined || usage.candidatesTokenCount !== undefined)
      count(out, 'gemini', usage)
    if (object(body.promptFeedback).blockReason) out.finish = 'SAFETY'
    for (const candidate of list(body.candidates).filter(isFirst)) {
      out.finish = string(candidate.finishReason) || out.finish
      for (const part of list(object(candidate.content).parts)) {
        if (part.thought) out.thoughts += string(part.text)
        else out.text += string(part.text)
        addCall(out.calls, part)
      }
      const ground = object(candidate.groundingMetadata)
      const chunks = list(ground.groundingChunks)
      for (const support of list(ground.groundingSupports))
        for (const index of (support.groundingChunkIndices as readonly number[] | undefined) ??
          []) {
          const uri = string(object(chunks[index]?.web).uri)
          if (uri) out.citations.add(uri)
        }
    }
  }
  return finishReading(out, finishOf(out.finish, out.calls.length))
}

/** Reads a recording of any format. */
export const readRecorded = (format: string, stream: boolean, body: string): Reading => {
  const all = stream ? events(body) : [JSON.parse(body) as Any]
  const [family] = format.split('-')
  if (family === 'chat') return readChat(all)
  if (family === 'gemini') return readGemini(all)
  if (family === 'messages') return readMessage(stream ? messageIn(all) : all[0])
  return readResponse(stream ? all.find(({ type }) => isEnd(type))?.response : all[0])
}
