/** More connections than files: the gateway refuses some, survives all, and serves on when they are gone. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { scaled } from '../helpers/long.ts'
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
  for (const client of clients) client.destroy()
  await eventually(async () => {
    const answer = await getAlone(`${primary.url}/stamp`).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  })
  const after = await primary.config()
  t.same(
    after.workers.map(({ pid }) => pid),
    workers.map(({ pid }) => pid),
    'nobody crashed',
  )
  t.equal((await getAlone(`${primary.admin}/-/ready`)).status, 200)
})
