/** A signal drains the gateway: not ready, no new connections, streams finish, and the rest is cut
 *  with an error event. */
import t from 'tap'
import {
  eventually,
  folderWith,
  getAlone,
  type Primary,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { shortOrLong } from '../helpers/run-settings.ts'

const drainWithin = (grace: string) => folderWith('one', `  timeouts: { drain: ${grace} }`)
const stream = async (primary: Primary, count: number, every: number) => {
  const response = await fetch(`${primary.url}/events?count=${count}&every=${every}`)
  return response
}
const untilNotReady = (primary: Primary) =>
  eventually(async () => ((await primary.ready()) === 503 ? true : undefined))

t.test('drain: streams that end within the grace period are complete', async t => {
  const primary = await startPrimary(t, { files: drainWithin('20s'), workers: 2 })
  const many = shortOrLong(30, 300)
  // Three seconds: they must still run when a busy machine has seen that the gateway drains.
  const streams = await Promise.all(Array.from({ length: many }, () => stream(primary, 60, 50)))
  const slow = fetch(`${primary.url}/fault?do=slow`)
  // A later connection was accepted, so this one was accepted, too.
  await getAlone(`${primary.url}/stamp`)
  primary.child.kill('SIGTERM')
  await untilNotReady(primary)
  t.equal((await slow).headers.get('connection'), 'close')
  await t.rejects(getAlone(`${primary.url}/stamp`), { code: 'ECONNREFUSED' })
  const texts = await Promise.all(streams.map(each => each.text()))
  t.ok(texts.every(text => text.endsWith('data: end\n\n')))
  t.equal(await primary.exitCode(), 0)
  t.notOk(primary.log().some(line => line.level === 'error'))
})

t.test('drain: a stream without an end is cut at the end of the grace period', async t => {
  const primary = await startPrimary(t, { files: drainWithin('300ms') })
  const endless = await stream(primary, 10_000, 20)
  const text = endless.text().catch(error => String(error))
  primary.child.kill('SIGINT')
  t.equal(await primary.exitCode(), 0)
  t.match(await text, /data: 0\n\n.*event: error\ndata: DRAINING\n\n$/s)
})

t.test('drain: a second signal ends the gateway at once', async t => {
  const primary = await startPrimary(t, { files: drainWithin('60s') })
  const endless = await stream(primary, 10_000, 20)
  const text = endless.text().catch(error => String(error))
  primary.child.kill('SIGTERM')
  await untilNotReady(primary)
  primary.child.kill('SIGTERM')
  t.equal(await primary.exitCode(), 143)
  t.notMatch(await text, 'data: end')
})
