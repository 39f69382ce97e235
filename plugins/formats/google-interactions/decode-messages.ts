/** Decodes the input of a client to turns: a text, contents, or the steps of a conversation. */
import { fault } from '../faults.ts'
import { isFields, lookUp } from '../fields.ts'
import { OpenHostedCalls } from '../google/open-hosted-calls.ts'
import { GOOGLE } from '../google/origin.ts'
import { type RequestObject, typeFault, valueFault } from '../google/request-object.ts'
import { unwrapResponse } from '../google/results.ts'
import { decodeCallId } from '../hub/call-id.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { Content, HostedCall, Media, Result, Text, Thought } from '../hub/content.ts'
import { decodePayload } from '../hub/opaque-payload.ts'
import type { Turn } from '../hub/prompt.ts'
import { isContentType, readContent } from './content.ts'
import { finishedCall, resultCallId, startedCall } from './hosted-tools.ts'
import { NAME } from './name.ts'

type Role = 'user' | 'assistant'

export const readInput = (body: RequestObject, dropped: DroppedFields): readonly Turn[] => {
  const input = body.value('input')
  if (input === undefined) throw fault('MEMBER_MISSING', ['input'], { param: 'input' })
  if (typeof input === 'string') return [{ role: 'user', content: [{ type: 'text', text: input }] }]
  if (!Array.isArray(input) && !isFields(input))
    throw typeFault('input', 'a string, an object or an array')
  const reader = new StepsReader(dropped)
  for (const step of body.objects('input')) reader.read(step)
  return reader.turns
}

/** The members of a step that its reader takes from the whole step. */
const RAW_MEMBERS: readonly string[] = [
  'type',
  'id',
  'call_id',
  'name',
  'server_name',
  'arguments',
  'result',
  'is_error',
]

