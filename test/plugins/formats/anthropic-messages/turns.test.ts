/** Turns for messages upstreams, in the only order that the provider accepts. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Content, Media } from '../../../../plugins/formats/hub/content.ts'
import { decodePrompt } from '../../../helpers/formats/codec.ts'
import {
  call,
  encodeBody,
  encodeTurns,
  HELLO,
  model,
  NAME,
  promptOf,
  result,
  roles,
  system,
  textPart,
  user,
} from './messages.ts'

t.test('messages encoder: leading system turns become the system prompt', async t => {
  const { system: output, messages } = encodeTurns([system('a'), system('b'), ...HELLO])
  t.same(output, [
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ])
  t.same(messages, [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }])
})
t.test('messages encoder: a prompt of system turns only is sent as a user message', async t => {
  const body = encodeTurns([system('be')])
  t.same(roles(body), [['user', 'text']])
  t.notOk('system' in body)
})
t.test('messages encoder: later system turns keep their position (edge 21)', async t => {
  const turns = [user(textPart('a')), model(textPart('b')), system('now'), user(textPart('c'))]
  const messages = encodeTurns(turns)
  t.same(roles(messages), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'text', 'text'],
  ])
  t.match(JSON.stringify(messages), /<system>\\nnow\\n<\/system>/)
  const remaining = encodeTurns(turns, { system_turns: true })
  t.same(roles(remaining), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'text'],
    ['system', 'text'],
  ])
  const last = encodeTurns([...HELLO, model(textPart('b')), system('now')], { system_turns: true })
  t.match(JSON.stringify(last), /"role":"user","content":\[\{"type":"text","text":"<system>/)
})
t.test('messages encoder: a system turn separates no call from its result', async t => {
  const body = encodeTurns([...HELLO, model(call('1')), system('now'), user(result('1'))])
  t.same(roles(body), [
    ['user', 'text'],
    ['assistant', 'tool_use'],
    ['user', 'tool_result', 'text'],
  ])
})
t.test('messages encoder: merges tool results and puts them first (edge 19)', async t => {
  const turns = [
    ...HELLO,
    model(call('1'), call('2')),
    user(textPart('and'), result('1')),
    user(result('2')),
    user(textPart('so')),
  ]
  t.same(roles(encodeTurns(turns)), [
    ['user', 'text'],
    ['assistant', 'tool_use', 'tool_use'],
    ['user', 'tool_result', 'tool_result', 'text', 'text'],
  ])
})
t.test('messages codec: converts any id consistently (edge 18)', async t => {
  for (const id of ['call.1|é', 'x'.repeat(200), '']) {
    const body = encodeTurns([...HELLO, model(call(id)), user(result(id))])
    const [, one, two] = body.messages as readonly { readonly content: readonly Fields[] }[]
    t.match(one?.content[0]?.id, /^[A-Za-z0-9_-]{1,64}$/)
    t.equal(one?.content[0]?.id, two?.content[0]?.tool_use_id)
  }
  const spelt = encodeTurns([...HELLO, model(call('call.1')), user(result('call.1'))])
  const back = decodePrompt(NAME, spelt).prompt
  t.match(back.turns[1]?.content[0], { id: 'call.1' }, 'and decodes them again')
})
t.test('messages encoder: sends media of the model in the next user message', async t => {
  const image: Media = {
    type: 'media',
    kind: 'image',
    source: { type: 'url', url: 'https://a/b.png' },
  }
  t.same(roles(encodeTurns([...HELLO, model(textPart('here'), image), user(textPart('bluer'))])), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'image', 'text'],
  ])
})
t.test('messages encoder: adds a user message before a leading assistant turn', async t => {
  t.same(roles(encodeTurns([model(textPart('Hello!')), ...HELLO])), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'text'],
  ])
})
t.test('messages encoder: keeps a prefill if the model supports it', async t => {
  const turns = [...HELLO, model(textPart('It is '))]
  t.same((encodeTurns(turns).messages as readonly Json[])[1], {
    role: 'assistant',
    content: [{ type: 'text', text: 'It is' }],
  })
  const { body, dropped } = encodeBody(promptOf(turns), { prefill: false })
  t.same(roles(body), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'text'],
  ])
  t.same(dropped, ['prefill'])
})
t.test('messages codec: returns a paused turn with hosted calls unchanged', async t => {
  const items = [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }]
  const hostedCall: Content = {
    type: 'hostedCall',
    tool: 'web_search',
    id: 's',
    input: 'x',
    raw: { origin: NAME, items },
  }
  const body = encodeBody(promptOf([...HELLO, model(hostedCall)]), { prefill: false }).body
  t.same((body.messages as readonly Json[])[1], { role: 'assistant', content: items })
})
