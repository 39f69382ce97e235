/** Background responses during a drain: a replaced worker finishes them, and a stopping gateway
 *  waits for them within its grace period. */
import t from 'tap'
import { eventually } from '../../helpers/gateway/primary.ts'
import { plainReply, responseBody, startStored } from '../../helpers/gateway/stored-responses.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const {
  upstream,
  gateway,
  ownClient: mine,
  rows,
} = await startStored(t, `timeouts: { drain: ${scaled(3_000)}ms, keep_alive: 5s }`)

const gateSteps = (name: string) => [
  { do: 'body' } as const,
  { do: 'gate', name } as const,
  ...plainReply(responseBody(`resp_${name}`, name)).slice(1),
]
const createBackground = async () =>
  (await mine.responses.create({ model: 'gp', input: 'x', background: true })).id
/** The stored response and the charge of a background response. */
const storedState = async (id: string) => {
  const [row] = await rows(
    `SELECT r.status, r.response, r.process, c.state, c.amount FROM stored_responses r
     LEFT JOIN charges c ON c.request = 'req_${id.slice(5)}' WHERE r.id = '${id}'`,
  )
  return { status: row?.status, row, body: JSON.parse(String(row?.response)) }
}
const listWorkers = async () => {
  const config = await gateway.askAdmin('/-/config')
  return ((await config.json()) as { workers: { pid: number; state: string }[] }).workers
}
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('worker drain: a background response completes before its worker exits', async t => {
  await upstream.script('gp', gateSteps('renewed'))
  const id = await createBackground()
  await upstream.until('body')
  const [oldPid] = (await listWorkers()).map(({ pid }) => pid)
  if (oldPid === undefined) throw new Error('no worker is serving')
  process.kill(oldPid, 'SIGTERM')
  const isReplacement = ({ pid, state }: { pid: number; state: string }) =>
    pid !== oldPid && state === 'serving'
  await eventually(async () => (await listWorkers()).some(isReplacement) || undefined)
  t.equal((await mine.responses.retrieve(id)).status, 'in_progress')
  t.ok(isRunning(oldPid), 'the old worker waits')
  await upstream.open('renewed')
  await eventually(async () => !isRunning(oldPid) || undefined)
  t.match((await storedState(id)).row, { status: 'completed', process: null, state: 'settled' })
  t.equal((await mine.responses.retrieve(id)).output_text, 'renewed')
})

t.test('gateway stop: waits for background responses in time and leaves the others', async t => {
  await upstream.script('gp', gateSteps('timely'), gateSteps('never'))
  await upstream.forget()
  const timely = await createBackground()
  await upstream.until('body')
  const late = await createBackground()
  await eventually(async () => ((await upstream.events('body')).length === 2 ? true : undefined))
  const stopping = gateway.stop('SIGTERM')
  await eventually(async () =>
    (await fetch(`${gateway.admin}/-/ready`)).status === 503 ? true : undefined,
  )
  await upstream.open('timely')
  await eventually(async () =>
    (await storedState(timely)).status === 'completed' ? true : undefined,
  )
  await stopping
  t.match((await storedState(timely)).row, { process: null, state: 'settled', amount: 15_000_000 })
  const { row } = await storedState(late)
  t.match(row, { status: 'in_progress', process: null, state: 'released', amount: 0 })
  const calls = await rows('SELECT response, attempts FROM stored_calls')
  t.match(calls, [{ response: late, attempts: 1 }], 'the next start runs it again')
  t.notMatch(gateway.output(), /"level":"error"/, 'no worker had to be killed')
})
