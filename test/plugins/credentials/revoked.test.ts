/** A key that one process revokes is refused by other processes within a second. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { revoke } from '../../../plugins/credentials/statements.ts'
import { openAccounts } from '../../helpers/accounts.ts'
import { scaled } from '../../helpers/long.ts'
import { forkSwiftly } from '../../helpers/operator.ts'

const { database, store, ...accounts } = await openAccounts(t)
const ann = await accounts.account('ann')

/** ms; longer on a loaded machine. */
const DEADLINE = scaled(10_000, 1_000)

const startWorker = async (): Promise<ChildProcess> => {
  const program = new URL('../../helpers/auth-client.ts', import.meta.url)
  const worker = forkSwiftly(program, [JSON.stringify({ url: 'sqlite:', data: store.data })])
  t.teardown(() => worker.kill('SIGKILL'))
  await once(worker, 'message')
  return worker
}
const ask = async (worker: ChildProcess, text: string) => {
  const answer = once(worker, 'message')
  worker.send({ headers: { authorization: `Bearer ${text}` } })
  return (await answer)[0]
}

t.test('revocation: two workers with traffic refuse a revoked key within the deadline', async t => {
  const [one, two] = await Promise.all([startWorker(), startWorker()])
  const key = await accounts.key(ann)
  for (const worker of [one, two]) t.match(await ask(worker, key.text), { account: { id: ann } })
  await database.write(revoke('key', key.id, Date.now()))
  const revokedAt = performance.now()
  const untilRefused = async (worker: ChildProcess) => {
    for (;;) {
      const { code } = await ask(worker, key.text)
      if (code === 'AUTH_REVOKED') return performance.now() - revokedAt
      if (performance.now() - revokedAt > DEADLINE) return Number.POSITIVE_INFINITY
    }
  }
  const took = Math.max(...(await Promise.all([untilRefused(one), untilRefused(two)])))
  t.comment(`refused after ${Math.round(took)} ms`)
  t.ok(took <= DEADLINE, 'within its deadline')
})
