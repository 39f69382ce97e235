/** Content for upstreams of messages: what it can hold, what is rejected, and what is never
 *  sent. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Content, Media } from '../../../../plugins/formats/hub/content.ts'
import type { Turn } from '../../../../plugins/formats/hub/prompt.ts'
import { decodePrompt, encodePrompt } from '../../../helpers/formats/codec.ts'
import { errorFrom } from '../../../helpers/gateway/fake-exchange.ts'
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
  textPart,
  user,
} from './messages.ts'

t.test('messages encoder: sends images and files in tool results (edge 20)', async t => {
  const image: Media = {
    type: 'media',
    kind: 'image',
    source: { type: 'data', data: 'AA==', mime: 'image/png' },
  }
  const pdf: Media = {
    type: 'media',
    kind: 'document',
    source: { type: 'url', url: 'https://a/b.pdf' },
    name: 'b',
  }
  const resultWithMedia: Content = {
    type: 'result',
    id: '1',
    content: [image, pdf],
  }
  const body = encodeTurns([...HELLO, model(call('1')), user(resultWithMedia)])
  const [, , last] = body.messages as readonly { readonly content: readonly Fields[] }[]
  t.same(last?.content, [
    {
      type: 'tool_result',
      tool_use_id: '1',
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA==' } },
        { type: 'document', source: { type: 'url', url: 'https://a/b.pdf' }, title: 'b' },
      ],
    },
  ])
})
t.test('messages encoder: media of a failed result follow it', async t => {
  const image: Media = {
    type: 'media',
    kind: 'image',
    source: { type: 'data', data: 'AA==', mime: 'image/png' },
  }
  const failed: Content = {
    type: 'result',
    id: '1',
    content: [{ type: 'text', text: 'no' }, image],
    hasFailed: true,
  }
  const body = encodeTurns([...HELLO, model(call('1')), user(failed, { type: 'text', text: 'so' })])
  const [, , last] = body.messages as readonly { readonly content: readonly Fields[] }[]
  t.match(last?.content, [
    { type: 'tool_result', content: [{ type: 'text', text: 'no' }], is_error: true },
    { type: 'image' },
    { type: 'text', text: 'so' },
  ])
})
t.test('messages encoder: sends an object result as JSON text', async t => {
  const value: Content = { type: 'result', id: '1', content: [], value: { ok: 1 } }
  t.match(JSON.stringify(encodeTurns([...HELLO, model(call('1')), user(value)])), /\{\\"ok\\":1\}/)
})
t.test('messages encoder: sends missing and invalid arguments (edge 16)', async t => {
  const inputs = (input: string): unknown => {
    const body = encodeTurns([...HELLO, model(call('1', input)), user(result('1'))])
    return (body.messages as readonly { readonly content: readonly Fields[] }[])[1]?.content[0]
      ?.input
  }
  t.same(inputs(''), {})
  t.same(inputs('{}'), {})
  t.same(inputs('{"a":1}'), { a: 1 })
  t.same(inputs('[1]'), { input: [1] })
  t.same(inputs('{"a":'), { input: '{"a":' }, 'arguments that a model truncated')
})
t.test('messages encoder: omits empty texts and turns without content', async t => {
  t.same(
    roles(
      encodeTurns([user(textPart('')), user(textPart('a'), textPart('')), model(textPart(''))]),
    ),
    [['user', 'text']],
  )
})
t.test('messages encoder: rejects content without a block type by its path', async t => {
  const at = 'messages[0].content[1]'
  const rows: readonly [Media, RegExp][] = [
    [
      { type: 'media', kind: 'audio', source: { type: 'data', data: '', mime: 'audio/wav' }, at },
      /audio/,
    ],
    [
      { type: 'media', kind: 'video', source: { type: 'url', url: 'https://a/b.mp4' }, at },
      /video/,
    ],
    [
      { type: 'media', kind: 'image', source: { type: 'data', data: '', mime: 'image/tiff' }, at },
      /image\/tiff/,
    ],
    [
      {
        type: 'media',
        kind: 'document',
        source: { type: 'data', data: '', mime: 'application/zip' },
        at,
      },
      /application\/zip/,
    ],
    [
      { type: 'media', kind: 'document', source: { type: 'file', file: 'f', origin: 'other' }, at },
      /another provider/,
    ],
  ]
  for (const [media, words] of rows) {
    const fault = await errorFrom(async () => encodeTurns([user(media)]))
    t.match(fault, { code: 'CONTENT_UNSUPPORTED', status: 400, param: at, message: words })
  }
  const inSystem: Turn = { role: 'system', content: [rows[2]?.[0] as Media] }
  t.match(await errorFrom(async () => encodeTurns([inSystem, ...HELLO])), {
    status: 400,
    param: at,
  })
})
t.test('messages encoder: sends PDF documents unchanged and text documents as text', async t => {
  const source = (mime: string, data: string): unknown => {
    const media: Media = { type: 'media', kind: 'document', source: { type: 'data', data, mime } }
    const [message] = encodeTurns([user(media)]).messages as readonly {
      readonly content: readonly Fields[]
    }[]
    return message?.content[0]?.source
  }
  t.same(source('application/pdf', 'AA=='), {
    type: 'base64',
    media_type: 'application/pdf',
    data: 'AA==',
  })
  const csv = Buffer.from('a,b').toString('base64')
  t.same(source('text/csv', csv), { type: 'text', media_type: 'text/plain', data: 'a,b' })
})
t.test('messages encoder: omits thoughts and payloads of other providers', async t => {
  const payload = { origin: 'google-gemini', data: 'SECRET' }
  const raw = { origin: 'openai-responses', items: [{ type: 'web_search_call', id: 'SECRET' }] }
  const turns = [
    ...HELLO,
    model(
      { type: 'thought', text: 'SECRET', payload },
      { type: 'thought', text: 'SECRET' },
      { type: 'text', text: 'said', payload, citations: [{ url: 'https://a', payload }] },
      {
        type: 'hostedCall',
        tool: 'web_search',
        id: 'w',
        input: 'news',
        sources: [{ url: 'https://b', title: 'B' }],
        raw,
      },
      { ...(call('1') as object), payload } as Content,
    ),
    user(result('1')),
  ]
  const { body, dropped } = encodeBody(promptOf(turns))
  t.notMatch(JSON.stringify(body), /SECRET/)
  t.match(
    JSON.stringify(body),
    /\[web_search\] news\\n- B: https:\/\/b/,
    'the sources are described as text',
  )
  t.same(dropped, ['citations'])
})
t.test('messages codec: returns this provider’s own thoughts unchanged', async t => {
  const turns = [
    ...HELLO,
    model(
      { type: 'thought', text: 'hm', payload: { origin: NAME, data: 's1' } },
      { type: 'thought', text: '', payload: { origin: NAME, data: 's2' } },
      { type: 'thought', text: '', payload: { origin: NAME, data: 'd', kind: 'redacted' } },
      call('1'),
    ),
    user(result('1')),
  ]
  const [, second] = encodeTurns(turns).messages as readonly { readonly content: readonly Json[] }[]
  t.same(second?.content.slice(0, 3), [
    { type: 'thinking', thinking: 'hm', signature: 's1' },
    { type: 'thinking', thinking: '', signature: 's2' },
    { type: 'redacted_thinking', data: 'd' },
  ])
})

t.test('messages codec: returns its own block types and gives others their text', async t => {
  const blocks: readonly Fields[] = [
    {
      type: 'search_result',
      source: 'https://a',
      title: 'T',
      content: [{ type: 'text', text: 'x' }],
      citations: { enabled: true },
    },
    { type: 'container_upload', file_id: 'f' },
    {
      type: 'document',
      source: { type: 'content', content: [{ type: 'text', text: 'y' }] },
      title: 'D',
    },
    { type: 'something_new', data: 1 },
  ]
  const body = {
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: blocks as Json }],
  }
  const { prompt } = decodePrompt(NAME, body)
  const [message] = (encodePrompt(NAME, prompt).body as Fields).messages as readonly {
    readonly content: Json
  }[]
  t.same(message?.content, blocks)
  t.match(prompt.turns[0]?.content, [
    { type: 'media', kind: 'document', source: { text: 'x' }, name: 'T' },
    { type: 'media', source: { type: 'file', origin: NAME } },
    { type: 'media', source: { text: 'y' } },
    { type: 'hostedCall', tool: 'other' },
  ])
})
