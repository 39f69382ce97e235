/** Reads a provider's answer, plain or streamed, without our code: the reference for what
 *  clients of other formats must receive. */
import {
  asList,
  asNumber,
  asObject,
  asString,
  eventBodies,
  type LooseObject,
  parseLoose,
} from './loose-json.ts'

/** Adds one part to the calls so far. A string that continues repeats its path. */
const addCall = (calls: [string, unknown][], part: LooseObject): void => {
  const call = asObject(part.functionCall)
  if (call.name) calls.push([asString(call.name), structuredClone(asObject(call.args))])
  for (const { jsonPath, ...value } of asList(call.partialArgs)) {
    const steps = asString(jsonPath).match(/[^.[\]$]+/g) ?? []
    put(calls.at(-1)?.[1], steps, value)
  }
}
const put = (root: unknown, steps: readonly string[], value: LooseObject): void => {
  let node = root as Record<string, unknown>
  steps.slice(0, -1).forEach((step, index) => {
    node[step] ??= /^\d+$/.test(steps[index + 1] ?? '') ? [] : {}
    node = node[step] as Record<string, unknown>
  })
  const last = steps.at(-1) ?? ''
  const { stringValue: text, numberValue = null, boolValue = numberValue } = value
  node[last] = typeof text === 'string' ? asString(node[last]) + text : boolValue
}

export interface AnswerReading {
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
  text: '',
  calls: [],
  finish: '',
  thoughts: '',
  citations: new Set<string>(),
  input: 0,
  output: 0,
})
const finishReading = (
  { citations, ...rest }: Draft,
  finish: AnswerReading['finish'],
): AnswerReading => ({
  ...rest,
  // Formats split thoughts differently.
  thoughts: rest.thoughts.replace(/\s+/g, ''),
  finish,
  citations: [...citations].sort(),
})

const COUNTS: Readonly<Record<string, (usage: LooseObject) => readonly [number, number]>> = {
  chat(usage) {
    const [prompt, completion] = [asNumber(usage.prompt_tokens), asNumber(usage.completion_tokens)]
    const total = asNumber(usage.total_tokens)
    return [prompt, Math.max(completion, total - prompt)]
  },
  responses: usage => [asNumber(usage.input_tokens), asNumber(usage.output_tokens)],
  messages: usage => [
    asNumber(usage.input_tokens) +
      asNumber(usage.cache_creation_input_tokens) +
      asNumber(usage.cache_read_input_tokens),
    asNumber(usage.output_tokens),
  ],
  gemini: usage => [
    asNumber(usage.promptTokenCount) + asNumber(usage.toolUsePromptTokenCount),
    asNumber(usage.candidatesTokenCount) + asNumber(usage.thoughtsTokenCount),
  ],
}
const count = (out: Draft, format: string, usage: unknown): void => {
  if (!usage) return
  const [input, output] = COUNTS[format]?.(asObject(usage)) ?? [0, 0]
  out.input = input
  out.output = output
}

