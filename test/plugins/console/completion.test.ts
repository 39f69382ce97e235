/** Completion of the editor: which keys and values of the schema of routes.yaml may be at the
 *  cursor. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { completionsAt } from '../../../plugins/console/client/completion.ts'

const schema: unknown = JSON.parse(
  readFileSync(new URL('../../../schemas/routes.json', import.meta.url), 'utf8'),
)
/** `|` is the cursor. */
const at = (text: string) => {
  const { prefix, completions } = completionsAt(text.replace('|', ''), text.indexOf('|'), schema)
  return { prefix, names: completions.map(({ name }) => name), completions }
}

t.test('completion: keys of the block or of the braces around the cursor', async t => {
  t.match(at('set|'), { prefix: 'set', names: ['settings'] })
  t.ok(at('settings:\n  |').names.includes('listen'))
  t.same(at('settings:\n  listen: 1:1\n  publ|').names, ['public_url'])
  t.ok(at('console: { | }').names.includes('session'))
  t.same(at('console: { session: 1h, ed|').names, ['edit'])
  t.ok(at('routes:\n  - path: GET /x\n    na|').names.includes('name'))
  t.ok(at('routes:\n  - { path: GET /x, val|').names.includes('validate'))
  t.equal(at('console: { ed|').completions[0]?.insert, 'edit: ')
  t.ok(at('console: { ed|').completions[0]?.description)
})

t.test('completion: values of a key, also in a list', async t => {
  t.same(at('console: { edit: | }').names, ['false', 'true'])
  t.same(at('console: { edit: tr|').completions[0]?.insert, 'true')
  t.same(at('settings:\n  durability: |').names, ['power', 'process'])
  t.ok(at('routes:\n  - path: GET /x\n    errors: |').names.includes('openai'))
  t.ok(at('routes:\n  - { path: GET /x, auth: [key, s|').names.includes('session'))
  t.notOk(at('console: { edit: |').names.includes('session'), 'no keys where a value is')
})

t.test('completion: nothing that is not of the schema', async t => {
  for (const text of ['nonsense:\n  |', 'console: { edit: { |', '# comment |', '|x: [', '- |'])
    t.doesNotThrow(() => at(text), text)
  t.same(at('nonsense:\n  |').names, [])
  t.same(at('__proto__:\n  |').names, [])
})

t.test('completion: a value that YAML would misread is quoted', async t => {
  const odd = { properties: { a: { enum: ["it's: so", 'plain', 7] } } }
  const { completions } = completionsAt('a: ', 3, odd)
  t.same(
    completions.map(({ insert }) => insert),
    ['7', "'it''s: so'", 'plain'],
  )
})

t.test('completion: follows references to definitions', async t => {
  const shared = {
    properties: { a: { $ref: '#/$defs/word' }, b: { items: { $ref: '#/$defs/map' } } },
    $defs: {
      word: { description: 'A word.', enum: ['one', 'two'] },
      map: { anyOf: [{ properties: { c: { $ref: '#/$defs/word' } } }] },
    },
  }
  const names = (text: string) =>
    completionsAt(text, text.length, shared).completions.map(({ name }) => name)
  t.equal(completionsAt('', 0, shared).completions[0]?.description, 'A word.')
  t.same(names('a: '), ['one', 'two'])
  t.same(names('b:\n  - '), ['c'])
  t.same(names('b:\n  - c: t'), ['two'])
  t.same(completionsAt('a: ', 3, { properties: { a: { $ref: '#/$defs/none' } } }).completions, [])
  t.ok(at('models:\n  m:\n    traits: { cache_|').names.includes('cache_control'))
})
