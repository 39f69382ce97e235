/** Writes at the end of a turn: last writes in their order, then what sockets hold back. */
import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { turnEnd } from '../../../engine/response/turn-end.ts'

const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('turn end: last writes run in order, before sockets are uncorked', async t => {
  const events: string[] = []
  const socket = new PassThrough() as unknown as Socket
  socket.on('data', chunk => events.push(String(chunk)))
  turnEnd.cork(socket)
  turnEnd.cork(socket)
  t.equal(socket.writableCorked, 1, 'once in a turn')
  socket.write('a')
  turnEnd.run(() => events.push('first'))
  turnEnd.run(() => void turnEnd.run(() => events.push('of the next turn')))
  turnEnd.run(() => events.push('last'))
  await Promise.resolve()
  t.same(events, [], 'nothing before the end of the turn')
  await nextTurn()
  t.same(events, ['first', 'last', 'a'])
  await nextTurn()
  t.same(events, ['first', 'last', 'a', 'of the next turn'])
})

t.test('turn end: a write that throws does not stop the others', async t => {
  const faults: unknown[] = []
  const listeners = process.rawListeners('unhandledRejection') as (() => void)[]
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', error => faults.push((error as Error).message))
  let ran = 0
  turnEnd.run(() => {
    throw new Error('a bug')
  })
  turnEnd.run(() => ran++)
  await nextTurn()
  await nextTurn()
  process.removeAllListeners('unhandledRejection')
  for (const listener of listeners) process.on('unhandledRejection', listener)
  t.same([ran, faults], [1, ['a bug']])
})

t.test('turn end: a socket that is full, corked or gone is left alone', async t => {
  const full = new PassThrough({ highWaterMark: 1 }) as unknown as Socket
  full.cork()
  full.write(Buffer.alloc(16_385))
  full.uncork()
  turnEnd.cork(full)
  const corked = new PassThrough() as unknown as Socket
  corked.cork()
  turnEnd.cork(corked)
  turnEnd.cork(null)
  await nextTurn()
  t.same([full.writableCorked, corked.writableCorked], [0, 1])
})
