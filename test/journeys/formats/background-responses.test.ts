/** Background responses: billing, cancellation, upstream errors and the crash of a worker. */
import { APIConnectionError } from 'openai'
import t from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import {
  messageBody,
  plainReply,
  rejectsWith,
  responseBody,
  startStored,
} from '../../helpers/gateway/stored-responses.ts'

const { upstream, gateway, ownClient: mine, rows, lastRequest: sentBody } = await startStored(t)

/** Ignores connection errors while no worker serves. */
const ignoreConnectionError = (error: unknown): undefined => {
  if (!(error instanceof APIConnectionError)) throw error
}
const until = (id: string, status: string) =>
  eventually(async () => {
    const stored = await mine.responses.retrieve(id).catch(ignoreConnectionError)
    return stored?.status === status ? stored : undefined
  })
const charge = async (id: string) =>
  (await rows(`SELECT state, amount FROM charges WHERE request = 'req_${id.slice(5)}'`))[0]

t.test('background response: completes after its client disconnects, and is charged', async t => {
  await upstream.script('cl', plainReply(messageBody('done')))
  const [gate, ...rest] = [
    { do: 'gate', name: 'slow' } as const,
    ...plainReply(responseBody('resp_x', 'deep')).slice(1),
  ]
  await upstream.script('gp', [{ do: 'body' }, gate, ...rest])
  const queuedResponse = await mine.responses.create({
    model: 'gp',
    input: 'Think',
    background: true,
  })
  t.equal(queuedResponse.status, 'queued')
  t.ok(queuedResponse.background)
  t.equal((await until(queuedResponse.id, 'in_progress')).id, queuedResponse.id)
  await rejectsWith(
    t,
    mine.responses.create({ model: 'cl', input: 'x', previous_response_id: queuedResponse.id }),
    400,
    { param: 'previous_response_id' },
  )
  await upstream.open('slow')
  const completedResponse = await until(queuedResponse.id, 'completed')
  t.equal(completedResponse.id, queuedResponse.id)
  t.ok(completedResponse.background)
  t.match(completedResponse.output, [{ content: [{ text: 'deep' }] }])
  t.match(await charge(queuedResponse.id), { state: 'settled', amount: 15_000_000 })
  t.notOk('background' in (await sentBody('gp')), 'the upstream gets a foreground request')
  await mine.responses.create({
    model: 'cl',
    input: 'Go on',
    previous_response_id: queuedResponse.id,
  })
  t.match(JSON.stringify((await sentBody('cl')).messages), /Think.*deep.*Go on/)
})

t.test(
  'background response: cancelling ends the upstream request and releases the hold',
  async t => {
    await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }])
    await upstream.forget()
    const limit = { max_output_tokens: 16 }
    const { id } = await mine.responses.create({
      model: 'gp',
      input: 'x',
      ...limit,
      background: true,
    })
    await upstream.until('body')
    const [openCharge] = await eventually(async () => {
      const openCharges = await rows("SELECT held FROM charges WHERE state = 'open'")
      return openCharges.length > 0 ? openCharges : undefined
    })
    t.ok(Number(openCharge?.held) < 300_000_000, 'the output limit of the request bounds the hold')
    t.equal((await mine.responses.cancel(id)).status, 'cancelled')
    await upstream.until('close')
    await eventually(async () => ((await charge(id))?.state === 'released' ? true : undefined))
    t.equal((await mine.responses.cancel(id)).status, 'cancelled', 'cancelling twice succeeds')
    t.equal((await mine.responses.retrieve(id)).status, 'cancelled')
  },
)

t.test('background response: an upstream error is stored with its reason', async t => {
  const text = '{"error":{"message":"no such thing","type":"invalid_request_error","code":"bad"}}'
  await upstream.script('gp', [
    { do: 'body' },
    {
      do: 'send',
      bytes: `HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    },
  ])
  const { id } = await mine.responses.create({ model: 'gp', input: 'x', background: true })
  t.match((await until(id, 'failed')).error, { code: 'bad', message: 'no such thing' })
})

t.test('background response: another worker finishes it after its own crashes', async t => {
  const steps = plainReply(responseBody('resp_again', 'finished'))
  await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }], steps)
  await upstream.forget()
  const { id } = await mine.responses.create({ model: 'gp', input: 'x', background: true })
  await upstream.until('body')
  await eventually(async () => ((await charge(id))?.state === 'open' ? true : undefined))
  const config = await gateway.askAdmin('/-/config')
  const { workers } = (await config.json()) as { workers: readonly { readonly pid: number }[] }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  t.equal((await until(id, 'completed')).output_text, 'finished')
  t.match(await charge(id), { state: 'released' })
  t.match(await charge(`${id}_2`), { state: 'settled', amount: 15_000_000 })
  t.same(await rows('SELECT response FROM stored_calls'), [])
})
