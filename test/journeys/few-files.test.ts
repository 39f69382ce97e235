/** More connections than files: the gateway refuses some, survives all, and serves on when they are gone. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { LONG, scaled } from '../helpers/long.ts'
import { busyDuring } from '../helpers/memory.ts'
import { eventually, folderWith, getAlone, startPrimary } from '../helpers/primary.ts'

t.test('128 files and many more connections', async t => {
  const primary = await startPrimary(t, { files: folderWith(), workers: 2, openFiles: 128 })
  const { workers } = await primary.config()
  const { port, hostname } = new URL(primary.url)
  const clients: Socket[] = []
  let refused = 0
  for (let each = 0; each < scaled(400, 1_000); each++) {
    const client = connect(Number(port), hostname)
    client.on('error', () => {})
    client.on('close', () => refused++)
    clients.push(client)
    await Promise.race([once(client, 'connect'), once(client, 'close')])
    client.write('GET /stamp HTTP/1.1\r\nhost: gateway\r\n')
  }
  await eventually(() => (refused > clients.length / 2 ? true : undefined))
  t.ok(refused < clients.length, 'some are served')
  if (LONG) {
    const share = await busyDuring(primary.child.pid ?? 0, 3_000)
    t.ok(share < 0.5, `nobody spins: ${(share * 100).toFixed(0)} % of a processor`)
  }
  const gone = performance.now()
  for (const client of clients) client.destroy()
  await eventually(async () => {
    const answer = await getAlone(`${primary.url}/stamp`).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  })
  const back = performance.now() - gone
  t.comment(`served again ${back.toFixed(0)} ms after they left`)
  if (LONG) t.ok(back <= 2_000)
  const after = await primary.config()
  t.same(
    after.workers.map(({ pid }) => pid),
    workers.map(({ pid }) => pid),
    'nobody crashed',
  )
  t.equal((await getAlone(`${primary.admin}/-/ready`)).status, 200)
})
