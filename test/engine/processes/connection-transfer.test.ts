/** Connections reach another process one behind the other without waiting, in their order among other messages, and none is lost. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { expectMany, handOver } from '../../../engine/processes/connection-transfer.ts'

const COUNT = 40
const TAKER = new URL('../../fixtures/primary/taker.ts', import.meta.url)

t.test(`${COUNT} connections for a child that is busy`, async t => {
  const child = fork(TAKER, { execArgv: [], stdio: ['pipe', 'inherit', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  expectMany(child)
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(child, 'message')
  const { port } = server.address() as { port: number }
  const sockets: Socket[] = []
  for (let n = 0; n < COUNT; n++) {
    const arrived = once(server, 'connection') as Promise<[Socket]>
    const client = connect(port, '127.0.0.1')
    t.teardown(() => client.destroy())
    sockets.push((await arrived)[0])
  }
  const handleOf = (socket: Socket) => (socket as unknown as { readonly _handle: Socket })._handle
  child.send({ say: 'stop' })
  await once(child, 'message')
  for (const socket of sockets) handOver(child, { say: 'take' }, handleOf(socket))
  // What waits for the acknowledgements keeps its place behind the handles.
  child.send({ say: 'count' })
  const counted = once(child, 'message')
  // All of it is on its way before the child looks, however busy the machine is.
  child.stdin?.write('.')
  const [{ came, turns }] = (await counted) as [{ came: number; turns: number }]
  t.equal(came, COUNT)
  // libuv reads one a turn; waiting for each other they took a hundred times as many.
  t.ok(turns < 30 * COUNT, `in ${turns} turns of its loop`)
  for (const socket of sockets) handOver(child, { say: 'take' }, handleOf(socket))
  child.send({ say: 'count' })
  const [again] = (await once(child, 'message')) as [{ came: number }]
  t.equal(again.came, 2 * COUNT, 'the acknowledgements leave it as it was')
  for (const socket of sockets) socket.destroy()
})
