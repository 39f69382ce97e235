/** Generated images over the shipped routes.yaml and a real upstream process: its base64 becomes a
 *  URL of the file store for clients that read images by URL. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { plain } from '../../fixtures/upstream/scenarios.ts'
import { sql } from '../../helpers/store/store.ts'
import { database, gateway, key, upstream } from './shipped-gateway.ts'

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const SVG = Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>')
const usage = { input_tokens: 9, output_tokens: 16, total_tokens: 25 }
const images = (...files: readonly Buffer[]) => ({
  created: 7,
  data: files.map(file => ({ b64_json: file.toString('base64'), revised_prompt: 'a cat' })),
  usage,
})
const script = (name: string, answer: object) =>
  upstream.script(name, [{ do: 'body' }, plain(answer)])
const sentBodies = async (name: string): Promise<readonly string[]> =>
  (await upstream.events('body', name)).map(({ body }) =>
    Buffer.from(body.bytes).toString('latin1'),
  )
type Model = Parameters<typeof openai.chat.completions.create>[0]['model']
const chat = async (model: Model, content = 'a cat', more: object = {}) => {
  const messages = [{ role: 'user' as const, content }]
  const { choices } = await openai.chat.completions.create({ model, messages, ...more })
  return choices.map(({ message }) => message.content ?? '')
}
const LINK = /^!\[image\]\((http[^()\s]+)\)$/
const linkIn = (line = ''): string => LINK.exec(line)?.[1] ?? ''
const SIGNED = /^\/files\/file-[0-9a-f]{32}\.(?:png|svg)\?expires=\d+&signature=[\w-]{43}$/
const download = async (url: string) => {
  t.match(url.replace(gateway.url, ''), SIGNED)
  const response = await fetch(url)
  const type = response.headers.get('content-type')
  return { type, bytes: Buffer.from(await response.arrayBuffer()) }
}
const png = { type: 'image/png', bytes: PNG }

t.test('image links: chat answers a link per line, plain and streamed', async t => {
  await script('gp', images(PNG, PNG))
  const [content = ''] = await chat('gp-4o-image', 'a cat', { n: 2, quality: 'low' })
  const lines = content.split('\n')
  t.equal(lines.length, 2)
  for (const line of lines) t.same(await download(linkIn(line)), png)
  const stream = await openai.chat.completions.create({
    model: 'gp-4o-image',
    messages: [{ role: 'user', content: 'a cat' }],
    stream: true,
  })
  let text = ''
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
  const links = text.split('\n').map(linkIn)
  t.equal(links.length, 2)
  for (const link of links) t.same(await download(link), png)
  for (const body of await sentBodies('gp')) t.notMatch(body, 'response_format')
})

t.test('image links: a link is edited by the next turn, and belongs to no account', async t => {
  await script('gp', images(PNG))
  const [content = ''] = await chat('gp-4o-image')
  await openai.chat.completions.create({
    model: 'gp-4o-image',
    messages: [
      { role: 'user', content: 'a cat' },
      { role: 'assistant', content },
      { role: 'user', content: 'with a hat' },
    ],
  })
  const [, edit] = await sentBodies('gp')
  t.ok(edit?.includes(PNG.toString('latin1')), 'the image itself was sent')
  const listed = await openai.files.list()
  const { pathname } = new URL(linkIn(content))
  t.notOk(listed.data.some(({ id }) => pathname.includes(id)))
})

t.test('image links: rc-v3 answers bare links, one choice per image', async t => {
  await script('rc', images(PNG, PNG))
  const contents = await chat('rc-v3', 'a fox', { n: 2 })
  t.equal(contents.length, 2)
  for (const content of contents) t.same(await download(content), png)
  await script('rc', images(SVG))
  const [content = ''] = await chat('rc-v3-svg', 'a fox')
  t.same(await download(content), { type: 'image/svg+xml', bytes: SVG })
})

t.test('image links: base64 is answered where the request asks for it', async t => {
  await script('gp', images(PNG))
  await script('rc', images(PNG))
  const base64 = PNG.toString('base64')
  for (const response_format of [{ type: 'b64_json' }, 'b64_json']) {
    const more = { response_format }
    t.same(await chat('gp-4o-image', 'a cat', more), [`![image](data:image/png;base64,${base64})`])
    t.same(await chat('rc-v3', 'a fox', more), [base64])
  }
  const [toModelWithoutChoice] = await sentBodies('gp')
  t.notMatch(toModelWithoutChoice, 'response_format')
})

t.test('image links: a URL of the upstream is passed on', async t => {
  const url = 'https://a.example/1.png'
  await script('gp', { created: 7, data: [{ url }] })
  t.same(await chat('dall-e-3'), [`![image](${url})`])
})

t.test('image links: clients of messages get them too', async t => {
  await script('gp', images(PNG))
  const { content } = await anthropic.messages.create({
    model: 'gp-4o-image',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'a cat' }],
  })
  const [text] = content.flatMap(each => (each.type === 'text' ? [each.text] : []))
  t.same(await download(linkIn(text)), png)
})

t.test('image links: the image endpoint answers base64 by default, and URLs if asked', async t => {
  await script('gp', images(PNG))
  const base64 = PNG.toString('base64')
  const generate = async (more: object = {}) =>
    (await openai.images.generate({ model: 'gp-4o-image', prompt: 'a cat', ...more })) as
      | OpenAI.ImagesResponse
      | undefined
  t.match(await generate(), { data: [{ b64_json: base64 }] })
  const answer = await generate({ response_format: 'url', size: '1024x1024' })
  t.match(answer, { created: 7, usage, data: [{ b64_json: undefined, revised_prompt: 'a cat' }] })
  t.same(await download(answer?.data?.[0]?.url ?? ''), png)
  t.match(await generate({ response_format: 'b64_json' }), { data: [{ b64_json: base64 }] })
  const bodies = await sentBodies('gp')
  t.equal(bodies.length, 3)
  for (const body of bodies) t.notMatch(body, 'response_format')
  t.match(JSON.parse(bodies[1] ?? ''), { model: 'gpt-image-1', size: '1024x1024' })
})

t.test('image links: expire with their files after 24 hours', async t => {
  await script('gp', images(PNG))
  const [content = ''] = await chat('gp-4o-image')
  const url = new URL(linkIn(content))
  const id = url.pathname.slice('/files/'.length, -'.png'.length)
  const find = sql(
    'find',
    'SELECT account, purpose, created, expires FROM stored_files WHERE id = ?',
  )
  const [row] = await database.read(find, [id])
  t.match(row, { account: 0, purpose: 'image' })
  const lifetime = Number(row?.expires) - Number(row?.created)
  t.ok(lifetime > 86_390_000 && lifetime <= 86_400_000)
  t.equal(Math.floor(Number(row?.expires) / 1_000), Number(url.searchParams.get('expires')))
  const expire = sql('expire', 'UPDATE stored_files SET expires = 1 WHERE id = ?')
  await database.write([{ sql: expire, values: [id] }])
  t.equal((await fetch(url)).status, 404)
})
