/** Responses in the background outlive the worker that is renewed, and a gateway that ends waits for them within its grace. */
import t from 'tap'
import { eventually } from '../../helpers/primary.ts'
import { plain, response, startStored } from '../../helpers/stored.ts'

const { upstream, gateway, mine, rows } = await startStored(
  t,
  'timeouts: { drain: 3s, keep_alive: 5s }',
)

const gated = (name: string) => [
  { do: 'body' } as const,
  { do: 'gate', name } as const,
  ...plain(response(`resp_${name}`, name)).slice(1),
]
const begin = async () =>
  (await mine.responses.create({ model: 'gp', input: 'x', background: true })).id
/** How it stands in the store, and what was taken for it. */
const standing = async (id: string) => {
  const [row] = await rows(
    `SELECT r.status, r.response, r.process, c.state, c.amount FROM stored_responses r
     LEFT JOIN charges c ON c.request = 'req_${id.slice(5)}' WHERE r.id = '${id}'`,
  )
  return { status: row?.status, books: row, told: JSON.parse(String(row?.response)) }
}
const workers = async () => {
  const config = await fetch(`${gateway.admin}/-/config`)
  return ((await config.json()) as { workers: { pid: number; state: string }[] }).workers
}
const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('a worker that is renewed makes it to its end', async t => {
  await upstream.script('gp', gated('renewed'))
  const id = await begin()
  await upstream.until('body')
  const [old] = (await workers()).map(({ pid }) => pid)
  if (old === undefined) throw new Error('nobody serves')
  process.kill(old, 'SIGTERM')
  const serves = ({ pid, state }: { pid: number; state: string }) =>
    pid !== old && state === 'serving'
  await eventually(async () => (await workers()).some(serves) || undefined)
  t.equal((await mine.responses.retrieve(id)).status, 'in_progress')
  t.ok(runs(old), 'the old one waits')
  await upstream.open('renewed')
  await eventually(async () => !runs(old) || undefined)
  t.match((await standing(id)).books, { status: 'completed', process: null, state: 'settled' })
  t.equal((await mine.responses.retrieve(id)).output_text, 'renewed')
})

t.test('a gateway that ends waits for what ends in time, and says what did not', async t => {
  await upstream.script('gp', gated('timely'), gated('never'))
  await upstream.forget()
  const timely = await begin()
  await upstream.until('body')
  const late = await begin()
  await eventually(async () => ((await upstream.seen('body')).length === 2 ? true : undefined))
  const ended = gateway.stop('SIGTERM')
  await eventually(async () =>
    (await fetch(`${gateway.admin}/-/ready`)).status === 503 ? true : undefined,
  )
  await upstream.open('timely')
  await eventually(async () => ((await standing(timely)).status === 'completed' ? true : undefined))
  await ended
  t.match((await standing(timely)).books, { process: null, state: 'settled', amount: 15_000_000 })
  const { books, told } = await standing(late)
  t.match(books, { status: 'failed', process: null, state: 'released', amount: 0 })
  t.match(told, {
    id: late,
    status: 'failed',
    output: [],
    error: { code: 'server_error', message: /stopped/ },
  })
  t.notMatch(gateway.output(), /"level":"error"/, 'and nobody had to be killed')
})
