/** Images through chat with the official SDKs: requests to image models, the answers that users
 *  read, and usage. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { postTo } from '../../helpers/gateway/post.ts'
import { DATA_URL, errorOf, gateway, imageUpstream, nextUsage, PNG } from './image-gateway.ts'

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: 'k', maxRetries: 0 })
const google = new GoogleGenAI({
  apiKey: 'k',
  httpOptions: { baseUrl: gateway.url, apiVersion: 'v1beta', retryOptions: { attempts: 1 } },
})
const user = (content: unknown) => ({ role: 'user' as const, content: content as string })
const chat = async (model: string, messages: readonly object[], more: object = {}) => {
  const { choices } = await openai.chat.completions.create({
    model,
    messages: messages as never,
    ...more,
  })
  return choices.map(({ message }) => message.content)
}
const picture = (url: string) => ({ type: 'image_url', image_url: { url } })

t.test('images by chat: a chat becomes an image request, and its answer is Markdown', async t => {
  for (const model of ['dall-e-3', 'flux-1.1-pro'])
    t.match(await chat(model, [user('a cat')], { size: '1024x1792' }), [
      /^!\[image\]\(https:\/\/a\.example\/\d\.png\)$/,
    ])
  t.match(imageUpstream.requests, [
    {
      path: '/v1/images/generations',
      body: { model: 'dall-e-3', prompt: 'a cat', n: 1, size: '1024x1792' },
    },
    { body: { model: 'flux-1.1-pro' } },
  ])
  t.same(await nextUsage(), { meters: { images: 1 }, estimated: false })
})
t.test('images by chat: earlier turns join the description', async t => {
  const messages = [
    { role: 'system', content: 'in oil' },
    user('a cat'),
    { role: 'assistant', content: '![image](https://a.example/1.png)' },
    user('with a hat'),
  ]
  const response = await postTo(`${gateway.url}/v1/chat/completions`, {
    model: 'dall-e-3',
    messages,
    temperature: 1,
    size: '1024x1024',
    top_k: 3,
  })
  t.equal(response.headers.get('x-tollgate-dropped'), 'top_k, temperature')
  await response.text()
  t.equal(imageUpstream.requests[0]?.body.prompt, 'in oil\na cat\nwith a hat')
})
t.test('images by chat: an image in the chat is edited through a form', async t => {
  const drawnBefore = [user('a cat'), { role: 'assistant', content: `![image](${DATA_URL})` }]
  for (const messages of [
    [user([{ type: 'text', text: 'with a hat' }, picture(DATA_URL)])],
    [user(`![](${DATA_URL}) with a hat`)],
    [...drawnBefore, user('with a hat')],
  ])
    t.match(await chat('gp-4o-image', messages, { quality: 'low' }), [/^!\[image\]/])
  t.equal(imageUpstream.requests.length, 3)
  for (const { path, form, type } of imageUpstream.requests) {
    t.equal(path, '/v1/images/edits')
    t.match(type, /^multipart\/form-data; boundary=[\w-]{1,70}$/)
    t.match(Object.fromEntries(form ?? []), {
      model: 'gpt-image-1',
      prompt: 'with a hat',
      n: '1',
      quality: 'low',
    })
    const image = form?.get('image') as File
    t.equal(image.type, 'image/png')
    t.same(Buffer.from(await image.arrayBuffer()), PNG)
  }
})
t.test('images by chat: several images take several calls and one line each', async t => {
  const [content] = await chat('dall-e-3', [user('a cat')], { n: 3 })
  t.equal(content?.split('\n').length, 3)
  t.same(
    imageUpstream.requests.map(({ body }) => body.n),
    [1, 1, 1],
  )
  t.same(await nextUsage(), { meters: { images: 3 }, estimated: false })
  imageUpstream.requests.length = 0
  const stream = await openai.chat.completions.create({
    model: 'gp-4o-image',
    messages: [user('a cat')],
    n: 2,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  const ends: unknown[] = []
  for await (const { choices } of stream) {
    text += choices[0]?.delta.content ?? ''
    if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
  }
  t.match(text, /^!\[image\]\(https:[^)]+\)\n!\[image\]\(https:[^)]+\)$/)
  t.same(ends, ['stop'])
})
t.test('images by chat: base64 becomes a data URL, and tokens are counted', async t => {
  const usage = {
    input_tokens: 20,
    output_tokens: 272,
    total_tokens: 292,
    input_tokens_details: { text_tokens: 15, image_tokens: 5 },
  }
  imageUpstream.next = () => ({
    body: { created: 1, data: [{ b64_json: PNG.toString('base64') }], usage },
  })
  t.same(await chat('gp-4o-image', [user('a cat')]), [`![image](${DATA_URL})`])
  t.same(await nextUsage(), {
    meters: { images: 1, input: 15, image_input: 5, output: 272 },
    estimated: false,
  })
})
t.test('images by chat: rc-v3 returns bare URLs, one choice per image, six per call', async t => {
  const contents = await chat('rc-v3', [user('a fox')], { n: 10, style: 'icon', size: '1792x1024' })
  t.same(
    contents,
    Array.from({ length: 10 }, (_, index) => `https://a.example/${index + 1}.png`),
  )
  t.match(
    imageUpstream.requests.map(({ body }) => body),
    [{ model: 'recraftv3', prompt: 'a fox', n: 6, style: 'icon', size: '1820x1024' }, { n: 4 }],
  )
  t.same(await nextUsage(), { meters: { images: 10 }, estimated: false })
  imageUpstream.next = () => ({ body: { created: 1, data: [{ b64_json: 'PHN2Zy8+' }] } })
  t.same(await chat('rc-v3', [user('a fox')], { response_format: { type: 'b64_json' } }), [
    'PHN2Zy8+',
  ])
  t.equal(imageUpstream.requests.at(-1)?.body.response_format, 'b64_json')
})
t.test('images by chat: clients of the other formats', async t => {
  for (const model of ['gp-4o-image', 'rc-v3']) {
    const message = await anthropic.messages.create({
      model,
      max_tokens: 9,
      messages: [user('a cat')],
    })
    t.match(message.content, [{ type: 'text', text: /https:\/\/a\.example/ }], model)
    const response = await openai.responses.create({ model, input: 'a cat' })
    t.match(response.output_text, /https:\/\/a\.example/, model)
    const answer = await google.models.generateContent({ model, contents: 'a cat' })
    t.match(JSON.stringify(answer.candidates), /https:\/\/a\.example/, model)
  }
  t.same(new Set(imageUpstream.requests.map(({ body }) => body.prompt)), new Set(['a cat']))
})
t.test('images by chat: invalid requests name the field', async t => {
  const video = user([{ type: 'text', text: 'x' }, picture('https://a.example/a.mp4')])
  const privateUrl = user([{ type: 'text', text: 'x' }, picture('http://127.0.0.1:1/a.png')])
  const image = user([{ type: 'text', text: 'x' }, picture(DATA_URL)])
  for (const [model, message, more, words] of [
    ['gp-4o-image', user('x'), { n: 11 }, { param: 'n' }],
    ['gp-4o-image', user('x'), { n: 1.5 }, { param: 'n' }],
    ['gp-4o-image', user(' '), {}, { message: /no user message describes/ }],
    ['gp-4o-image', video, {}, { param: 'messages[0].content[1]' }],
    ['gp-4o-image', privateUrl, {}, { param: 'messages[0].content[1]' }],
    ['flux-1.1-pro', image, {}, { param: 'messages[0].content[1]' }],
    ['rc-v3', video, {}, { param: 'messages[0].content[1]' }],
    ['rc-v3', { role: 'assistant', content: 'x' }, {}, { message: /no user message describes/ }],
  ] as const)
    t.match(
      await errorOf(chat(model, [message], more)),
      { status: 400, ...words },
      JSON.stringify(words),
    )
  t.same(imageUpstream.requests, [], 'no upstream was called')
})
t.test('images by chat: an upstream error in the first or a later call is reported', async t => {
  const refusal = {
    status: 400,
    body: { error: { message: 'not that', code: 'moderation_blocked' } },
  }
  imageUpstream.next = () => refusal
  t.match(await errorOf(chat('gp-4o-image', [user('x')])), { status: 400, message: /not that/ })
  imageUpstream.next = ({ body }) =>
    body.n === 4 ? refusal : { body: imageUpstream.images(body.n) }
  t.match(await errorOf(chat('rc-v3', [user('x')], { n: 10 })), {
    status: 400,
    message: /not that/,
  })
  imageUpstream.next = () => ({ status: 402, body: { message: 'no balance' } })
  t.match(await errorOf(chat('rc-v3', [user('x')])), { status: 502, message: /operator/ })
  for (const body of [{}, { data: [] }, [], { data: [{}] }]) {
    imageUpstream.next = () => ({ body })
    t.match(await errorOf(chat('rc-v3', [user('x')])), { status: 502 }, JSON.stringify(body))
  }
})
