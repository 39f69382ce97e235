/** Interactions in the background, translated and passed on: shown while they run, cancelled,
 *  deleted, failed, continued, and finished by another worker. */
import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import { postTo } from '../../helpers/gateway/post.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { plainReply, responseBody, startStored } from '../../helpers/gateway/stored-responses.ts'

const { upstream, gateway, rows, lastRequest } = await startStored(t)
const { interactions } = new GoogleGenAI({
  apiKey: await gateway.key(),
  httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
})
const until = (id: string, status: string) =>
  eventually(async () => {
    const current = await interactions.get(id).catch(() => undefined)
    return current?.status === status ? current : undefined
  })
const statusOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'it did not fail',
    error => Reflect.get(error, 'status'),
  )
const charge = async (id: string) =>
  (await rows(`SELECT state, amount FROM charges WHERE request = 'req_${id.slice(4)}'`))[0]

const interactionBody = (text: string) => ({
  id: 'int_upstream',
  object: 'interaction',
  model: 'gemini',
  status: 'completed',
  steps: [{ type: 'model_output', content: [{ type: 'text', text }] }],
  usage: { total_input_tokens: 10, total_output_tokens: 5, total_tokens: 15 },
})
/** The answer of each upstream. */
const ANSWERS = {
  gp: (text: string) => responseBody('resp_x', text),
  gi: interactionBody,
} as const
const start = async (model: string, more: object = {}) => {
  const request = { model, input: 'Think', background: true, stream: false, ...more } as const
  const { id, status } = await interactions.create(request)
  t.equal(status, 'in_progress')
  return id
}

for (const [model, answer] of Object.entries(ANSWERS)) {
  t.test(`background interaction on ${model}: runs after its answer, is charged`, async t => {
    const [body, send] = plainReply(answer('deep'))
    await upstream.script(model, [body, { do: 'gate', name: model }, send])
    const id = await start(model)
    const running = await interactions.get(id, { include_input: true })
    t.match(running, { id, model, status: 'in_progress', input: [{ type: 'user_input' }] })
    const next = { model, input: 'Go on', previous_interaction_id: id, stream: false } as const
    t.equal(await statusOf(interactions.create(next)), 400, 'it is not finished')
    await upstream.open(model)
    const finished = await until(id, 'completed')
    t.match(finished, { id, steps: [{ content: [{ text: 'deep' }] }] })
    t.match(await charge(id), { state: 'settled', amount: 15_000_000 })
    const request = await lastRequest(model)
    t.match(request, { store: false })
    t.notOk('background' in request, 'the upstream gets a request in the foreground')
    await upstream.script(model, plainReply(answer('more')))
    await interactions.create(next)
    t.match(JSON.stringify(await lastRequest(model)), /Think.*deep.*Go on/)
  })

  for (const end of ['cancel', 'delete'] as const)
    t.test(
      `background interaction on ${model}: ${end} ends the request, frees the hold`,
      async t => {
        await upstream.script(model, [{ do: 'body' }, { do: 'stall' }])
        await upstream.forget()
        const id = await start(model)
        await upstream.until('body')
        await eventually(async () => ((await charge(id))?.state === 'open' ? true : undefined))
        const ended = await interactions[end](id)
        if (end === 'cancel') t.match(ended, { id, status: 'cancelled' })
        await upstream.until('close')
        await eventually(async () => ((await charge(id))?.state === 'released' ? true : undefined))
        if (end === 'delete') return void t.equal(await statusOf(interactions.get(id)), 404)
        t.match(await interactions.cancel(id), { status: 'cancelled' }, 'also a second time')
        t.match(await interactions.get(id), { status: 'cancelled' })
      },
    )

  t.test(`background interaction on ${model}: an error of the upstream is stored`, async t => {
    const error = { message: 'no such thing', code: 'bad' }
    await upstream.script(model, plainReply({ error }, '400 Bad'))
    const failed = await until(await start(model), 'failed')
    t.match(failed, { errors: [{ code: String, message: /no such thing/ }] })
  })

  t.test(`background interaction on ${model}: an answer too large to store is free`, async t => {
    for (const size of [262_000, 400_000]) {
      await upstream.script(model, plainReply(answer('B'.repeat(size))))
      const { id } = await until(await start(model), 'failed')
      await eventually(async () => ((await charge(id))?.state === 'open' ? undefined : true))
      t.match(await charge(id), { state: 'released' }, `${size} characters`)
    }
  })
}

t.test('background interaction: a tier without a price is left out, and named', async t => {
  await upstream.script('gi', plainReply(interactionBody('standard')))
  const request = { model: 'gi', input: 'Think', background: true, service_tier: 'priority' }
  const response = await postTo(`${gateway.url}/v1/interactions`, request, {
    'x-goog-api-key': await gateway.key(),
  })
  t.equal(response.status, 200)
  t.equal(response.headers.get('x-tollgate-dropped'), 'service_tier')
  const { id } = (await response.json()) as { readonly id: string }
  await until(id, 'completed')
  t.notOk('service_tier' in (await lastRequest('gi')), 'the upstream gets none')
})

t.test('background interaction: another worker finishes it after its own crashes', async t => {
  await upstream.script(
    'gi',
    [{ do: 'body' }, { do: 'stall' }],
    plainReply(interactionBody('late')),
  )
  await upstream.forget()
  const id = await start('gi')
  await upstream.until('body')
  await eventually(async () => ((await charge(id))?.state === 'open' ? true : undefined))
  const config = await gateway.askAdmin('/-/config')
  const { workers } = (await config.json()) as { workers: readonly { readonly pid: number }[] }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  t.match(await until(id, 'completed'), { id, steps: [{ content: [{ text: 'late' }] }] })
  t.match(await charge(id), { state: 'released' })
  t.match(await charge(`${id}_2`), { state: 'settled', amount: 15_000_000 })
  t.same(await rows('SELECT response FROM stored_calls'), [])
})
