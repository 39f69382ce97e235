/** Answers that hold no content: formats whose targets have no journey of their own. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { googleInteractions } from '../../../plugins/formats/google-interactions/index.ts'
import { openaiImages } from '../../../plugins/formats/openai-images/index.ts'
import type { SseEvent } from '../../../plugins/formats/stream/sse.ts'

t.test('interactions: a body without id, status and steps has failed', async t => {
  const { answers } = googleInteractions
  t.equal(answers?.failure({})?.status, 502)
  t.equal(answers?.failure({ message: 'no' })?.status, 502)
  t.equal(answers?.failure({ id: 'i', status: 'completed', steps: [] }), undefined)
})
const eventOf = (data: { readonly [key: string]: Json }): SseEvent => ({
  name: '',
  data: JSON.stringify(data),
  start: 0,
  end: 0,
})
t.test('interactions stream: an empty delta is not content', async t => {
  const { stream } = googleInteractions
  const delta = (delta: Json) => eventOf({ event_type: 'step.delta', index: 0, delta })
  t.notOk(stream.carriesContent?.(delta({ type: 'text', text: '' })))
  t.ok(stream.carriesContent?.(delta({ type: 'text', text: 'x' })))
  t.ok(stream.carriesContent?.(eventOf({ event_type: 'interaction.completed' })))
})
t.test('images: items without an image fail', async t => {
  const { answers } = openaiImages
  for (const data of [[], [{}], [{ revised_prompt: 'x' }], [{ b64_json: '' }]])
    t.equal(answers?.failure({ created: 1, data })?.status, 502, JSON.stringify(data))
  for (const data of [[{ url: 'https://e.com/1' }], [{}, { b64_json: 'AA' }]])
    t.equal(answers?.failure({ created: 1, data }), undefined)
})
