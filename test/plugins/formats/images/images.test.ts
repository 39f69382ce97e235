/** Parts of the image formats: media types, batches, the requested form, counts of an answer that
 *  passes through, and the answer itself. */
import t from 'tap'
import { imageMimeOf } from '../../../../plugins/formats/images/image-answer.ts'
import { batchSizes, imageFormatIn } from '../../../../plugins/formats/images/image-prompt.ts'
import { ImageCounter } from '../../../../plugins/formats/openai-images/image-counter.ts'
import { encodeAnswer } from '../../../../plugins/formats/openai-images/write-answer.ts'

t.test('image data: the first characters of base64 tell the media type', async t => {
  t.equal(imageMimeOf('/9j/4AAQ'), 'image/jpeg')
  t.equal(imageMimeOf('UklGRiQA'), 'image/webp')
  for (const data of ['PHN2ZyB4', 'PD94bWwg']) t.equal(imageMimeOf(data), 'image/svg+xml')
  t.equal(imageMimeOf('iVBORw0K'), 'image/png')
})

t.test('image batches: hold what an upstream makes at once', async t => {
  t.same(batchSizes(10, 6), [6, 4])
  t.same(batchSizes(12, 6), [6, 6])
  t.same(batchSizes(1, 6), [1])
  t.same(batchSizes(0, 6), [])
})

t.test('image form: only `url` and `b64_json`, as a text or in an object', async t => {
  for (const format of ['url', 'b64_json'] as const) {
    t.equal(imageFormatIn({ response_format: format }), format)
    t.equal(imageFormatIn({ response_format: { type: format } }), format)
  }
  for (const response_format of ['png', { type: 'svg' }, null])
    t.equal(imageFormatIn({ response_format }), undefined)
})

t.test('image counter: counts each image once, wherever chunks end', async t => {
  const text = '{"data":[{"b64_json":"aGk="},{"url" : "http://a/b"}],"note":"\\"url\\":\\""}'
  for (let at = 0; at <= text.length; at++) {
    const counter = new ImageCounter()
    for (const part of [text.slice(0, at), text.slice(at)]) counter.push(Buffer.from(part))
    t.equal(counter.counts.images, 2, `cut at ${at}`)
  }
  const counter = new ImageCounter()
  for (const part of ['"u', 'rl":"http://a/b"']) counter.push(Buffer.from(part))
  t.equal(counter.counts.images, 1, 'the first byte of a chunk is kept')
})

t.test('image answer: has its time, its images, and counts where the upstream counts', async t => {
  const context = { id: 'x', now: 7, prompt: { tools: [] } } as never
  const answer = { choices: [], model: 'm' } as never
  t.same(encodeAnswer(answer, context), { created: 7, data: [] })
  t.match(encodeAnswer({ ...(answer as object), created: 5 } as never, context), { created: 5 })
  const counted = encodeAnswer({ ...(answer as object), meters: { output: 3 } } as never, context)
  t.match(counted, { usage: { output_tokens: 3 } })
})
