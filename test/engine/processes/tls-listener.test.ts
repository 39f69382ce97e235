/** TLS of a worker's listener: plain connections without a certificate, and a new certificate for
 *  new connections only. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { connect } from 'node:tls'
import t from 'tap'
import { createTlsListener } from '../../../engine/processes/worker/tls-listener.ts'
import { certificateOf } from '../../helpers/gateway/certificate.ts'
import { listen } from '../../helpers/gateway/chat-upstream.ts'

const nameAt = async (port: number): Promise<string> => {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

t.test(
  'TLS listener: serves plain sockets until it has a certificate, and then the last',
  async t => {
    const served: unknown[] = []
    const listener = createTlsListener(socket => served.push(socket))
    const plain = {} as Socket
    listener.accept(plain)
    t.same(served, [plain])
    const timeouts = { header: 10_000 } as Parameters<typeof listener.update>[0]['timeouts']
    listener.update({ tls: certificateOf(t, 'first'), timeouts })
    const port = await listen(
      t,
      createServer(socket => listener.accept(socket)),
    )
    t.equal(await nameAt(port), 'first')
    listener.update({ tls: certificateOf(t, 'second'), timeouts })
    t.equal(await nameAt(port), 'second')
    listener.update({ tls: undefined, timeouts })
    listener.accept(plain)
    t.equal(served.at(-1), plain)
    const free = createTlsListener(() => {})
    free.update({ tls: certificateOf(t, 'no limit'), timeouts: { ...timeouts, header: 0 } })
    t.equal(
      await nameAt(
        await listen(
          t,
          createServer(socket => free.accept(socket)),
        ),
      ),
      'no limit',
    )
  },
)
