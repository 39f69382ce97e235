/** Connection transfer: sends connections to a child in a pipeline, in order with other messages,
 *  without loss. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { enablePipelining, sendConnection } from '../../../engine/processes/connection-transfer.ts'

const COUNT = 40
const TAKER = new URL('../../fixtures/primary/taker.ts', import.meta.url)

t.test(`connection transfer: ${COUNT} connections reach a busy child in order`, async t => {
  const child = fork(TAKER, { execArgv: [], stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  enablePipelining(child)
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(child, 'message')
  const { port } = server.address() as { port: number }
  const sockets: Socket[] = []
  for (let n = 0; n < COUNT; n++) {
    const connection = once(server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1')
    t.teardown(() => client.destroy())
    sockets.push((await connection)[0])
  }
  const handleOf = (socket: Socket) => (socket as unknown as { readonly _handle: Socket })._handle
  child.send({ say: 'stop' })
  await once(child, 'message')
  for (const socket of sockets) sendConnection(child, { say: 'take' }, handleOf(socket))
  const { _handleQueue: waiting } = child as unknown as { readonly _handleQueue: unknown[] | null }
  t.same(waiting ?? [], [], 'none waits for an acknowledgement: the child reads nothing yet')
  // A message that waits for acknowledgements stays behind the handles.
  child.send({ say: 'count' })
  const reply = once(child, 'message')
  // Everything is sent before the child reads, however busy the machine is.
  child.stdin?.write('.')
  const [{ count }] = (await reply) as [{ count: number }]
  t.equal(count, COUNT)
  for (const socket of sockets) sendConnection(child, { say: 'take' }, handleOf(socket))
  child.send({ say: 'count' })
  const [again] = (await once(child, 'message')) as [{ count: number }]
  t.equal(again.count, 2 * COUNT, 'acknowledgements leave the queue usable')
  for (const socket of sockets) socket.destroy()
})
