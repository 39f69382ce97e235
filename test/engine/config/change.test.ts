/** Summary of the changes between two versions. */
import t from 'tap'
import { describeChange } from '../../../engine/config/change.ts'
import type { Blueprint } from '../../../engine/config/compile/blueprint.ts'
import type { Document } from '../../../engine/plugin.ts'

const blueprint = (document: Document, more: Partial<Blueprint> = {}): Blueprint => ({
  version: 1,
  hash: '',
  root: '/',
  document,
  plugins: [],
  ...more,
})
const plugin = (name: string, hash: string) => ({
  name,
  file: `plugins/${name}.ts`,
  bundle: '',
  hash,
})
const change = (before: Document, after: Document) =>
  describeChange(blueprint(before), blueprint(after))
const route = (path: string, more = {}) => ({ path, ...more })

t.test('change summary: routes are named by name or path', async t => {
  const one = route('GET /a')
  t.equal(change({ routes: [one] }, { routes: [one, route('GET /b')] }), '1 route added')
  t.equal(
    change({ routes: [one, route('GET /b'), route('GET /c')] }, { routes: [one] }),
    '2 routes removed',
  )
  t.equal(
    change({ routes: [one] }, { routes: [route('GET /a', { retries: 1 })] }),
    'route GET /a retries changed',
  )
  t.equal(
    change(
      { routes: [route('GET /a', { name: 'a' })] },
      { routes: [route('GET /b', { name: 'a' })] },
    ),
    'route a path changed',
  )
  t.equal(
    change({ routes: [one, route('GET /b')] }, { routes: [route('GET /b'), one] }),
    'routes reordered',
  )
})

t.test('change summary: plugin sections in the singular, with the changed keys', async t => {
  const before = { things: { a: { size: 1, to: 'x' }, b: {} } }
  t.equal(
    change(before, { things: { ...before.things, a: { size: 2, to: 'x' } } }),
    'thing a size changed',
  )
  t.equal(change(before, { things: { ...before.things, c: {}, d: {} } }), '2 things added')
  t.equal(change({}, before), '2 things added')
  t.equal(change(before, {}), '2 things removed')
  t.equal(change({ things: { a: 1 } }, { things: { a: 2 } }), 'thing a changed')
})

t.test('change summary: many changes of a kind are counted', async t => {
  const things = (size: number) => Object.fromEntries([...'abcdef'].map(name => [name, { size }]))
  t.equal(change({ things: things(1) }, { things: things(2) }), '6 things changed')
})

t.test('change summary: settings, pipeline, plugins and files', async t => {
  t.equal(
    change({ settings: { listen: 'a' } }, { settings: { listen: 'b', limits: {} } }),
    'settings listen and limits changed',
  )
  t.equal(change({ pipeline: ['a'] }, { pipeline: ['a', 'b'] }), 'pipeline changed')
  const before = blueprint(
    {},
    { plugins: [plugin('a', '1'), plugin('b', '1')], files: { 'x.json': '{}' } },
  )
  const after = blueprint(
    {},
    { plugins: [plugin('a', '2'), plugin('c', '1')], files: { 'x.json': '[]', 'y.json': '' } },
  )
  t.equal(
    describeChange(before, after),
    'plugins/a.ts rebuilt, plugins/b.ts removed, plugins/c.ts added, x.json changed, y.json added',
  )
})

t.test('change summary: names at most six changes, and none for equal versions', async t => {
  const sections = (value: number) => Object.fromEntries([...'abcdefgh'].map(name => [name, value]))
  t.equal(
    change(sections(1), sections(2)),
    'a changed, b changed, c changed, d changed, e changed, f changed, and 2 more',
  )
  t.equal(change({ include: ['a'] }, { include: ['b'] }), 'no visible change')
})

t.test('change summary: never prints values', async t => {
  const upstream = (key: string) => ({ upstreams: { main: { url: 'https://a', key } } })
  t.equal(change(upstream('sk-before'), upstream('sk-after')), 'upstream main key changed')
})

t.test('change summary: sections that appear, disappear or have another form', async t => {
  t.equal(change({}, { settings: { listen: 'a' } }), 'settings listen changed')
  t.equal(change({ settings: { listen: 'a' } }, {}), 'settings listen changed')
  t.equal(change({}, { routes: [route('GET /a')] }), '1 route added')
  t.equal(change({ routes: 'none' } as Document, { routes: [route('GET /a')] }), '1 route added')
  t.equal(change({ things: ['a'] }, { things: { a: 1 } }), 'things changed')
})
