/** Responses that are made in the background: held and charged as any, cancelled, failed, and of a worker that died. */
import { APIConnectionError } from 'openai'
import t from 'tap'
import { eventually } from '../../helpers/primary.ts'
import { message, plain, refused, response, startStored } from '../../helpers/stored.ts'

const { upstream, gateway, mine, rows, sent } = await startStored(t)

/** While no worker serves. */
const nobody = (thrown: unknown): undefined => {
  if (!(thrown instanceof APIConnectionError)) throw thrown
}
const until = (id: string, status: string) =>
  eventually(async () => {
    const found = await mine.responses.retrieve(id).catch(nobody)
    return found?.status === status ? found : undefined
  })
const charge = async (id: string) =>
  (await rows(`SELECT state, amount FROM charges WHERE request = 'req_${id.slice(5)}'`))[0]

t.test('in the background it is made after its client has gone, and charged', async t => {
  await upstream.script('cl', plain(message('done')))
  const [gate, ...rest] = [
    { do: 'gate', name: 'slow' } as const,
    ...plain(response('resp_x', 'deep')).slice(1),
  ]
  await upstream.script('gp', [{ do: 'body' }, gate, ...rest])
  const queued = await mine.responses.create({ model: 'gp', input: 'Think', background: true })
  t.equal(queued.status, 'queued')
  t.ok(queued.background)
  t.equal((await until(queued.id, 'in_progress')).id, queued.id)
  await refused(
    t,
    mine.responses.create({ model: 'cl', input: 'x', previous_response_id: queued.id }),
    400,
    { param: 'previous_response_id' },
  )
  await upstream.open('slow')
  const done = await until(queued.id, 'completed')
  t.equal(done.id, queued.id)
  t.ok(done.background)
  t.match(done.output, [{ content: [{ text: 'deep' }] }])
  t.match(await charge(queued.id), { state: 'settled', amount: 15_000_000 })
  t.notOk('background' in (await sent('gp')), 'the gateway waits, not the upstream')
  await mine.responses.create({ model: 'cl', input: 'Go on', previous_response_id: queued.id })
  t.match(JSON.stringify((await sent('cl')).messages), /Think.*deep.*Go on/)
})

t.test('cancelled it stops, and what was held goes back', async t => {
  await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }])
  await upstream.forget()
  const bound = { max_output_tokens: 16 }
  const { id } = await mine.responses.create({
    model: 'gp',
    input: 'x',
    ...bound,
    background: true,
  })
  await upstream.until('body')
  const [held] = await eventually(async () => {
    const found = await rows("SELECT held FROM charges WHERE state = 'open'")
    return found.length > 0 ? found : undefined
  })
  t.ok(Number(held?.held) < 300_000_000, 'the bound of the request bounds the hold')
  t.equal((await mine.responses.cancel(id)).status, 'cancelled')
  await upstream.until('close')
  await eventually(async () => ((await charge(id))?.state === 'released' ? true : undefined))
  t.equal((await mine.responses.cancel(id)).status, 'cancelled', 'and again')
  t.equal((await mine.responses.retrieve(id)).status, 'cancelled')
})

t.test('what fails in the background says why', async t => {
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

t.test('a worker that dies leaves it failed, and holds nothing', async t => {
  await upstream.script('gp', [{ do: 'body' }, { do: 'stall' }])
  await upstream.forget()
  const { id } = await mine.responses.create({ model: 'gp', input: 'x', background: true })
  await upstream.until('body')
  await eventually(async () => ((await charge(id))?.state === 'open' ? true : undefined))
  const config = await fetch(`${gateway.admin}/-/config`)
  const { workers } = (await config.json()) as { workers: readonly { readonly pid: number }[] }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  t.match((await until(id, 'failed')).error, { code: 'server_error' })
  t.match(await charge(id), { state: 'released' })
})
