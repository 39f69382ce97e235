/** Recorded messages, decoded to the hub and encoded again, lose nothing. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields } from '../../../../plugins/formats/fields.ts'
import type { Answer, Part } from '../../../../plugins/formats/hub/answer.ts'
import { partsOf } from '../../../../plugins/formats/hub/answer-parts.ts'
import {
  assembleParts,
  codecOf,
  contextWith,
  collectDropped as losing,
  decodeParts as partsIn,
  encodeStream as streamedAs,
} from '../../../helpers/formats/codec.ts'
import { recordedFormat, recordings } from '../../../helpers/formats/recordings.ts'
import { messageOf, startSdkReader, summarize } from './messages.ts'

const recorded = recordings()
const skip = recorded === undefined && 'RECORDINGS is not set'
// A chat answer under the name of another format.
const FOREIGN = new Set(['rec-0345'])
// The recording's first message ends inside the arguments of a call; a second one follows.
const SPLICED = 'rec-0262'
const mine = (recorded ?? []).filter(
  ({ id, format, status }) =>
    recordedFormat(format) === 'anthropic-messages' && status === 200 && !FOREIGN.has(id),
)
const NAME = 'anthropic-messages'
const messages = codecOf(NAME)
const context = contextWith()
const encodeParts = (parts: readonly Part[]) => streamedAs(NAME, parts)
const stage = await startSdkReader(t)

t.test('messages codec: keeps recorded whole answers', { skip }, async t => {
  let count = 0
  for (const { id, stream, response_body } of mine) {
    if (stream) continue
    count++
    const body = JSON.parse(response_body) as Fields
    const answer = messages.decodeAnswer(body)
    const expected = summarize(body)
    t.strictSame(summarize(messages.encodeAnswer(answer, context)), expected, `${id} written again`)
    t.same(assembleParts(partsOf(answer)), answer, `${id} in parts`)
    const plain = JSON.stringify(messages.encodeAnswer(answer, context))
    t.same(summarize(await stage.read(plain)), expected, `${id} to the SDK`)
    t.same(
      summarize(await stage.read(encodeParts(partsOf(answer)))),
      expected,
      `${id} to the SDK as a stream`,
    )
  }
  t.ok(count >= 70, `${count} answers`)
})

t.test('messages codec: keeps recorded streams', { skip }, async t => {
  let count = 0
  for (const { id, stream, response_body } of mine) {
    if (!stream) continue
    count++
    if (id === SPLICED) {
      t.throws(() => partsIn(NAME, response_body), { code: 'ANSWER_TANGLED', status: 502 }, id)
      continue
    }
    const message = messageOf(response_body)
    const { parts, hasEnded } = partsIn(NAME, response_body)
    t.ok(hasEnded && message, `${id} ends`)
    const expected = summarize(message ?? {})
    const answer = assembleParts(parts)
    t.strictSame(summarize(messages.encodeAnswer(answer, context)), expected, `${id} as a whole`)
    t.same(
      parseInputs(answer),
      parseInputs(messages.decodeAnswer(message ?? {})),
      `${id} is what it would be in one piece`,
    )
    t.same(summarize(await stage.read(encodeParts(parts))), expected, `${id} to the SDK`)
  }
  t.ok(count >= 40, `${count} streams`)
})

/** Arguments as parsed values, because upstreams differ in white space. */
const parseInputs = (answer: Answer): Answer => ({
  ...answer,
  choices: answer.choices.map(({ content, ...choice }) => ({
    ...choice,
    content: content.map(each =>
      each.type === 'call' ? { ...each, input: JSON.stringify(JSON.parse(each.input)) } : each,
    ),
  })),
})

t.test('messages codec: keeps recorded requests', { skip }, async t => {
  let count = 0
  const all = new Set<string>()
  for (const { id, request } of mine) {
    if (!request) continue
    count++
    const body = request as Fields
    const dropped = losing()
    const prompt = messages.decodePrompt(body, '/v1/messages', dropped)
    const target = { name: String(body.model), traits: traitsFor(body) }
    const outgoing = messages.encodePrompt(prompt, target, dropped).body as Fields
    const expected = {
      ...without(body, dropped.fields),
      ...(id === THINKS && { thinking: ADAPTIVE }),
    }
    t.strictSame(shape(outgoing), shape(expected), `${id} is sent as it came`)
    for (const field of dropped.fields) all.add(field.replace(/\[\d+\]/g, '[]'))
  }
  t.ok(count >= 54, `${count} requests`)
  t.same([...all].sort(), DROPPED_FIELDS, 'fields that the hub cannot express')
})
/** The request sets effort without thinking; in the hub, effort is a thinking setting. */
const THINKS = 'rec-0077'
const traitsFor = ({ thinking }: Fields): Fields => ({
  system_turns: true,
  thinking: isFields(thinking) && thinking.type === 'enabled' ? 'budget' : 'adaptive',
})
/** Fields of this format only, reported to the client: betas and hints to the provider. */
const DROPPED_FIELDS: readonly string[] = [
  'context_management',
  'output_config.task_budget',
  'tools[].defer_loading',
]

/** The body without the fields that were reported as dropped. */
const without = (body: Fields, dropped: readonly string[]): Fields => {
  const rest = structuredClone(body)
  for (const field of dropped) {
    const steps = field.split(/[.[\]]+/).filter(step => step !== '')
    const last = steps.pop() ?? ''
    let inside = rest as unknown
    for (const step of steps) inside = (inside as { readonly [key: string]: unknown })[step]
    delete (inside as { [key: string]: unknown })[last]
  }
  return rest
}

const ADAPTIVE = { type: 'adaptive' }

/** Equivalent forms: a string and a text block, consecutive turns of one side and one turn, null
 *  and missing members. */
const shape = (value: Json, key = ''): Json => {
  if (typeof value === 'string' && (key === 'content' || key === 'system'))
    return [{ type: 'text', text: value }]
  if (Array.isArray(value))
    return (key === 'messages' ? mergeTurns(value) : value).map(each => shape(each))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== null && each !== false)
      .map(([name, each]) => [name, shape(each, name)] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  )
}
const mergeTurns = (messages: readonly Json[]): readonly Json[] => {
  const turns: { role: Json; content: Json[] }[] = []
  for (const message of messages) {
    const { role = null, content = [] } = message as Fields
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...(blocks as Json[]))
    else turns.push({ role, content: [...(blocks as Json[])] })
  }
  return turns
}