class StepsReader {
  readonly #turns: { readonly role: Role; content: Content[] }[] = []
  readonly #dropped: DroppedFields
  /** Names of functions by the ids of their calls. */
  readonly #names = new Map<string, string>()
  /** Of the last turn. */
  #hosted = new OpenHostedCalls()

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped
  }
  /** Results are before other content of their turn. */
  get turns(): readonly Turn[] {
    const isResult = ({ type }: Content): boolean => type === 'result'
    return this.#turns
      .filter(({ content }) => content.length > 0)
      .map(({ role, content }) => ({
        role,
        content: [...content.filter(isResult), ...content.filter(each => !isResult(each))],
      }))
  }
  read(step: RequestObject): void {
    const type = step.text('type')
    if (type === undefined) return this.#readTurn(step)
    this.#readTyped(type, step, 'user')
  }
  /** `{role, content}`: contents and steps of one side. */
  #readTurn(turn: RequestObject): void {
    const name = turn.requiredText('role')
    const role = lookUp(ROLES, name)
    if (!role) throw valueFault(turn.pathOf('role'), "expected 'user' or 'model'")
    const content = turn.value('content') ?? []
    turn.reportUnread(this.#dropped)
    if (typeof content === 'string') return this.#add(role, { type: 'text', text: content })
    for (const each of turn.objects('content'))
      this.#readTyped(each.requiredText('type'), each, role)
  }
  #readTyped(type: string, step: RequestObject, role: Role): void {
    if (isContentType(type)) return this.#add(role, readContent(step, this.#dropped))
    const read = lookUp(this.#readers, type)
    if (read) return read(step)
    this.#readHosted(step)
  }
  #add(role: Role, ...content: readonly Content[]): void {
    const last = this.#turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else {
      this.#turns.push({ role, content: [...content] })
      this.#hosted = new OpenHostedCalls()
    }
  }
  readonly #readers: Readonly<Record<string, (step: RequestObject) => void>> = {
    user_input: step => this.#readContents(step, 'user'),
    model_output: step => this.#readContents(step, 'assistant'),
    thought: step => this.#add('assistant', this.#readThought(step)),
    function_call: step => this.#readCall(step),
    function_result: step => this.#add('user', this.#readResult(step)),
  }
  #readContents(step: RequestObject, role: Role): void {
    for (const each of step.objects('content')) {
      const type = each.requiredText('type')
      if (isContentType(type)) this.#add(role, readContent(each, this.#dropped))
      else this.#add(role, unknownPart(each))
    }
    step.reportUnread(this.#dropped, 'type')
  }
  #readThought(step: RequestObject): Thought {
    const signature = step.text('signature')
    const texts = step.objects('summary').flatMap(part => {
      const content = readContent(part, this.#dropped)
      if (content.type === 'text') return [content.text]
      this.#dropped.add(part.path)
      return []
    })
    step.reportUnread(this.#dropped, 'type')
    const payload = signature ? decodePayload(GOOGLE, signature) : undefined
    return { type: 'thought', text: texts.join('\n'), ...(payload && { payload }) }
  }
  #readCall(step: RequestObject): void {
    const id = decodeCallId(step.requiredText('id'))
    const name = step.requiredText('name')
    const input = step.value('arguments') ?? {}
    if (!isFields(input)) throw typeFault(step.pathOf('arguments'), 'an object')
    step.reportUnread(this.#dropped, 'type')
    this.#names.set(id, name)
    this.#add('assistant', { type: 'call', id, name, input: JSON.stringify(input) })
  }
  #readResult(step: RequestObject): Result {
    const id = decodeCallId(step.requiredText('call_id'))
    const name = step.text('name') ?? this.#names.get(id)
    const { content, value } = this.#resultOf(step)
    const hasFailed = step.flag('is_error')
    step.reportUnread(this.#dropped, 'type')
    return {
      type: 'result',
      id,
      content,
      ...(name !== undefined && { name }),
      ...(value !== undefined && { value }),
      ...(hasFailed && { hasFailed }),
    }
  }
  /** A text, contents, or an object. */
  #resultOf(step: RequestObject): Pick<Result, 'content' | 'value'> {
    const result = step.value('result')
    if (result === undefined) throw valueFault(step.pathOf('result'), 'expected a value')
    if (typeof result === 'string') return { content: [{ type: 'text', text: result }] }
    if (Array.isArray(result)) return { content: this.#contentsOf(step) }
    if (!isFields(result)) return { content: [{ type: 'text', text: JSON.stringify(result) }] }
    const { text } = unwrapResponse(result)
    return { content: text === undefined ? [] : [{ type: 'text', text }], value: result }
  }
  #contentsOf(step: RequestObject): readonly (Text | Media)[] {
    return step.objects('result').map(part => {
      if (isContentType(part.requiredText('type'))) return readContent(part, this.#dropped)
      throw valueFault(part.pathOf('type'), 'expected a text or media')
    })
  }
  #readHosted(step: RequestObject): void {
    const { fields } = step
    const callId = resultCallId(fields)
    const started = startedCall(fields)
    const turn = this.#turns.at(-1)
    if (callId !== undefined) {
      const at = this.#hosted.take(callId)
      const open = at === undefined ? undefined : turn?.content[at]
      const isFound = open?.type === 'hostedCall'
      const call = finishedCall(fields, isFound ? open : undefined)
      if (isFound && turn && at !== undefined) turn.content[at] = call
      else this.#add('assistant', call)
    } else if (started) this.#addStarted(started)
    else this.#add('assistant', unknownPart(step))
    if (callId !== undefined || started) step.reportUnread(this.#dropped, ...RAW_MEMBERS)
  }
  #addStarted(call: HostedCall): void {
    this.#add('assistant', call)
    const position = (this.#turns.at(-1)?.content.length ?? 1) - 1
    this.#hosted.add(call.id, position)
  }
}
const ROLES: Readonly<Record<string, Role>> = { user: 'user', model: 'assistant' }
/** Refused for other providers, by its place. */
const unknownPart = ({ fields, path }: RequestObject): HostedCall => ({
  type: 'hostedCall',
  tool: 'other',
  id: '',
  input: null,
  at: path,
  raw: { origin: NAME, items: [fields] },
})

/** The instruction of the model, as a leading system turn. */
export const readInstruction = (body: RequestObject): readonly Turn[] => {
  const text = body.text('system_instruction')
  return text ? [{ role: 'system', content: [{ type: 'text', text }] }] : []
}
/** Cached content is a document that only Google can open; other targets reject it. */
export const cachedTurns = (body: RequestObject): readonly Turn[] => {
  const file = body.text('cached_content')
  if (file === undefined) return []
  const source = { type: 'file' as const, file, origin: GOOGLE }
  const content: Media = { type: 'media', kind: 'document', source, at: 'cached_content' }
  return [{ role: 'user', content: [content] }]
}
