/** The order that engine/plugin.ts promises: who runs when on the way down and up, which filter sees bytes first, and when a
 *  slot is final. */
import t, { type Test } from 'tap'
import type { Exchange, Filter, Slot, Stage } from '../../engine/plugin.ts'
import { plugin, startCore, startUpstream } from '../helpers/core.ts'

const USED: Slot<string> = { name: 'used' }
const ROUTES = [{ path: 'GET /', upstream: 'up' }]

/** What stages of these names log while one reply of two chunks passes them; `cut`: the upstream dies in the middle. */
const logOf = async (t: Test, names: readonly string[], cut = false): Promise<string[]> => {
  const log: string[] = []
  const filter = (name: string, { slots }: Exchange): Filter => ({
    write(chunk, out) {
      log.push(`${name} write`)
      out.write(chunk)
    },
    end(tail, out) {
      queueMicrotask(() => log.push(`${name} later`))
      log.push(`${name} end, used by ${slots.get(USED) ?? 'nobody'}`)
      slots.set(USED, name)
      out.end(tail)
    },
    fail(reason, out) {
      queueMicrotask(() => log.push(`${name} later`))
      log.push(`${name} fail, used by ${slots.get(USED) ?? 'nobody'}`)
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
    finish = () => (cut ? response.destroy() : response.end())
  })
  const stages = Object.fromEntries(names.map(name => [name, plugin(stage(name))]))
  const core = await startCore(t, stages, { upstreams: { up: { url: up } }, routes: ROUTES })
  const reply = await fetch(`${core.url}/`)
  // The upstream ends only once the first chunk has arrived: on a busy machine both would be one.
  const reader = reply.body?.getReader()
  await reader?.read()
  finish()
  for (let done = false; !done; ) done = (await reader?.read().catch(() => undefined))?.done ?? true
  return log
}

t.test('order: down by the pipeline, attempts inside, up in reverse', async t => {
  const log = await logOf(t, ['a', 'b'])
  const steps = log.filter(line => / (down|up)$/.test(line))
  t.same(steps, [
    ...['a down', 'b down', 'a forward down', 'b forward down'],
    ...['b forward up', 'a forward up', 'b up', 'a up'],
  ])
})

const RING = ['b forward', 'a forward', 'b', 'a']
const seen = (word: string): string[] =>
  RING.map((name, index) => `${name} ${word}, used by ${RING[index - 1] ?? 'nobody'}`)
/** A microtask of each: none of them runs before the last filter has run. */
const later = RING.map(name => `${name} later`)

t.test('filters: those of attempts first, the last stage before the others', async t => {
  const log = await logOf(t, ['a', 'b'])
  t.same(
    log.filter(line => line.endsWith('write')),
    RING.map(name => `${name} write`),
  )
})

t.test('slots: what a filter sets in `end` is final for the filters behind it', async t => {
  const log = await logOf(t, ['a', 'b'])
  t.same(log.slice(-2 * RING.length), [...seen('end'), ...later], 'in one synchronous call')
})

t.test('slots: what a filter sets in `fail` is final for the filters behind it', async t => {
  const log = await logOf(t, ['a', 'b'], true)
  t.same(log.slice(-2 * RING.length), [...seen('fail'), ...later], 'in one synchronous call')
})
