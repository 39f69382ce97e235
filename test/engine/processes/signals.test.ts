/** Signals of the primary: what each does, the echo of npm, and a parent that has ended. Signals
 *  are emitted in this process, and time is simulated. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { onSignals } from '../../../engine/processes/signals.ts'

/** The calls that the primary gets. `byNpm`: as if `npm start` ran; `channel`: that of an old Node,
 *  or undefined for a process that is not its child. */
const install = (
  t: Test,
  byNpm: false | 'start' | 'npx' = false,
  channel?: { readonly isOpen: boolean },
) => {
  const calls: string[] = []
  const { npm_lifecycle_event: event, npm_package_name: name } = process.env
  const connected = Object.getOwnPropertyDescriptor(process, 'connected')
  const get = () => channel?.isOpen
  Object.defineProperty(process, 'connected', { get, configurable: true })
  process.env.TOLLGATE_CHANGED_RUNTIME = '1'
  const restore = (key: string, value: string | undefined): void => {
    if (value === undefined) delete process.env[key]
    else process.env[key] = value
  }
  if (byNpm) Object.assign(process.env, { npm_lifecycle_event: byNpm, npm_package_name: 'own' })
  else delete process.env.npm_lifecycle_event
  const remove = onSignals({
    stop: async code => void calls.push(`stop ${code}`),
    reload: () => void calls.push('reload'),
    renew: () => void calls.push('renew'),
  })
  t.teardown(() => {
    remove()
    delete process.env.TOLLGATE_CHANGED_RUNTIME
    Object.defineProperty(process, 'connected', connected ?? {})
    restore('npm_lifecycle_event', event)
    restore('npm_package_name', name)
  })
  return { calls, remove }
}
const emit = (...signals: NodeJS.Signals[]): void => {
  for (const signal of signals) process.emit(signal, signal)
}

t.test('signals: stop, reload and renew, until the handlers are removed', async t => {
  const before = process.listenerCount('SIGUSR2')
  const { calls, remove } = install(t)
  emit('SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR2')
  t.same(calls, ['stop 143', 'stop 130', 'stop 131', 'reload', 'renew'])
  remove()
  t.equal(process.listenerCount('SIGUSR2'), before)
})

t.test('signals: under npm a second stop at once is the echo of the first', async t => {
  const { calls } = install(t, 'start')
  emit('SIGINT', 'SIGINT', 'SIGHUP')
  t.same(calls, ['stop 130', 'reload'])
})

t.test('signals: under npm the gateway stops when its parent has ended', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  const { calls } = install(t, 'npx')
  const parent = Object.getOwnPropertyDescriptor(process, 'ppid')
  t.teardown(() => {
    Object.defineProperty(process, 'ppid', parent ?? {})
    mock.timers.reset()
  })
  mock.timers.tick(1_000)
  t.same(calls, [])
  Object.defineProperty(process, 'ppid', { value: 1, configurable: true })
  mock.timers.tick(1_000)
  t.same(calls, ['stop 143'], 'once')
})

t.test('signals: below an old Node the gateway stops when that one has ended', async t => {
  for (const isEarly of [true, false]) {
    mock.timers.enable({ apis: ['setInterval'] })
    const channel = { isOpen: !isEarly }
    const { calls } = install(t, false, channel)
    t.same(calls, [])
    channel.isOpen = false
    mock.timers.tick(1_000)
    t.same(calls, ['stop 143'])
    emit('SIGTERM')
    t.same(calls, ['stop 143'], 'the process group and the old Node send one signal')
    mock.timers.reset()
  }
})

t.test('signals: a process of a child of an old Node has no part in that', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { calls } = install(t)
  mock.timers.tick(1_000)
  emit('SIGINT', 'SIGINT')
  t.same(calls, ['stop 130', 'stop 130'])
})
