/** Image edits on Recraft: forms and JSON of /v1/images/edits, and images in chat. */
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { readGreys, writePng } from '../../helpers/formats/png.ts'
import { postTo } from '../../helpers/gateway/post.ts'
import { DATA_URL, errorOf, gateway, imageUpstream, nextUsage, PNG } from './image-gateway.ts'

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const png = (bytes: Uint8Array = PNG) => toFile(bytes, 'a.png', { type: 'image/png' })
const edit = async (more: object = {}) =>
  openai.images
    .edit({
      model: 'rc-v3',
      image: await png(),
      prompt: 'with a hat',
      ...more,
    } as OpenAI.ImageEditParamsNonStreaming)
    .withResponse()
const fileIn = async (name: string) => {
  const file = imageUpstream.requests[0]?.form?.get(name) as File
  return { type: file.type, bytes: Buffer.from(await file.bytes()) }
}

t.test('Recraft edits: convert a form and report unsupported fields', async t => {
  const { data, response } = await edit({ n: 8, size: '512x512', quality: 'high', style: 'icon' })
  t.equal(data.data?.length, 8)
  t.same(
    imageUpstream.requests.map(({ path, body }) => [path, body.n]),
    [
      ['/v1/images/imageToImage', '6'],
      ['/v1/images/imageToImage', '2'],
    ],
  )
  const { image: _, ...fields } = imageUpstream.requests[0]?.body ?? {}
  t.same(fields, {
    model: 'recraftv3',
    prompt: 'with a hat',
    n: '6',
    style: 'icon',
    strength: '0.5',
  })
  t.same(await fileIn('image'), { type: 'image/png', bytes: PNG })
  t.same(response.headers.get('x-tollgate-dropped')?.split(', ').sort(), ['quality', 'size'])
  t.same(await nextUsage(), { meters: { images: 8 }, estimated: false })
})
t.test('Recraft edits: change only the masked area', async t => {
  const rows = [Uint8Array.of(9, 9, 9, 0, 9, 9, 9, 255), Uint8Array.of(0, 0, 0, 255, 0, 0, 0, 0)]
  const mask = writePng({ width: 2, rows, type: 6, depth: 8, filters: [0, 4] })
  const { response } = await edit({ mask: await png(mask), strength: 0.2, negative_prompt: 'dull' })
  t.equal(imageUpstream.requests[0]?.path, '/v1/images/inpaint')
  const { image: _, mask: __, ...fields } = imageUpstream.requests[0]?.body ?? {}
  t.same(fields, {
    model: 'recraftv3',
    prompt: 'with a hat',
    n: '1',
    negative_prompt: 'dull',
  })
  t.same(readGreys((await fileIn('mask')).bytes), [
    [255, 0],
    [0, 255],
  ])
  t.equal(response.headers.get('x-tollgate-dropped'), 'strength')
})
t.test('Recraft edits: accept JSON with Recraft’s own fields', async t => {
  const response = await postTo(
    `${gateway.url}/v1/images/edits`,
    {
      model: 'rc-v3',
      prompt: 'x',
      strength: 0.8,
      controls: { no_text: true },
      images: [{ image_url: DATA_URL }],
    },
    { 'x-tollgate-strict': 'true' },
  )
  t.equal(response.status, 200)
  t.match(imageUpstream.requests[0]?.body, { strength: '0.8', controls: '{"no_text":true}' })
  t.same((await fileIn('image')).bytes, PNG)
})
t.test('Recraft edits: edit an image sent in chat, and generate an earlier one again', async t => {
  const show = { type: 'image_url', image_url: { url: DATA_URL } } as const
  const chat = (messages: object[]) =>
    openai.chat.completions.create({ model: 'rc-v3', messages: messages as never })
  const { choices } = await chat([
    { role: 'user', content: [{ type: 'text', text: 'with a hat' }, show] },
  ])
  t.equal(choices[0]?.message.content, 'https://a.example/1.png')
  t.match(imageUpstream.requests[0], {
    path: '/v1/images/imageToImage',
    body: { prompt: 'with a hat' },
  })
  await chat([
    { role: 'user', content: 'a cat' },
    { role: 'assistant', content: 'https://a.example/1.png' },
    { role: 'user', content: 'in red' },
  ])
  t.match(imageUpstream.requests[1], {
    path: '/v1/images/generations',
    body: { prompt: 'a cat\nin red' },
  })
})
t.test('Recraft edits: invalid requests name the field', async t => {
  const strict = { 'x-tollgate-strict': 'true' }
  const strictEdit = async () =>
    openai.images.edit(
      { model: 'rc-v3', image: await png(), prompt: 'x', size: '512x512' },
      { headers: strict },
    )
  t.match(await errorOf(strictEdit()), { status: 400, message: /size/ })
  for (const [more, param] of [
    [{ image: [await png(), await png()] }, 'image[1]'],
    [{ mask: await png() }, 'mask'],
    [{ mask: await png(Buffer.from('no image')) }, 'mask'],
    [{ image: await toFile(PNG, 'a.svg', { type: 'image/x y' }) }, 'image'],
  ] as const)
    t.match(await errorOf(edit(more)), { status: 400, param }, param)
  t.same(imageUpstream.requests, [], 'no upstream was called')
})
t.test('OpenAI edits: a target is called once per image, with the mask', async t => {
  const rows = [Uint8Array.of(9, 9, 9, 0)]
  const mask = writePng({ width: 1, rows, type: 6, depth: 8, filters: [0] })
  const { data } = await edit({ model: 'one-by-one', n: 2, mask: await png(mask) })
  t.equal(data.data?.length, 2)
  t.match(
    imageUpstream.requests.map(({ path, body }) => [path, body.n]),
    [
      ['/v1/images/edits', '1'],
      ['/v1/images/edits', '1'],
    ],
  )
  t.same((await fileIn('mask')).bytes, mask)
})
