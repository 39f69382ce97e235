/** Conversations for generateContent upstreams. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Content } from '../../../../plugins/formats/hub/content.ts'
import { encodePayload, hasForeignPayload } from '../../../../plugins/formats/hub/opaque-payload.ts'
import type { Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
import {
  assistant,
  call,
  contentsOf,
  encodeRequest,
  image,
  prompt,
  result,
  text,
  user,
} from './prompt-builders.ts'

const NAME = 'google-gemini'

t.test('Gemini encoder: writes the model and the verb into the path', t => {
  t.equal(encodeRequest(prompt([user(text('x'))])).path, '/v1beta/models/model:generateContent')
  const streamingPrompt = { ...prompt([user(text('x'))]), stream: true }
  const { path } = encodePrompt(NAME, streamingPrompt, { name: 'a/b:c' })
  t.equal(path, '/v1beta/models/a%2Fb%3Ac:streamGenerateContent?alt=sse')
  t.end()
})
t.test('Gemini encoder: later system turns keep their position (edge 21)', t => {
  const system = (words: string): Turn => ({ role: 'system', content: [text(words)] })
  const { body } = encodeRequest(
    prompt([
      system('a'),
      system('b'),
      user(text('1')),
      assistant(text('2')),
      system('c'),
      user(text('3')),
    ]),
  )
  t.same(body, {
    systemInstruction: { parts: [{ text: 'a' }, { text: 'b' }] },
    contents: [
      { role: 'user', parts: [{ text: '1' }] },
      { role: 'model', parts: [{ text: '2' }] },
      { role: 'user', parts: [{ text: 'c' }, { text: '3' }] },
    ],
  })
  t.same(contentsOf([system('alone')]), [{ role: 'user', parts: [{ text: 'alone' }] }])
  t.end()
})
t.test('Gemini encoder: puts tool results together and before other content (edge 19)', t => {
  const turns = [
    user(text('x')),
    assistant(call('a'), call('b')),
    user(result('a', { type: 'text', text: '1' })),
    user(result('b', { type: 'text', text: '{"ok":true}' }), text('go on')),
  ]
  t.same((contentsOf(turns) as { parts: Json }[])[2]?.parts, [
    { functionResponse: { id: 'a', name: 'f_a', response: { output: '1' } } },
    { functionResponse: { id: 'b', name: 'f_b', response: { ok: true } } },
    { text: 'go on' },
  ])
  t.end()
})
t.test('Gemini encoder: rejects a result without a call', async t => {
  const fault = await errorFrom(async () => contentsOf([user(result('ghost'))]))
  t.match(fault, { status: 400, message: /'ghost'/ })
  t.end()
})
t.test('Gemini encoder: writes media of tool results (edge 20)', t => {
  const turns = [
    assistant(call('a')),
    user(result('a', { type: 'text', text: 'see' }, image as never)),
  ]
  const inlineData = { mimeType: 'image/png', data: 'AAAA' }
  const [, plain] = contentsOf(turns) as { parts: Json }[]
  t.same(plain?.parts, [
    { functionResponse: { id: 'a', name: 'f_a', response: { output: 'see' } } },
    { text: 'Returned by f_a:' },
    { inlineData },
  ])
  const [, newer] = contentsOf(turns, { tool_media: true }) as { parts: Json }[]
  t.same(newer?.parts, [
    {
      functionResponse: {
        id: 'a',
        name: 'f_a',
        response: { output: 'see' },
        parts: [{ inlineData }],
      },
    },
  ])
  t.end()
})
t.test('Gemini encoder: writes arguments as an object (edge 16)', t => {
  for (const [input, args] of [
    ['', {}],
    ['{}', {}],
    ['{"a":[1]}', { a: [1] }],
    ['[1]', { input: [1] }],
    ['{"a', { input: '{"a' }],
  ] as const)
    t.match(contentsOf([assistant(call('a', { input }))]), [
      { parts: [{ functionCall: { args } }] },
    ])
  t.end()
})
t.test('Gemini encoder: converts long or invalid ids consistently (edge 18)', t => {
  const id = `toolu/${'x'.repeat(90)}`
  const [words, back] = contentsOf([
    assistant(call(id, { name: 'f' })),
    user(result(id, { type: 'text', text: '1' })),
  ]) as { parts: { functionCall?: { id: string }; functionResponse?: { id: string } }[] }[]
  const encodedId = words?.parts[0]?.functionCall?.id ?? ''
  t.match(encodedId, /^[A-Za-z0-9_-]{1,64}$/)
  t.equal(back?.parts[0]?.functionResponse?.id, encodedId)
  t.end()
})
t.test('Gemini encoder: returns only its own signatures (edges 7 and 8)', t => {
  const own = { origin: NAME, data: 'S' }
  const foreignPayload = { origin: 'anthropic-messages', data: 'SECRET' }
  t.same(
    contentsOf([
      assistant(
        { type: 'thought', text: 'hm', payload: own } as const,
        { type: 'thought', text: 'foreign', payload: foreignPayload } as const,
        { type: 'text', text: 'a', payload: foreignPayload } as const,
        call('a', { payload: own }),
        call('b'),
      ),
    ]),
    [
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true, thoughtSignature: 'S' },
          { text: 'a' },
          { functionCall: { id: 'a', name: 'f_a', args: { a: 1 } }, thoughtSignature: 'S' },
          { functionCall: { id: 'b', name: 'f_b', args: { a: 1 } } },
        ],
      },
    ],
  )
  t.end()
})
t.test('Gemini encoder: attaches a signature without text to the next part (edge 7)', t => {
  const thought: Content = { type: 'thought', text: '', payload: { origin: NAME, data: 'S' } }
  const signatures = (...content: Content[]) =>
    (
      contentsOf([assistant(...content)]) as { parts: { thoughtSignature?: string }[] }[]
    )[0]?.parts.map(each => each.thoughtSignature)
  t.same(signatures(thought, call('a'), call('b')), ['S', undefined])
  t.same(signatures(text('a'), thought), ['S'], 'attaches to the last part')
  t.same(signatures(thought), ['S'], 'is in a part of its own')
  const withPayload = call('a', { payload: { origin: NAME, data: 'OWN' } })
  t.same(
    signatures(text('a'), thought, withPayload),
    ['S', 'OWN'],
    'a part keeps its own signature',
  )
  const other: Content = { ...thought, payload: { origin: NAME, data: 'T' } }
  t.same(
    signatures(text('a'), thought, other, call('a')),
    ['S', 'T'],
    'one signature before and one after',
  )
  t.end()
})
t.test('Gemini encoder: adds a placeholder signature to foreign calls (edge 7)', t => {
  const turns = [
    user(text('x')),
    assistant(call('a'), call('b')),
    user(result('a'), result('b')),
    assistant(call('c', { payload: { origin: NAME, data: 'S' } })),
  ]
  const signatures = (traits = {}) =>
    (
      contentsOf(turns, traits) as {
        parts: { functionCall?: Json; thoughtSignature?: string }[]
      }[]
    )
      .flatMap(({ parts }) => parts)
      .filter(each => each.functionCall)
      .map(each => each.thoughtSignature)
  t.same(signatures(), [undefined, undefined, 'S'])
  t.same(signatures({ signatures: 'required' }), [
    'skip_thought_signature_validator',
    undefined,
    'S',
  ])
  t.end()
})
t.test('Gemini encoder: omits payloads of other providers', t => {
  const encodedPayload = encodePayload(NAME, { origin: 'openai-responses', data: 'SECRET' })
  const { prompt: original } = decodePrompt(NAME, {
    contents: [
      {
        role: 'model',
        parts: [
          { text: 'a', thought: true, thoughtSignature: encodedPayload },
          { text: 'b', thoughtSignature: encodedPayload },
          { functionCall: { name: 'f' }, thoughtSignature: encodedPayload },
          { executableCode: { code: '1' }, thoughtSignature: encodedPayload },
        ],
      },
    ],
  })
  t.match(original.turns[0]?.content[0], {
    payload: { origin: 'openai-responses', data: 'SECRET' },
  })
  const { body } = encodeRequest(original)
  t.notOk(hasForeignPayload(Buffer.from(JSON.stringify(body))))
  t.notMatch(JSON.stringify(body), /SECRET/)
  t.end()
})
t.test('Gemini encoder: describes foreign hosted calls as text', t => {
  const hostedCall = (origin: string): Content => ({
    type: 'hostedCall',
    tool: 'web_search',
    id: 'w',
    input: { query: 'x' },
    raw: { origin, items: [{ toolCall: { id: 'w' }, thoughtSignature: 'S' }] },
  })
  t.match(contentsOf([assistant(hostedCall(NAME))]), [
    { parts: [{ toolCall: { id: 'w' }, thoughtSignature: 'S' }] },
  ])
  t.match(contentsOf([assistant(hostedCall('openai-responses'))]), [
    { parts: [{ text: /web_search/ }] },
  ])
  t.end()
})
t.test('Gemini encoder: sends https URLs only, and rejects files of other providers', async t => {
  const media = (source: Extract<Content, { type: 'media' }>['source']): Content => ({
    type: 'media',
    kind: 'image',
    source,
    at: 'messages[0].content[1]',
  })
  t.match(contentsOf([user(media({ type: 'url', url: 'https://a.example/x.jpg?y' }))]), [
    { parts: [{ fileData: { fileUri: 'https://a.example/x.jpg?y', mimeType: 'image/jpeg' } }] },
  ])
  t.match(contentsOf([user(media({ type: 'data', data: 'AA', mime: 'video/quicktime' }))]), [
    { parts: [{ inlineData: { mimeType: 'video/mov' } }] },
  ])
  t.match(contentsOf([user(media({ type: 'text', text: 'words' }))]), [
    { parts: [{ inlineData: { mimeType: 'text/plain', data: 'd29yZHM=' } }] },
  ])
  for (const source of [
    { type: 'url', url: 'http://a.example/x.jpg' },
    { type: 'file', file: 'file-1', origin: 'openai-chat' },
  ] as const) {
    const fault = await errorFrom(async () => contentsOf([user(media(source))]))
    t.match(fault, { status: 400, param: 'messages[0].content[1]' })
  }
  const among = await errorFrom(async () => contentsOf([{ role: 'system', content: [image] }]))
  t.match(among, { status: 400 })
})
