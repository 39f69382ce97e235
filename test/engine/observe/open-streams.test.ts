/** The metric of open streams. */
import t from 'tap'
import { plugin, startCore, startUpstream } from '../../helpers/core.ts'

t.test('open streams: a stream of events is counted from its head to its end', async t => {
  const finish = Promise.withResolvers<void>()
  const url = await startUpstream(t, async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    await finish.promise
    response.end('data: 2\n\n')
  })
  const routes = [{ path: 'GET /events', name: 'events', upstream: 'a' }]
  const core = await startCore(t, { none: plugin({}) }, { upstreams: { a: { url } }, routes })
  const open = (): number | undefined =>
    core.resources.metrics
      .report()
      .find(({ name, labels }) => name.includes('open') && labels.kind === 'sse')?.values[0]
  const reply = await fetch(`${core.url}/events`)
  t.equal(open(), 1)
  finish.resolve()
  t.equal(await reply.text(), 'data: 1\n\ndata: 2\n\n')
  t.equal(open(), 0)
})
