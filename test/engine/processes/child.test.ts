/** Supervised child process: restart with back-off, messages and stop. */
import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import t from 'tap'
import { createLog } from '../../../engine/observe/log.ts'
import { Child } from '../../../engine/processes/child.ts'
import { ofType } from '../../../engine/processes/message-waiter.ts'

interface ChildMessage {
  readonly type: 'up' | 'echo'
  readonly pid: number
}
const CODE = `
const send = type => process.send({ type, pid: process.pid })
process.on('message', ({ type }) => {
  if (type === 'die') process.exit(9)
  else if (type === 'stop') process.exit(0)
  else send('echo')
})
process.on('disconnect', () => process.exit(0))
send('up')`

const start = (code = CODE) => {
  const starts: number[] = []
  const ups = new EventEmitter()
  const lines: string[] = []
  const child = new Child<{ type: string }, ChildMessage>({
    name: 'helper',
    log: createLog({ level: 'error', destination: { write: line => void lines.push(line) } }),
    start: () => {
      starts.push(performance.now())
      return spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
    },
    onMessage: ({ type, pid }) => type === 'up' && ups.emit('up', pid),
  })
  /** Resolves to the pid of the next process that is up. */
  const up = async (): Promise<number> => (await once(ups, 'up'))[0]
  return { child, starts, lines, up }
}

t.test('child process: rests without a log line, and starts again when it is needed', async t => {
  const { child, starts, lines, up } = start()
  const first = await up()
  child.rest()
  const second = up()
  child.wake()
  t.not(await second, first, 'woken before the resting process has exited')
  child.rest()
  while (isRunning(await second)) await new Promise(resolve => setTimeout(resolve, 10))
  child.send({ type: 'hello' })
  const third = up()
  child.wake()
  child.wake()
  t.not(await third, await second, 'woken afterwards')
  t.equal(starts.length, 3)
  t.same(lines, [])
  child.rest()
  await child.stop()
})
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test(
  'child process: restarts after a crash and resolves pending waiters with undefined',
  async t => {
    const { child, starts, lines, up } = start()
    const first = await up()
    const answer = child.messages.next(ofType('echo'))
    const next = up()
    child.send({ type: 'die' })
    t.equal(await answer, undefined)
    const second = await next
    t.not(second, first)
    const echo = child.messages.next(ofType('echo'))
    child.send({ type: 'hello' })
    t.match(await echo, { pid: second })
    const third = up()
    child.kill()
    t.not(await third, second)
    t.equal(starts.length, 3)
    t.equal(lines.length, 2)
    t.match(lines[0], '"code":9')
    await child.stop()
    t.equal(starts.length, 3, 'no restart after stop')
  },
)

t.test('child process: stops on a message', async t => {
  const { child, starts, up } = start()
  await up()
  await child.stop({ type: 'stop' })
  await child.stop()
  t.equal(starts.length, 1)
})

t.test('child process: reports a crash loop and can be stopped between restarts', async t => {
  const { child, starts } = start('process.exit(1)')
  while (!child.looping) await new Promise(resolve => setTimeout(resolve, 10))
  t.ok(starts.length >= 4)
  await child.stop()
  child.send({ type: 'lost' })
  t.ok(starts.length <= 6)
})
