/** Values written into the text of a YAML file: all else stays as it was, by the byte. */
import t from 'tap'
import { parse } from 'yaml'
import { setInText } from '../../../../engine/config/yaml/set-in-text.ts'
import type { EditPath, Json } from '../../../../engine/plugin.ts'

const FILE = `# head
upstreams: # all providers
  gp:   { url: 'https://a', key: '\${KEY}' } # first

  # second
  cl:
    url: "https://b" # slow
    key: |
      text
# between
routes:
  - path: POST /v1/chat/completions
    name: chat # the main one
    limit: { requests: 60/min } # per key
  - { path: GET /v1/models, name: list }
  - {
      path: GET /long,
      errors: envelope, # last
    }
models:
  one:
    to: gp/one
    price:
      input: 2 / 1M # dear
      output: { by: tier, price: { fast: 3, default: 2 } }
  two: { to: gp/two, price: { input: 1 }, }
  three:
    to: gp/three
    price: &shared { input: 1 }
  four: { to: gp/four, price: *shared }
empty:
`
const set = (path: EditPath, value: Json, text = FILE): string => setInText(text, path, value)
/** Lines of the new text that the old one lacks, and the other way round. */
const changes = (path: EditPath, value: Json, text = FILE) => {
  const [before, after] = [text.split('\n'), set(path, value, text).split('\n')]
  return {
    added: after.filter(line => !before.includes(line)),
    removed: before.filter(line => !after.includes(line)),
  }
}

t.test('set in text: a new entry of a map', async t => {
  const deepseek = { preset: 'deepseek', key: '${DEEPSEEK_API_KEY:-}' }
  t.same(changes(['upstreams', 'deepseek'], deepseek), {
    added: ['  deepseek: { preset: deepseek, key: "${DEEPSEEK_API_KEY:-}" }'],
    removed: [],
  })
  t.ok(set(['upstreams', 'deepseek'], deepseek).includes('      text\n  deepseek:'))
  t.same(changes(['models', 'two', 'title'], 'Two'), {
    added: ['  two: { to: gp/two, price: { input: 1 }, title: Two, }'],
    removed: ['  two: { to: gp/two, price: { input: 1 }, }'],
  })
  t.same(changes(['models', 'one', 'price', 'cached'], '1 / 1M').added, ['      cached: 1 / 1M'])
  t.same(changes(['new', 'a', 'b'], 1).added, ['new:', '  a:', '    b: 1'])
  t.same(changes(['empty', 'a'], 1).added, ['  a: 1'])
  t.equal(set(['models', 'a'], {}, ''), 'models:\n  a: {}\n')
  t.equal(set(['a', 'b'], 1, '# only a comment'), '# only a comment\na:\n  b: 1\n')
  t.equal(set(['a', 'c'], 1, 'a:\r\n  b: 1 # x\r\n'), 'a:\r\n  b: 1 # x\r\n  c: 1\r\n')
  t.equal(set(['a', 'c'], 1, 'a:\n  b: 1'), 'a:\n  b: 1\n  c: 1\n')
  t.equal(set(['a', 'b'], 1, 'a: {}\n'), 'a: { b: 1 }\n')
})

t.test('set in text: a long map goes on lines of its own', async t => {
  const value = { to: 'x/y', title: 'T'.repeat(90), price: { input: '1 / 1M', output: '2 / 1M' } }
  t.same(changes(['models', 'five'], value).added, [
    '  five:',
    '    to: x/y',
    `    title: ${'T'.repeat(90)}`,
    '    price: { input: 1 / 1M, output: 2 / 1M }',
  ])
})

t.test('set in text: another value of an entry', async t => {
  const one = (path: EditPath, value: Json) => changes(['models', 'one', ...path], value)
  t.same(one(['price', 'input'], '3 / 1M').added, ['      input: 3 / 1M # dear'])
  t.same(one(['price', 'output'], '3 / 1M').added, ['      output: 3 / 1M'])
  t.same(changes(['upstreams', 'cl', 'url'], 'https://c').added, ['    url: https://c # slow'])
  t.same(one(['price'], 5).added, ['    price: 5'])
  t.equal(set(['models', 'one', 'price', 'input'], '2 / 1M'), FILE, 'the same value')
  t.same(changes(['empty'], 2).added, ['empty: 2'])
})

t.test('set in text: items of lists are found by their members', async t => {
  const limit = (path: string, member: string, value: Json) =>
    changes(['routes', { path }, 'limit', member], value)
  t.same(limit('POST /v1/chat/completions', 'requests', '9/min').added, [
    '    limit: { requests: 9/min } # per key',
  ])
  t.same(limit('POST /v1/chat/completions', 'concurrency', 2).added, [
    '    limit: { requests: 60/min, concurrency: 2 } # per key',
  ])
  t.same(limit('GET /v1/models', 'tokens', '5/s').added, [
    '  - { path: GET /v1/models, name: list, limit: { tokens: 5/s } }',
  ])
  t.same(limit('GET /long', 'concurrency', 2).added, [
    '      errors: envelope,',
    '      limit: { concurrency: 2 }, # last',
  ])
  t.throws(() => limit('GET /none', 'requests', 1), { code: 'EDIT_ITEM', status: 404 })
})

t.test('set in text: refuses what it cannot write without a change elsewhere', async t => {
  for (const name of ['three', 'four'])
    t.throws(() => set(['models', name, 'price', 'input'], 2), {
      code: 'EDIT_PLACE',
      message: /models\.(?:three|four)\.price\.input.*shared by an anchor/,
    })
  t.throws(() => set(['upstreams', 'cl', 'url', 'x'], 1), {
    code: 'EDIT_PLACE',
    message: /not a map/,
  })
  t.throws(() => set(['a'], 1, 'a: [\n'), { code: 'EDIT_SYNTAX', message: /^Line \d+/ })
})

t.test('set in text: texts that YAML reads as something else keep their kind', async t => {
  for (const value of [
    'yes',
    'no',
    '1',
    '1.5',
    'null',
    '~',
    'a: b',
    '# c',
    '- d',
    '',
    ' e ',
    "'",
    '"',
    'é\n',
    '{',
    '*x',
    '&x',
  ])
    for (const text of ['m:\n  k: 1\n', 'm: { k: 1 }\n', 'm:\n  j: 1\n', 'm: { j: 1 }\n'])
      t.equal(parse(set(['m', 'k'], value, text)).m.k, value)
})
