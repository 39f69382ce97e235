/** The image endpoint with the official SDK: pass-through, Recraft, usage and streams. */
import OpenAI from 'openai'
import t from 'tap'
import { judgeOf } from '../../helpers/answered.ts'
import { bed, counted, failed, gateway } from '../../helpers/drawing.ts'

const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'k', maxRetries: 0 })
const generate = (model: string, more: object = {}) =>
  openai.images.generate({ model, prompt: 'a cat', ...more }) as Promise<OpenAI.ImagesResponse>

t.test('image endpoint: a body of the same format passes with the target’s model name', async t => {
  bed.next = () => ({ body: bed.images(2, { foreign: true }) })
  const answer = await generate('gp-4o-image', {
    n: 2,
    size: '1024x1024',
    quality: 'high',
    foreign: 1,
  })
  t.match(answer, { foreign: true, data: [{ url: 'https://a.example/1.png' }, {}] })
  t.same(bed.seen[0]?.body, {
    model: 'gpt-image-1',
    prompt: 'a cat',
    n: 2,
    size: '1024x1024',
    quality: 'high',
    foreign: 1,
  })
  t.same(await counted(), { meters: { images: 2 }, estimated: false })
})
t.test('image endpoint: splits a request into several calls', async t => {
  const { data } = await generate('dall-e-3', { n: 2, style: 'vivid' })
  t.equal(data?.length, 2)
  t.match(
    bed.seen.map(({ body }) => body),
    [{ n: 1, style: 'vivid' }, { n: 1 }],
  )
  t.same(await counted(), { meters: { images: 2 }, estimated: false })
})
t.test('image endpoint: maps sizes to Recraft’s and reports unsupported fields', async t => {
  bed.next = () => ({
    body: {
      created: 7,
      data: [{ image_id: 'i', b64_json: 'AAAA', revised_prompt: 'the cat' }],
    },
  })
  const { data, response } = await openai.images
    .generate({
      model: 'rc-v3',
      prompt: 'a cat',
      size: '1024x1792',
      quality: 'hd',
      response_format: 'b64_json',
    })
    .withResponse()
  t.same(data.data, [{ b64_json: 'AAAA', revised_prompt: 'the cat' }])
  t.equal(judgeOf('images').complaint('answer', structuredClone(data)), undefined)
  t.equal(response.headers.get('x-tollgate-dropped'), 'quality')
  t.match(bed.seen[0]?.body, { model: 'recraftv3', size: '1024x1820', response_format: 'b64_json' })
})
t.test('image endpoint: a stream passes and is counted at its end', async t => {
  const partial = {
    type: 'image_generation.partial_image',
    b64_json: 'AAAA',
    partial_image_index: 0,
  }
  const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 }
  const completedEvent = { type: 'image_generation.completed', b64_json: 'AAAA', usage }
  const events = [partial, completedEvent]
    .map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
  bed.next = () => ({ events })
  const types: string[] = []
  const stream = await openai.images.generate({ model: 'gp-4o-image', prompt: 'x', stream: true })
  for await (const { type } of stream) types.push(type)
  t.same(types, [partial.type, completedEvent.type])
  t.same(await counted(), { meters: { images: 1, input: 10, output: 100 }, estimated: false })
  bed.next = () => ({
    events: events.slice(0, events.indexOf('event: image_generation.completed')),
  })
  const shortStream = await openai.images.generate({
    model: 'gp-4o-image',
    prompt: 'x',
    stream: true,
  })
  const reading = (async () => {
    for await (const _ of shortStream);
  })()
  t.match(await failed(reading), { message: /before it was complete/ })
  t.match(await counted(), { estimated: true })
})
t.test('image endpoint: rejects a model of another endpoint', async t => {
  t.match(await failed(generate('nope')), { status: 404, code: 'model_not_found' })
  t.match(await failed(generate('gp-4.1')), {
    status: 404,
    message: /not available on this endpoint/,
  })
})
t.test('image endpoint: invalid requests name the field', async t => {
  for (const [more, param] of [
    [{ prompt: undefined }, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 5 }, 'prompt'],
    [{ n: 11 }, 'n'],
    [{ n: 0 }, 'n'],
    [{ n: '2' }, 'n'],
    [{ size: 'large' }, 'size'],
    [{ quality: 'best' }, 'quality'],
    [{ response_format: 'png' }, 'response_format'],
    [{ stream: 'yes' }, 'stream'],
    [{ partial_images: 4 }, 'partial_images'],
    [{ output_compression: 101 }, 'output_compression'],
  ] as const)
    t.match(
      await failed(generate('gp-4o-image', more)),
      { status: 400, type: 'invalid_request_error', param },
      JSON.stringify(more),
    )
  t.same(bed.seen, [], 'no upstream was called')
})
