/** Connections beyond the limit of a worker are refused, counted and logged. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { eventually, folderWith, startPrimary } from '../../helpers/gateway/primary.ts'

t.test('connections beyond the limit are refused, counted and logged', async t => {
  const files = folderWith('one', '  limits: { connections: 2 }\n')
  const primary = await startPrimary(t, { files, workers: 1 })
  const { hostname, port } = new URL(primary.url)
  const open = (): Socket => {
    const socket = connect(Number(port), hostname).on('error', () => {})
    t.teardown(() => socket.destroy())
    return socket
  }
  for (let count = 0; count < 2; count++) {
    const socket = open()
    socket.write('GET /stamp HTTP/1.1\r\nhost: a\r\n\r\n')
    t.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200/)
  }
  for (let count = 0; count < 3; count++) await once(open(), 'close')
  t.equal(await eventually(() => primary.metric('connections_refused_total')), 3)
  const lines = () => primary.log().filter(({ msg }) => /connections are refused/.test(`${msg}`))
  await eventually(() => lines().length > 0)
  t.match(lines(), [{ level: 'warn', connections: 2 }], 'one line for all of them')
})
