/** Changes a request of a client into a shape that clients send and that few expect. A shape that a
 *  format does not have changes nothing. */
import { asList, asObject, asString, type LooseObject } from '../../helpers/formats/loose-json.ts'
import type { Client } from '../cells.ts'
import type { Scenario } from '../scenarios.ts'

type Odd = NonNullable<Scenario['odd']>
type Change = (body: LooseObject) => LooseObject
type Changes = Partial<Readonly<Record<Odd, Change>>>
const GRAMMAR = { syntax: 'lark', definition: 'start: "a"' }
const MARK = { cache_control: { type: 'ephemeral' } }
const LONG_MARK = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const user = { role: 'user', content: 'hi' }

/** Inserts elements before those of a list, behind its system messages. */
const before =
  (member: string, make: (body: LooseObject) => readonly LooseObject[]): Change =>
  body => {
    const list = asList(body[member])
    const start = list.findIndex(({ role }) => role !== 'system')
    const at = start < 0 ? list.length : start
    return { ...body, [member]: [...list.slice(0, at), ...make(body), ...list.slice(at)] }
  }
const after =
  (member: string, ...added: readonly LooseObject[]): Change =>
  body => ({ ...body, [member]: [...asList(body[member]), ...added] })
/** Applies a change to requests with functions. */
const withTools =
  (change: Change): Change =>
  body =>
    asList(body.tools).length > 0 ? change(body) : body

/** Turns of formats whose messages have a role and a text. */
const turnsIn = (member: string): Changes => ({
  'two user turns': before(member, () => [user, user]),
  'an empty user turn': after(member, { role: 'user', content: '' }),
  'an empty assistant turn': before(member, () => [user, { role: 'assistant', content: '' }, user]),
})

// ---------------------------------------------------------------- chat completions

const nameOf = ({ tools }: LooseObject): string => {
  const [tool] = asList(tools)
  return asString(asObject(tool?.function).name) || asString(tool?.name)
}
const calling = (body: LooseObject, id: string): LooseObject => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: nameOf(body), arguments: '{}' } }],
})
const result = (id: string): LooseObject => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const CHAT: Changes = {
  'late results': withTools(
    before('messages', body => [
      user,
      calling(body, 'a'),
      calling(body, 'b'),
      result('a'),
      result('b'),
    ]),
  ),
  'note before the result': withTools(
    before('messages', body => [
      user,
      calling(body, 'a'),
      { role: 'system', content: 'note' },
      result('a'),
    ]),
  ),
  ...turnsIn('messages'),
  'free tools': after('tools', {
    type: 'custom',
    custom: { name: 'sql', format: { type: 'grammar', grammar: GRAMMAR } },
  }),
  'many cache hints': before('messages', () =>
    Array.from('abcde', text => ({
      role: 'user',
      content: [{ type: 'text', text, ...(text === 'e' ? LONG_MARK : MARK) }],
    })),
  ),
}

// ---------------------------------------------------------------- responses

const functionCall = (body: LooseObject, id: string): LooseObject => ({
  type: 'function_call',
  call_id: id,
  name: nameOf(body),
  arguments: '{}',
})
const output = (id: string): LooseObject => ({
  type: 'function_call_output',
  call_id: id,
  output: 'ok',
})
const waiting = { role: 'assistant', content: 'wait' }
const RESPONSES: Changes = {
  'late results': withTools(
    before('input', body => [
      user,
      functionCall(body, 'a'),
      waiting,
      functionCall(body, 'b'),
      output('a'),
      output('b'),
    ]),
  ),
  'note before the result': withTools(
    before('input', body => [
      user,
      functionCall(body, 'a'),
      { role: 'developer', content: 'note' },
      output('a'),
    ]),
  ),
  ...turnsIn('input'),
  'free tools': after('tools', {
    type: 'custom',
    name: 'sql',
    format: { type: 'grammar', ...GRAMMAR },
  }),
}

// ---------------------------------------------------------------- Anthropic messages

const image = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
}
const text = { type: 'text', text: 'a page' }
const NESTED = [
  { type: 'document', source: { type: 'content', content: [text, image] } },
  { type: 'document', source: { type: 'content', content: [image] } },
  { type: 'search_result', source: 'https://example.com', title: 'a', content: [text] },
]
const MESSAGES: Changes = {
  ...turnsIn('messages'),
  'nested parts': before('messages', () => [{ role: 'user', content: NESTED }]),
  'many cache hints': before('messages', () => [
    {
      role: 'user',
      content: Array.from('abcde', each => ({ type: 'text', text: each, ...LONG_MARK })),
    },
  ]),
}

// ---------------------------------------------------------------- generateContent

/** Members whose names are the client's own. */
const OWN_NAMES = new Set(['args', 'response', 'parametersJsonSchema', 'responseJsonSchema'])
const snakeCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(snakeCase)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`),
      OWN_NAMES.has(key) ? each : snakeCase(each),
    ]),
  )
}
const hi = { role: 'user', parts: [{ text: 'hi' }] }
const GEMINI: Changes = {
  'two user turns': before('contents', () => [hi, hi]),
  'an empty user turn': after('contents', { role: 'user', parts: [{ text: '' }] }),
  'an empty assistant turn': before('contents', () => [hi, { role: 'model', parts: [] }, hi]),
  'snake case': body => asObject(snakeCase(body)),
}

const hello = { type: 'user_input', content: [{ type: 'text', text: 'hi' }] }
const INTERACTIONS: Changes = {
  'two user turns': before('input', () => [hello, hello]),
  'an empty user turn': after('input', { type: 'user_input', content: [] }),
  'an empty assistant turn': before('input', () => [hello, { type: 'model_output' }, hello]),
}

const CHANGES: Readonly<Record<Client, Changes>> = {
  'openai-chat': CHAT,
  'openai-responses': RESPONSES,
  'anthropic-messages': MESSAGES,
  'google-gemini': GEMINI,
  'google-interactions': INTERACTIONS,
}
export const withOddShape = (client: Client, { odd }: Scenario, body: LooseObject): LooseObject =>
  (odd && CHANGES[client][odd]?.(body)) ?? body
