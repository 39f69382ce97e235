/** The view of a route: what its stages say of it, put together when somebody reads it. */
import t from 'tap'
import { routeViews } from '../../../../engine/config/compile/route-view.ts'
import type { RouteDescription } from '../../../../engine/plugin.ts'

const viewOf = (...parts: readonly RouteDescription[]) => {
  const calls: number[] = []
  const stages = parts.map((part, index) => ({
    name: `stage ${index}`,
    stage: {
      describe: () => {
        calls.push(index)
        return part
      },
    },
  }))
  const route = { name: 'a', method: 'GET', pattern: '/a', option: () => undefined }
  const [view] = routeViews([
    { route, stages: [...stages, { name: 'x', stage: {} }], targets: [] },
  ] as never)
  return { view, calls }
}

t.test('route view: reads no description until somebody asks, and each once', t => {
  const { view, calls } = viewOf({ summary: 'One' }, { body: { 'application/json': true } })
  t.equal(view?.name, 'a')
  t.same(calls, [])
  t.equal(view?.schema, true)
  t.equal(view?.about.summary, 'One')
  t.same(calls, [0, 1])
  t.end()
})

t.test('route view: maps and lists of all stages are joined, a later text replaces', t => {
  const credential = (name: string) => ({ kind: 'key', in: 'header', name }) as const
  const { view } = viewOf(
    { summary: 'One', refusals: { 401: 'a' }, credentials: [credential('a')] },
    { summary: 'Two', refusals: { 429: 'b', 401: 'c' }, credentials: [credential('b')] },
    { status: 201 },
  )
  t.same(view?.about, {
    summary: 'Two',
    status: 201,
    refusals: { 401: 'c', 429: 'b' },
    credentials: [credential('a'), credential('b')],
  })
  t.same(viewOf().view?.about, {})
  t.equal(viewOf().view?.schema, undefined)
  t.end()
})
