/** More connections than file descriptors: the gateway refuses some, survives, and serves again
 *  after they close. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { busyDuring } from '../helpers/memory.ts'
import { eventually, folderWith, getAlone, startPrimary } from '../helpers/primary.ts'

t.test('file descriptor limit: 128 descriptors and many more connections', async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2, openFiles: 128 })
  const { workers } = await primary.config()
  const { port, hostname } = new URL(primary.url)
  const clients: Socket[] = []
  let closedCount = 0
  for (let each = 0; each < scaled(400, 1_000); each++) {
    const client = connect(Number(port), hostname)
    client.on('error', () => {})
    client.on('close', () => closedCount++)
    clients.push(client)
    await Promise.race([once(client, 'connect'), once(client, 'close')])
    client.write('GET /stamp HTTP/1.1\r\nhost: gateway\r\n')
  }
  await eventually(() => (closedCount > clients.length / 2 ? true : undefined))
  t.ok(closedCount < clients.length, 'some are served')
  if (LONG) {
    const share = await busyDuring(primary.child.pid ?? 0, 3_000)
    t.ok(share < 0.5, `no busy loop: ${(share * 100).toFixed(0)} % of a processor`)
  }
  const closedAt = performance.now()
  for (const client of clients) client.destroy()
  await eventually(async () => {
    const answer = await getAlone(`${primary.url}/stamp`).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  })
  const recovery = performance.now() - closedAt
  t.comment(`served again ${recovery.toFixed(0)} ms after they closed`)
  if (LONG) t.ok(recovery <= 2_000)
  const after = await primary.config()
  t.same(
    after.workers.map(({ pid }) => pid),
    workers.map(({ pid }) => pid),
    'no worker crashed',
  )
  t.equal((await getAlone(`${primary.admin}/-/ready`)).status, 200)
})
