/** Answers that hold no content: formats whose targets have no journey of their own. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { googleInteractions } from '../../../plugins/formats/google-interactions/index.ts'
import { openaiCompletions } from '../../../plugins/formats/openai-completions/index.ts'
import { openaiImages } from '../../../plugins/formats/openai-images/index.ts'
import { openaiResponses } from '../../../plugins/formats/openai-responses/index.ts'
import type { SseEvent } from '../../../plugins/formats/stream/sse.ts'

t.test('interactions: a body without id, status and steps has failed', async t => {
  const { answers } = googleInteractions
  t.equal(answers?.failure({})?.status, 502)
  t.equal(answers?.failure({ message: 'no' })?.status, 502)
  t.equal(answers?.failure({ id: 'i', steps: [] })?.status, 502)
  t.equal(answers?.failure({ id: 'i', status: 'completed', steps: [] }), undefined)
})
t.test(
  'interactions: one cancelled without a step has failed, an incomplete one ended',
  async t => {
    const { answers, stream } = googleInteractions
    for (const [status, failed] of [
      ['failed', true],
      ['cancelled', true],
      ['incomplete', false],
      ['budget_exceeded', false],
    ] as const) {
      const interaction = { id: 'i', model: 'm', status, steps: [] }
      const event = eventOf({ event_type: 'interaction.completed', interaction })
      t.equal(answers?.failure(interaction) !== undefined, failed, status)
      t.equal(stream.carriesContent?.(event), !failed, status)
      t.equal(stream.failedEnd?.(event) !== undefined, failed, status)
      const steps = [{ type: 'model_output', content: [{ type: 'text', text: 'x' }] }]
      t.equal(answers?.failure({ ...interaction, steps }), undefined, `${status} with a step`)
    }
  },
)
t.test('responses: an incomplete one without output ends as its provider says', async t => {
  const { answers, stream } = openaiResponses
  const response = {
    id: 'r',
    status: 'incomplete',
    output: [],
    incomplete_details: { reason: 'max_output_tokens' },
  }
  const event = eventOf({ type: 'response.incomplete', response })
  t.equal(answers?.failure(response), undefined)
  t.ok(stream.carriesContent?.(event))
  t.equal(stream.failedEnd?.(event), undefined)
})
t.test('completions: choices that are cancelled without a text have failed', async t => {
  const { answers, stream } = openaiCompletions
  for (const [finish_reason, failed] of [
    ['cancelled', true],
    ['abort', true],
    ['length', false],
  ] as const) {
    const body = { choices: [{ index: 0, text: '', finish_reason }] }
    t.equal(answers?.failure(body) !== undefined, failed, finish_reason)
    t.equal(stream.carriesContent?.(eventOf(body)), !failed, finish_reason)
  }
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
