/** Invalid requests of messages: each is rejected by the name of the invalid field. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import { type Fields, isFields } from '../../../../plugins/formats/fields.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { recordedFormat, recordings } from '../../../helpers/formats/recordings.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import fc from '../../../helpers/property.ts'
import { shortOrLong } from '../../../helpers/run-settings.ts'
import { NAME } from './messages.ts'

const requestWith = (content: Json, role = 'user'): Fields => ({
  model: 'm',
  max_tokens: 5,
  messages: [{ role, content }],
})
const block = (one: Json): Fields => requestWith([one])
const AT = 'messages[0].content[0]'

t.test('messages decoder: names the invalid field', async t => {
  const cases: readonly (readonly [Json, string])[] = [
    [{}, 'messages'],
    [{ messages: 'hi' }, 'messages'],
    [{ messages: [7] }, 'messages[0]'],
    [{ messages: [{ content: '' }] }, 'messages[0].role'],
    [requestWith('', 'boss'), 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'messages[0].content'],
    [requestWith(7), 'messages[0].content'],
    [block('hi'), AT],
    [block({}), `${AT}.type`],
    [block({ type: 7 }), `${AT}.type`],
    [block({ type: 'text' }), `${AT}.text`],
    [block({ type: 'text', text: 7 }), `${AT}.text`],
    [block({ type: 'text', text: '', citations: {} }), `${AT}.citations`],
    [block({ type: 'text', text: '', cache_control: 'x' }), `${AT}.cache_control`],
    [block({ type: 'text', text: '', cache_control: { ttl: 5 } }), `${AT}.cache_control.ttl`],
    [block({ type: 'image' }), `${AT}.source`],
    [block({ type: 'image', source: { type: 'smell' } }), `${AT}.source.type`],
    [block({ type: 'image', source: { type: 'base64', data: '' } }), `${AT}.source.media_type`],
    [block({ type: 'image', source: { type: 'url' } }), `${AT}.source.url`],
    [block({ type: 'document', source: { type: 'file' } }), `${AT}.source.file_id`],
    [block({ type: 'document', source: { type: 'text', data: 7 } }), `${AT}.source.data`],
    [block({ type: 'thinking', signature: 's' }), `${AT}.thinking`],
    [block({ type: 'redacted_thinking' }), `${AT}.data`],
    [block({ type: 'tool_use', name: 'f' }), `${AT}.id`],
    [block({ type: 'tool_use', id: '1' }), `${AT}.name`],
    [block({ type: 'tool_result', content: '' }), `${AT}.tool_use_id`],
    [block({ type: 'tool_result', tool_use_id: '1', content: 7 }), `${AT}.content`],
    [block({ type: 'tool_result', tool_use_id: '1', content: [{}] }), `${AT}.content[0].type`],
    [block({ type: 'tool_result', tool_use_id: '1', is_error: 'x' }), `${AT}.is_error`],
    [block({ type: 'server_tool_use', id: '1' }), `${AT}.name`],
    [block({ type: 'web_search_tool_result' }), `${AT}.tool_use_id`],
    [{ messages: [], system: 7 }, 'system'],
    [{ messages: [], system: [{ type: 'text' }] }, 'system[0].text'],
    [{ messages: [], max_tokens: '7' }, 'max_tokens'],
    [{ messages: [], temperature: 'hot' }, 'temperature'],
    [{ messages: [], stream: 'yes' }, 'stream'],
    [{ messages: [], stop_sequences: 'x' }, 'stop_sequences'],
    [{ messages: [], stop_sequences: [7] }, 'stop_sequences[0]'],
    [{ messages: [], metadata: { user_id: 7 } }, 'metadata.user_id'],
    [{ messages: [], tools: {} }, 'tools'],
    [{ messages: [], tools: ['f'] }, 'tools[0]'],
    [{ messages: [], tools: [{}] }, 'tools[0].name'],
    [{ messages: [], tools: [{ name: 'f', input_schema: 7 }] }, 'tools[0].input_schema'],
    [{ messages: [], tool_choice: 'auto' }, 'tool_choice'],
    [{ messages: [], tool_choice: {} }, 'tool_choice.type'],
    [{ messages: [], tool_choice: { type: 'maybe' } }, 'tool_choice.type'],
    [{ messages: [], tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    [{ messages: [], thinking: true }, 'thinking'],
    [{ messages: [], thinking: { type: 'hard' } }, 'thinking.type'],
    [{ messages: [], thinking: { type: 'enabled', budget_tokens: 'x' } }, 'thinking.budget_tokens'],
    [{ messages: [], output_config: { effort: 7 } }, 'output_config.effort'],
    [{ messages: [], output_config: { format: { type: 'xml' } } }, 'output_config.format.type'],
    [
      { messages: [], output_config: { format: { type: 'json_schema' } } },
      'output_config.format.schema',
    ],
  ]
  for (const [body, param] of cases) {
    const fault = await errorFrom(async () => decodePrompt(NAME, body))
    t.match(fault, { status: 400, param }, param)
    t.ok(fault?.message.includes(`'${param}'`), `${param} is in the message`)
  }
})

/** Decodes and encodes a body; true unless something else than a client error is thrown. */
const isHandled = (input: Json): boolean => {
  // The body must be an object before a format reads it.
  const body = isFields(input) ? input : {}
  try {
    encodePrompt(NAME, decodePrompt(NAME, body).prompt)
  } catch (error) {
    return (error as { readonly status?: number }).status === 400
  }
  return true
}
const MEMBERS = [
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'metadata',
  'stop_sequences',
  'max_tokens',
  'temperature',
  'cache_control',
  'stream',
] as const
t.test('messages decoder: accepts or rejects any body, and never throws anything else', t => {
  const members = fc.dictionary(fc.constantFrom(...MEMBERS), fc.jsonValue({ maxDepth: 4 }))
  fc.assert(
    fc.property(members, fc.jsonValue(), (members, content) =>
      isHandled({ ...requestWith(content as Json), ...(members as Fields) }),
    ),
    { numRuns: shortOrLong(50, 10_000) },
  )
  t.end()
})

const recorded = recordings()
t.test(
  'messages decoder: accepts or rejects a mutated recording',
  { skip: recorded === undefined && 'RECORDINGS is not set' },
  t => {
    const bodies = (recorded ?? []).flatMap(({ format, request }) =>
      recordedFormat(format) === 'anthropic-messages' && request ? [request as Fields] : [],
    )
    t.ok(bodies.length > 50)
    const odd = fc.constantFrom<Json>(null, 7, -1, 'x', '', true, [], {}, [null], [7], [{}], {
      type: 'x',
    })
    fc.assert(
      fc.property(
        fc.nat({ max: bodies.length - 1 }),
        fc.infiniteStream(fc.nat()),
        odd,
        (which, path, value) => isHandled(replaceValue(bodies[which] ?? {}, path, value)),
      ),
      { numRuns: shortOrLong(120, 10_000) },
    )
    t.end()
  },
)
/** Follows a random path and sets the value at its end. */
const replaceValue = (complete: Json, path: Iterator<number>, value: Json): Json => {
  const step = path.next().value as number
  if (step % 5 === 0) return value
  if (Array.isArray(complete) && complete.length > 0) {
    const at = step % complete.length
    return complete.map((each, index) => (index === at ? replaceValue(each, path, value) : each))
  }
  if (!isFields(complete)) return value
  const keys = Object.keys(complete)
  const key = keys[step % keys.length]
  return key === undefined
    ? value
    : { ...complete, [key]: replaceValue(complete[key] ?? null, path, value) }
}