const FINISH: Readonly<Record<string, AnswerReading['finish']>> = {
  length: 'length',
  max_tokens: 'length',
  // Other formats have no word for an answer that goes on in a further call.
  pause_turn: 'length',
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
const finishOf = (raw: string, calls: number): AnswerReading['finish'] =>
  FINISH[raw] ?? (calls > 0 ? 'call' : 'end')

/** Reads the first choice only. */
const isFirst = ({ index }: LooseObject): boolean => asNumber(index) === 0

export const readChat = (bodies: readonly unknown[]): AnswerReading => {
  const out = draft()
  const calls: { name: string; text: string }[] = []
  for (const body of bodies.map(asObject)) {
    count(out, 'chat', body.usage)
    for (const choice of asList(body.choices).filter(isFirst)) {
      const message = asObject(choice.message ?? choice.delta)
      out.text += asString(message.content)
      out.thoughts += asString(message.reasoning_content) || asString(message.reasoning)
      out.finish = asString(choice.finish_reason) || out.finish
      for (const note of asList(message.annotations))
        out.citations.add(asString(asObject(note.url_citation).url))
      asList(message.tool_calls).forEach((each, at) => {
        const index = typeof each.index === 'number' ? each.index : at
        calls[index] ??= { name: '', text: '' }
        const call = calls[index]
        const callFields = asObject(each.function ?? each.custom)
        call.name += asString(callFields.name)
        call.text += asString(callFields.arguments) || asString(callFields.input)
      })
    }
  }
  for (const { name, text } of calls) out.calls.push([name, parseLoose(text)])
  return finishReading(out, finishOf(out.finish, calls.length))
}

/** The first of these events ends a response; later events are ignored. */
export const isEnd = (type: unknown): boolean =>
  /^response\.(?:completed|incomplete|failed)$/.test(asString(type))
export const readResponse = (response: unknown): AnswerReading => {
  const out = draft()
  const body = asObject(response)
  count(out, 'responses', body.usage)
  for (const item of asList(body.output)) {
    if (item.type === 'function_call')
      out.calls.push([asString(item.name), parseLoose(asString(item.arguments))])
    if (item.type === 'custom_tool_call')
      out.calls.push([asString(item.name), asString(item.input)])
    if (item.type === 'reasoning')
      for (const part of [...asList(item.summary), ...asList(item.content)])
        out.thoughts += asString(part.text)
    if (item.type !== 'message') continue
    for (const part of asList(item.content)) {
      if (part.type === 'refusal') out.finish = 'refusal'
      out.text += asString(part.text)
      for (const note of asList(part.annotations))
        if (note.url) out.citations.add(asString(note.url))
    }
  }
  const why = asString(asObject(body.incomplete_details).reason) || out.finish
  return finishReading(out, body.status === 'failed' ? 'broken' : finishOf(why, out.calls.length))
}

export const readMessage = (message: unknown): AnswerReading => {
  const out = draft()
  const body = asObject(message)
  count(out, 'messages', body.usage)
  for (const block of asList(body.content)) {
    if (block.type === 'text') out.text += asString(block.text)
    if (block.type === 'thinking') out.thoughts += asString(block.thinking)
    if (block.type === 'tool_use') out.calls.push([asString(block.name), block.input])
    for (const note of asList(block.citations)) if (note.url) out.citations.add(asString(note.url))
  }
  return finishReading(out, finishOf(asString(body.stop_reason), out.calls.length))
}
/** Assembles the blocks of a stream. */
const messageIn = (all: readonly LooseObject[]): LooseObject => {
  let message: Record<string, unknown> = {}
  const blocks: Record<string, unknown>[] = []
  const inputs: string[] = []
  let usage: Record<string, unknown> = {}
  for (const event of all) {
    if (event.type === 'message_stop') break
    if (event.type === 'message_start') {
      message = { ...asObject(event.message) }
      usage = { ...asObject(message.usage) }
    } else if (event.type === 'content_block_start') {
      blocks[asNumber(event.index)] = { ...asObject(event.content_block) }
      inputs[asNumber(event.index)] = ''
    } else if (event.type === 'content_block_delta') {
      const at = asNumber(event.index)
      blocks[at] ??= {}
      const block = blocks[at]
      const delta = asObject(event.delta)
      if (delta.type === 'text_delta') block.text = asString(block.text) + delta.text
      if (delta.type === 'thinking_delta')
        block.thinking = asString(block.thinking) + delta.thinking
      if (delta.type === 'input_json_delta') inputs[at] += asString(delta.partial_json)
      if (delta.type === 'citations_delta')
        block.citations = [...asList(block.citations), delta.citation]
    } else if (event.type === 'message_delta') {
      message = { ...message, ...asObject(event.delta) }
      usage = { ...usage, ...asObject(event.usage) }
    }
  }
  blocks.forEach((block, index) => {
    if (inputs[index]) block.input = parseLoose(inputs[index])
  })
  return { ...message, content: blocks, usage }
}

export const readGemini = (bodies: readonly unknown[]): AnswerReading => {
  const out = draft()
  for (const body of bodies.map(asObject)) {
    const usage = asObject(body.usageMetadata)
    if (usage.promptTokenCount !== undefined || usage.candidatesTokenCount !== undefined)
      count(out, 'gemini', usage)
    if (asObject(body.promptFeedback).blockReason) out.finish = 'SAFETY'
    for (const candidate of asList(body.candidates).filter(isFirst)) {
      out.finish = asString(candidate.finishReason) || out.finish
      for (const part of asList(asObject(candidate.content).parts)) {
        if (part.thought) out.thoughts += asString(part.text)
        else out.text += asString(part.text)
        addCall(out.calls, part)
      }
      const ground = asObject(candidate.groundingMetadata)
      const chunks = asList(ground.groundingChunks)
      for (const support of asList(ground.groundingSupports))
        for (const index of (support.groundingChunkIndices as readonly number[] | undefined) ??
          []) {
          const uri = asString(asObject(chunks[index]?.web).uri)
          if (uri) out.citations.add(uri)
        }
    }
  }
  return finishReading(out, finishOf(out.finish, out.calls.length))
}

/** Reads a recording of any format. */
export const readRecorded = (format: string, stream: boolean, body: string): AnswerReading => {
  const all = stream ? eventBodies(body) : [JSON.parse(body) as LooseObject]
  const [family] = format.split('-')
  if (family === 'chat') return readChat(all)
  if (family === 'gemini') return readGemini(all)
  if (family === 'messages') return readMessage(stream ? messageIn(all) : all[0])
  return readResponse(stream ? all.find(({ type }) => isEnd(type))?.response : all[0])
}
