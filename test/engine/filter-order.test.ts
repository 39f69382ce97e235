/** The order that engine/plugin.ts defines: of stages for the request and the reply, of filters,
 *  and when a slot is final. */
import t, { type Test } from 'tap'
import type { Exchange, Filter, Slot, Stage } from '../../engine/plugin.ts'
import { plugin, startCore, startUpstream } from '../helpers/core.ts'

const USED: Slot<string> = { name: 'used' }
const ROUTES = [{ path: 'GET /', upstream: 'up' }]

/** The log of stages with these names for one reply of two chunks. `isCut`: the upstream connection
 *  breaks after the first. */
const logOf = async (t: Test, names: readonly string[], isCut = false): Promise<string[]> => {
  const log: string[] = []
  const filter = (name: string, { slots }: Exchange): Filter => ({
    write(chunk, out) {
      log.push(`${name} write`)
      out.write(chunk)
    },
    end(tail, out) {
      queueMicrotask(() => log.push(`${name} later`))
      log.push(`${name} end, used by ${slots.get(USED) ?? 'none'}`)
      slots.set(USED, name)
      out.end(tail)
    },
    fail(reason, out) {
      queueMicrotask(() => log.push(`${name} later`))
      log.push(`${name} fail, used by ${slots.get(USED) ?? 'none'}`)
      slots.set(USED, name)
      out.fail(reason)
    },
  })
  const stage = (name: string): Stage => ({
    async handle(exchange, next) {
      log.push(`${name} down`)
      await next()
      log.push(`${name} up`)
      exchange.reply.through(filter(name, exchange))
    },
    async forward(attempt, next) {
      log.push(`${name} forward down`)
      await next()
      log.push(`${name} forward up`)
      attempt.reply.through(filter(`${name} forward`, attempt.exchange))
    },
  })
  let finish = (): unknown => undefined
  const up = await startUpstream(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    finish = () => (isCut ? response.destroy() : response.end())
  })
  const stages = Object.fromEntries(names.map(name => [name, plugin(stage(name))]))
  const core = await startCore(t, stages, { upstreams: { up: { url: up } }, routes: ROUTES })
  const reply = await fetch(`${core.url}/`)
  // The upstream ends only after the first chunk arrived; otherwise both may arrive as one.
  const reader = reply.body?.getReader()
  await reader?.read()
  finish()
  for (let isDone = false; !isDone; )
    isDone = (await reader?.read().catch(() => undefined))?.done ?? true
  return log
}

t.test('stages: run in pipeline order, attempts inside, and continue in reverse', async t => {
  const log = await logOf(t, ['a', 'b'])
  const steps = log.filter(line => / (down|up)$/.test(line))
  t.same(steps, [
    'a down',
    'b down',
    'a forward down',
    'b forward down',
    'b forward up',
    'a forward up',
    'b up',
    'a up',
  ])
})

const RING = ['b forward', 'a forward', 'b', 'a']
const expectedLines = (word: string): string[] =>
  RING.map((name, index) => `${name} ${word}, used by ${RING[index - 1] ?? 'none'}`)
/** The microtask of each filter: none runs before the last filter has run. */
const later = RING.map(name => `${name} later`)

t.test('filters: run those of attempts first, and the last stage before the others', async t => {
  const log = await logOf(t, ['a', 'b'])
  t.same(
    log.filter(line => line.endsWith('write')),
    RING.map(name => `${name} write`),
  )
})

t.test('slots: a value set in `end` of a filter is final for later filters', async t => {
  const log = await logOf(t, ['a', 'b'])
  t.same(
    log.slice(-2 * RING.length),
    [...expectedLines('end'), ...later],
    'in one synchronous call',
  )
})

t.test('slots: a value set in `fail` of a filter is final for later filters', async t => {
  const log = await logOf(t, ['a', 'b'], true)
  t.same(
    log.slice(-2 * RING.length),
    [...expectedLines('fail'), ...later],
    'in one synchronous call',
  )
})
