/** A rotated key under `archive`, `backup`, `restore` and `move`: ended secrets stay ended,
 *  those of an overlap stay valid, and all share one quota. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openDatabase } from '../../../engine/store/database.ts'
import { archiveCharges } from '../../../plugins/ledger/archive/archive.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway/gateway.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { giveCredit } from '../../helpers/money/credit.ts'
import { startPostgres } from '../../helpers/store/postgres.ts'
import { temporaryFolder } from '../../helpers/store/store.ts'

t.setTimeout(300_000)

const CONFIG = fileURLToPath(new URL('../../../routes.yaml', import.meta.url))
const QUOTA = 3_000
const CALL = { model: 'gp-4.1', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }

type Send = (path: string, secret: string, body?: object) => Promise<Response>
const sendTo =
  ({ url }: Pick<TestGateway, 'url'>): Send =>
  (path, secret, body) =>
    fetch(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
const statusOf = async (send: Send, secret: string): Promise<number> => {
  const response = await send('/v1/chat/completions', secret, CALL)
  await response.text()
  return response.status
}
interface Keys {
  readonly token: string
  /** Of the key with a quota. */
  readonly id: number
  /** Its secrets: two of an overlap, then the latest. */
  readonly valid: readonly string[]
  /** Ended by a rotation without an overlap, or by one after an overlap. */
  readonly ended: readonly string[]
  /** Of a key that is rotated after the backup. */
  readonly later: { readonly id: number; readonly secret: string }
}
const usedOf = async (send: Send, { token, id }: Keys): Promise<number> => {
  const keys = (await (await send('/api/keys?limit=100', token)).json()) as {
    readonly data: readonly { readonly id: number; readonly used_quota: number }[]
  }
  return keys.data.find(key => key.id === id)?.used_quota ?? -1
}
const makeKeys = async (send: Send, token: string): Promise<Keys> => {
  const change = async (path: string, body: object): Promise<{ id: number; key: string }> =>
    ((await (await send(path, token, body)).json()) as { data: { id: number; key: string } }).data
  const rotate = async (id: number, overlap?: string): Promise<string> =>
    (await change(`/api/keys/${id}/rotate`, overlap === undefined ? {} : { overlap })).key
  const shared = await change('/api/keys', { name: 'a', quota: QUOTA, quota_period: 'month' })
  const valid = [shared.key, await rotate(shared.id, '48h'), await rotate(shared.id, '24h')]
  const replaced = await change('/api/keys', { name: 'b' })
  await rotate(replaced.id)
  const leaked = await change('/api/keys', { name: 'c' })
  const second = await rotate(leaked.id, '24h')
  await rotate(leaked.id)
  const { id, key } = await change('/api/keys', { name: 'd' })
  const ended = [replaced.key, leaked.key, second]
  return { token, id: shared.id, valid, ended, later: { id, secret: key } }
}

/** The first calls of a gateway on a copy of the store: each secret has its state and its quota. */
const checkSecrets = async (t: Test, gateway: TestGateway, keys: Keys, used: number) => {
  const send = sendTo(gateway)
  t.equal(await usedOf(send, keys), used, 'the use of the quota is that of the source')
  for (const secret of keys.ended) t.equal(await statusOf(send, secret), 401, 'it stays ended')
  for (const secret of keys.valid) t.equal(await statusOf(send, secret), 200, 'it stays valid')
  const after = await usedOf(send, keys)
  t.ok(after > used, `${after} of ${QUOTA} are used`)
  return after
}
/** Uses up the quota by all secrets in turn; then each is refused. */
const useUp = async (t: Test, gateway: TestGateway, keys: Keys) => {
  const send = sendTo(gateway)
  let isLeft = true
  for (let round = 0; isLeft && round < 50; round++) {
    isLeft = false
    for (const secret of keys.valid) if ((await statusOf(send, secret)) === 200) isLeft = true
  }
  for (const secret of keys.valid)
    t.equal(await statusOf(send, secret), 403, 'the quota is used up for each')
  const used = await usedOf(send, keys)
  t.ok(used <= QUOTA && used > QUOTA - 1_000, `${used} of ${QUOTA} are used`)
}

t.test('rotated keys: archive, backup, restore and move change no secret', async t => {
  const server = await startPostgres()
  t.teardown(() => server.stop())
  const dataFolder = temporaryFolder(t)
  const run = async (...argv: readonly string[]) => {
    const result = await tollgate(argv, { TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: CONFIG })
    t.equal(result.code, 0, `${argv.join(' ')}: ${result.out} ${result.err}`)
  }
  /** Starts a gateway for one step. */
  const within = async <T>(
    env: Readonly<Record<string, string>>,
    step: (gateway: TestGateway) => Promise<T>,
  ): Promise<T> => {
    const gateway = await startGateway({ data: dataFolder, env })
    try {
      return await step(gateway)
    } finally {
      await gateway.stop()
    }
  }
  const { keys, used: first } = await within({}, async gateway => {
    const database = await openDatabase({ url: 'sqlite:', data: dataFolder, writeTimeout: 10_000 })
    await giveCredit(database, 1, 10n ** 15n)
    const send = sendTo(gateway)
    const token = await eventually(() => /\b(st-[A-Za-z0-9]{20,})/.exec(gateway.output())?.[1])
    const keys = await makeKeys(send, token)
    for (const secret of keys.valid) t.equal(await statusOf(send, secret), 200)
    const before = await usedOf(send, keys)
    const folder = join(dataFolder, 'archive')
    const { charges } = await archiveCharges(database, { folder, before: Date.now() + 60_000 })
    await database.close()
    t.ok(charges >= keys.valid.length, `${charges} charges are archived`)
    return { keys, used: await checkSecrets(t, gateway, keys, before) }
  })

  const file = join(temporaryFolder(t), 'copy.db')
  await run('backup', file)
  await within({}, async gateway => {
    await checkSecrets(t, gateway, keys, first)
    const send = sendTo(gateway)
    t.equal((await send(`/api/keys/${keys.later.id}/rotate`, keys.token, {})).status, 200)
    await eventually(async () => (await statusOf(send, keys.later.secret)) === 401 || undefined)
  })
  await run('restore', file, '--replace')
  const used = await within({}, async gateway => {
    const { secret } = keys.later
    t.equal(await statusOf(sendTo(gateway), secret), 200, 'its rotation was after the backup')
    return checkSecrets(t, gateway, keys, first)
  })

  const url = await server.create()
  await run('move', '--to', url)
  await within({ DATABASE_URL: url }, async gateway => {
    await checkSecrets(t, gateway, keys, used)
    await useUp(t, gateway, keys)
  })
})
