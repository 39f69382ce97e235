/** An upstream refuses an upload while it is still being sent: the client can read the refusal,
 *  also when it reads only after it has sent everything. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startGateway } from '../../helpers/gateway/gateway.ts'
import { scaled } from '../../helpers/machine-speed.ts'

const REFUSAL =
  'HTTP/1.1 413 Too Large\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
const upstream = createServer(socket => {
  socket.on('error', () => {})
  socket.once('data', () => socket.write(REFUSAL))
}).listen(0, '127.0.0.1')
await once(upstream, 'listening')
const { port } = upstream.address() as AddressInfo
const gateway = await startGateway({
  routes: `
pipeline: [errors]
upstreams: { raw: { url: 'http://127.0.0.1:${port}' } }
routes: [{ path: POST /upload, upstream: raw }]
`,
})
t.teardown(async () => {
  await gateway.stop()
  upstream.close()
})

const SIZE = 20 * 1024 * 1024
const HEAD = `POST /upload HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: ${SIZE}\r\n\r\n`

t.test('early refusal: a client that reads late gets it', { timeout: scaled(20_000) }, async t => {
  for (let count = 0; count < 3; count++) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    let received = ''
    socket.pause()
    socket.on('error', () => {})
    socket.on('data', bytes => {
      received += bytes
    })
    socket.write(HEAD)
    socket.write(Buffer.alloc(SIZE))
    await pause(300)
    socket.resume()
    // The connection may end with an error once the answer is there.
    await new Promise(resolve => socket.once('close', resolve))
    t.match(received, /^HTTP\/1\.1 413 /)
    t.ok(received.endsWith('\r\n\r\n{}'))
  }
})
