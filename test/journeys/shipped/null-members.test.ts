/** Shipped routes: null in each optional member is the same as its absence, for the client and for
 *  the upstream. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { asList, asObject, asString, type LooseObject } from '../../helpers/formats/loose-json.ts'
import { gateway, key, upstream } from './shipped-gateway.ts'

const messages = [{ role: 'user', content: 'hi' }]
const content = { parts: [{ text: 'hi' }] }
const image = 'data:image/png;base64,iVBORw0KGgo='
/** Valid bodies with their required members alone. */
const BODIES: Readonly<Record<string, LooseObject>> = {
  'POST /v1/chat/completions': { model: 'gp-4.1', messages },
  'POST /v1/completions': { model: 'gp-4.1', prompt: 'hi' },
  'POST /v1/responses': { model: 'o3-pro', input: 'hi' },
  'POST /v1/messages': { model: 'cl-sonnet-4-5', max_tokens: 5, messages },
  'POST /v1/messages/count_tokens': { model: 'cl-sonnet-4-5', messages },
  'POST /v1beta/models/gx-2.5-pro:generateContent': { contents: [content] },
  'POST /v1beta/models/gx-2.5-pro:countTokens': { contents: [content] },
  'POST /v1beta/interactions': { model: 'gx-2.5-pro', input: 'hi' },
  'POST /v1beta/cachedContents': { model: 'models/gx-2.5-pro', contents: [content] },
  'POST /v1beta/models/gx-embedding-001:embedContent': { content },
  'POST /v1beta/models/gx-embedding-001:batchEmbedContents': { requests: [{ content }] },
  'POST /v1/embeddings': { model: 'gp-embedding-3-small', input: 'hi' },
  'POST /v1/moderations': { input: 'hi' },
  'POST /v1/images/generations': { model: 'gpt-image-1', prompt: 'a cat' },
  'POST /v1/images/edits': {
    model: 'gpt-image-1',
    prompt: 'a cat',
    images: [{ image_url: image }],
  },
  'POST /v1/audio/speech': { model: 'tts-1', input: 'hi', voice: 'alloy' },
  'POST /v1/rerank': { model: 'rerank-v3.5', query: 'q', documents: ['a', 'b'] },
  'POST /v1/uploads': { bytes: 9, filename: 'a', mime_type: 'text/plain', purpose: 'batch' },
  'POST /v1/batches': {
    input_file_id: 'file-0',
    endpoint: '/v1/responses',
    completion_window: '24h',
  },
  'POST /v1/conversations': {},
  'POST /ent/v2/text2video': { model: 'vdq3-turbo', prompt: 'a cat' },
  'POST /ent/v2/img2video': { model: 'vdq3-turbo', images: [image] },
  'POST /v1/videos': { model: 'vdq3-turbo', prompt: 'a cat' },
  'POST /mj/submit/imagine': { prompt: 'a cat' },
}
/** The provider's own types permit null in these requests. */
const PASSED: ReadonlySet<string> = new Set([
  'POST /v1/chat/completions',
  'POST /v1/responses',
  'POST /v1/messages',
  'POST /v1/images/generations',
  'POST /v1/images/edits',
])
const routes = asList(asObject(parse(readFileSync('routes.yaml', 'utf8'))).routes)
const schemaOf = (path: string): LooseObject => {
  const pattern = path.replace(/models\/[\w.-]+:/, 'models/{model}:')
  const validate = routes.find(each => each.path === pattern)?.validate
  const file = asString(typeof validate === 'string' ? validate : asObject(validate).schema)
  return asObject(JSON.parse(readFileSync(file, 'utf8')))
}
const SCRIPTS = ['gp', 'cl', 'gx', 'rr', 'em', 'vd', 'mj']
const REFUSAL = plain({ error: { message: 'enough', type: 'scripted' } }, '400 Bad Request')
const send = async (route: string, body: LooseObject) => {
  const [method = '', path = ''] = route.split(' ')
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  await upstream.forget()
  const response = await fetch(gateway.url + path, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (TASKS.test(path) && response.ok) await upstream.until('body')
  const bodies = await upstream.events('body')
  const upstreamBodies = bodies.map(each =>
    JSON.parse(Buffer.from(each.body.bytes ?? []).toString()),
  )
  return { status: response.status, text, upstreamBodies }
}
/** These answer before they ask the upstream. */
const TASKS = /^\/(?:ent|mj|v1\/videos)/
t.before(async () => {
  for (const each of SCRIPTS) await upstream.script(each, [{ do: 'body' }, REFUSAL])
})
/** The value without its null members. */
const present = (value: unknown): unknown => JSON.parse(JSON.stringify(value), omitNull)
/** A seed that the client leaves out is random. */
const omitNull = (name: string, value: unknown): unknown =>
  value === null || name === 'seed' ? undefined : value

for (const [route, body] of Object.entries(BODIES))
  t.test(`null members: ${route} takes them as absent`, async t => {
    const { properties } = schemaOf(route)
    const optional = Object.keys(asObject(properties)).filter(name => !(name in body))
    const nulls = optional.filter(name => name !== 'messages' || route.includes('messages'))
    const without = await send(route, body)
    const withNull = await send(route, {
      ...body,
      ...Object.fromEntries(nulls.map(name => [name, null])),
    })
    t.equal(withNull.status, without.status, withNull.text)
    t.same(
      present(withNull.upstreamBodies),
      present(without.upstreamBodies),
      `${nulls.length} members`,
    )
    if (PASSED.has(route)) return
    t.notMatch(JSON.stringify(withNull.upstreamBodies), ':null', 'no null goes upstream')
  })
