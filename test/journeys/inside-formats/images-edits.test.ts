/** Image edits with the official SDK and by hand: forms pass unchanged except for the model
 *  name. */
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { postTo } from '../../helpers/gateway/post.ts'
import { DATA_URL, errorOf, gateway, imageUpstream, nextUsage, PNG } from './image-gateway.ts'

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const png = (name = 'cat.png') => toFile(PNG, name, { type: 'image/png' })
const edit = async (more: object = {}) =>
  openai.images.edit({
    model: 'gp-4o-image',
    image: await png(),
    prompt: 'with a hat',
    ...more,
  } as OpenAI.ImageEditParamsNonStreaming)

t.test('image edits: a form passes with the target’s model name', async t => {
  const { data } = await edit({ n: 2, quality: 'low', mask: await png('mask.png') })
  t.equal(data?.length, 2)
  const [request] = imageUpstream.requests
  t.equal(request?.path, '/v1/images/edits')
  t.match(request?.body, { model: 'gpt-image-1', prompt: 'with a hat', n: '2', quality: 'low' })
  for (const name of ['image', 'mask']) {
    const file = request?.form?.get(name) as File
    t.match({ type: file.type, bytes: await file.bytes() }, { type: 'image/png', bytes: PNG })
  }
  t.same(await nextUsage(), { meters: { images: 2 }, estimated: false })
})
t.test('image edits: accept several images and non-ASCII names', async t => {
  await edit({ image: [await png('größe.png'), await png('b.png')], prompt: 'größer\r\n--x' })
  const [request] = imageUpstream.requests
  t.equal(request?.body.prompt, 'größer\r\n--x')
  t.same(
    request?.form?.getAll('image[]').map(file => (file as File).name),
    ['größe.png', 'b.png'],
  )
})
t.test('image edits: JSON passes', async t => {
  const response = await postTo(`${gateway.url}/v1/images/edits`, {
    model: 'gp-4o-image',
    prompt: 'x',
    images: [{ image_url: DATA_URL }],
  })
  t.equal(response.status, 200)
  t.same(imageUpstream.requests[0]?.body, {
    model: 'gpt-image-1',
    prompt: 'x',
    images: [{ image_url: DATA_URL }],
  })
})
t.test('image edits: a stream passes', async t => {
  const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 }
  const completedEvent = { type: 'image_edit.completed', b64_json: 'AAAA', usage }
  imageUpstream.next = () => ({
    events: `event: ${completedEvent.type}\ndata: ${JSON.stringify(completedEvent)}\n\n`,
  })
  const types: string[] = []
  const stream = await openai.images.edit({
    model: 'gp-4o-image',
    image: await png(),
    prompt: 'x',
    stream: true,
  })
  for await (const { type } of stream) types.push(type)
  t.same(types, [completedEvent.type])
  t.same(await nextUsage(), { meters: { images: 1, input: 10, output: 100 }, estimated: false })
})
t.test('image edits: invalid requests name the field', async t => {
  for (const [more, param] of [
    [{ prompt: undefined }, 'prompt'],
    [{ n: 11 }, 'n'],
    [{ n: 'two' }, 'n'],
    [{ size: 'large' }, 'size'],
    [{ image: undefined }, 'image'],
    [{ image: 'a text' }, 'image'],
    [{ quality: await png() }, 'quality'],
  ] as const)
    t.match(await errorOf(edit(more)), { status: 400, param }, JSON.stringify(more))
  t.same(imageUpstream.requests, [], 'no upstream was called')
})

const part = (head: string, content: string) => `--b\r\n${head}\r\n\r\n${content}\r\n`
const field = (name: string, content: string) =>
  part(`content-disposition: form-data; name="${name}"`, content)
const image = part('content-disposition: form-data; name="image"; filename="a.png"', 'png')
const completeForm = `${field('model', 'gp-4o-image')}${field('prompt', 'x')}${image}--b--\r\n`
const send = async (body: string, type = 'multipart/form-data; boundary=b') => {
  const headers = { 'content-type': type }
  const response = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body })
  const { error } = (await response.json()) as { readonly error?: { readonly message: string } }
  return { status: response.status, message: error?.message }
}
t.test('image edits: ambiguous forms are rejected', async t => {
  t.match(await send(completeForm), { status: 200 })
  imageUpstream.requests.length = 0
  for (const [what, body, text] of [
    ['cut', completeForm.slice(0, -8), /not a valid multipart form/],
    ['empty', '', /not a valid multipart form/],
    ['with a preamble', `x\r\n${completeForm}`, /not a valid multipart form/],
    ['of another boundary', completeForm.replaceAll('--b', '--c'), /not a valid multipart form/],
    [
      'a field twice',
      field('quality', 'low') + field('quality', 'high') + completeForm,
      /'quality'.*once/,
    ],
    [
      'two names',
      completeForm.replace('name="prompt"', 'name="prompt"; name="n"'),
      /not a valid multipart form/,
    ],
    [
      'an encoding',
      completeForm.replace('content-d', 'content-transfer-encoding: base64\r\ncontent-d'),
      /not a valid m/,
    ],
    [
      'a head twice',
      completeForm.replace('content-d', 'content-disposition: x\r\ncontent-d'),
      /not a valid multipart/,
    ],
    [
      'a head without end',
      part('x'.repeat(5_000), '') + completeForm,
      /not a valid multipart form/,
    ],
    ['too many parts', field('a', 'b').repeat(70) + completeForm, /not a valid multipart form/],
    ['a long text', field('user', 'x'.repeat(300_000)) + completeForm, /'user' is longer/],
  ] as const)
    t.match(await send(body), { status: 400, message: text }, what)
  for (const type of [
    'multipart/form-data',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
    'multipart/mixed; boundary=b',
  ])
    t.match(
      await send(completeForm, type),
      { status: 400, message: /not a valid multipart form/ },
      type,
    )
  t.match(await send(completeForm, 'text/plain'), { status: 415 })
  t.same(imageUpstream.requests, [], 'no upstream was called')
})
