/** Reading: values and places across files, includes, variables, aliases and archives. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { archivedSource, fileSource, type Reading, read } from '../../../engine/config/read.ts'
import fc from '../../helpers/property.ts'

const ENV = { NAME: 'value', SECRET: 'sk-0123456789abcdef', EMPTY: '' }
/** Writes and reads files by name; the first is the main file. */
const readFiles = (t: Test, files: Record<string, string>): Reading =>
  read(join(t.testdir(files), Object.keys(files)[0] ?? ''), fileSource(ENV))
const at = (reading: Reading, ...where: (string | number)[]) => {
  const { file, line, column } = reading.find(where).place('value')
  return `${file}:${line}:${column}`
}
const codes = ({ problems }: Reading) => problems.map(({ code }) => code)

t.test('read: includes add to the sections of the main file', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'include: [parts/*.yaml, last.yaml]\nroutes: [a]\nthings: { one: 1 }\n',
    'last.yaml': 'routes: [e]\n',
  })
  t.same(codes(result), ['INCLUDE_EMPTY'])
  const whole = join(t.testdirName, 'routes.yaml')
  t.testdir({
    'routes.yaml': 'include: [parts/*.yaml, last.yaml]\nroutes: [a]\nthings: { one: 1 }\n',
    'last.yaml': 'routes: [e]\nown: 5\n',
    parts: {
      'b.yaml': 'routes:\n  - c\n  - d\nthings:\n  three: 3\n',
      'a.yaml': 'routes: [b]\nthings: { two: 2 }\n',
    },
  })
  const all = read(whole, fileSource(ENV))
  t.same(codes(all), [])
  t.same(all.document, {
    include: ['parts/*.yaml', 'last.yaml'],
    routes: ['a', 'b', 'c', 'd', 'e'],
    things: { one: 1, two: 2, three: 3 },
    own: 5,
  })
  t.same([...all.files.keys()], ['routes.yaml', 'parts/a.yaml', 'parts/b.yaml', 'last.yaml'])
  t.equal(at(all, 'routes', 0), 'routes.yaml:2:10')
  t.equal(at(all, 'routes', 1), 'parts/a.yaml:1:10')
  t.equal(at(all, 'routes', 3), 'parts/b.yaml:3:5')
  t.equal(at(all, 'routes', 4), 'last.yaml:1:10')
  t.equal(at(all, 'things', 'three'), 'parts/b.yaml:5:10')
  t.equal(at(all, 'own'), 'last.yaml:2:6')
})

t.test('read: each file is included once, and never the main file', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'include: ["*.yaml", more.yaml, ./more.yaml]\nroutes: [a]\n',
    'more.yaml': 'routes: [b]\n',
  })
  t.same(codes(result), [])
  t.same(result.document.routes, ['a', 'b'])
})

t.test('read: an empty file, an empty section and comments add nothing', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'include: [more.yaml]\nthings:\n  # none yet\nroutes: [a]\n',
    'more.yaml': '# nothing yet\n',
  })
  t.same(codes(result), [])
  t.same(Object.keys(result.document), ['include', 'routes'])
})

t.test('read: a missing main file is a problem', async t => {
  const result = read(join(t.testdir({}), 'none.yaml'), fileSource(ENV))
  t.same(codes(result), ['CONFIG_MISSING'])
  t.ok(result.isBroken)
  t.same(result.document, {})
  t.same(codes(read(t.testdirName, fileSource(ENV))), ['CONFIG_MISSING'], 'a folder is not a file')
})

t.test('read: values, places and positions of variables', async t => {
  const result = readFiles(t, {
    'routes.yaml':
      'a: { b: "x ${NAME}", c: plain, d: "$${NAME}" }\nl: ["${EMPTY:-5}"]\nk: ${SECRET}\n',
  })
  t.same(result.document, {
    a: { b: 'x value', c: 'plain', d: '${NAME}' },
    l: ['5'],
    k: ENV.SECRET,
  })
  t.ok(result.find(['a', 'b']).hasVariable)
  t.notOk(result.find(['a', 'c']).hasVariable)
  t.notOk(result.find(['a', 'd']).hasVariable)
  t.ok(result.find(['l', 0]).hasVariable)
  t.equal(result.find(['k']).source, '${SECRET}', 'the source text is not expanded')
  t.same([...result.secrets], [ENV.SECRET])
})

t.test('read: ${file:…} is relative to routes.yaml and is not archived', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'k: ${file:key.txt}\n',
    'key.txt': 'sk-from-a-file-123\n',
  })
  t.same(result.document, { k: 'sk-from-a-file-123' })
  t.same(result.variableFiles, [join(t.testdirName, 'key.txt')])
  t.same([...result.files.keys()], ['routes.yaml'])
  t.ok(result.secrets.has('sk-from-a-file-123'))
})

t.test('read: aliases expand, and a fault inside is placed at the anchor', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'things:\n  a: &a { size: 5, list: [1, 2] }\n  b: *a\n  c: { d: *a }\n',
  })
  t.same(result.document.things, {
    a: { size: 5, list: [1, 2] },
    b: { size: 5, list: [1, 2] },
    c: { d: { size: 5, list: [1, 2] } },
  })
  t.equal(at(result, 'things', 'c', 'd', 'list', 1), 'routes.yaml:2:30')
})

t.test('read: many aliases within the limit are accepted', async t => {
  const names = Array.from({ length: 5000 }, (_, index) => `  t${index}: { price: *p }\n`).join('')
  const result = readFiles(t, { 'routes.yaml': `price: &p { in: 1, out: 2 }\nthings:\n${names}` })
  t.same(codes(result), [])
})

t.test('read: an alias bomb is stopped at the limit', async t => {
  const levels = 'abcdefghijklmnopqrstuvwxyz'.split('')
  const bomb = levels.map((name, index) => {
    const inner = index === 0 ? 'x' : `*${levels[index - 1]}`
    return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]\n`
  })
  const result = readFiles(t, { 'routes.yaml': bomb.join('') })
  t.same(codes(result), ['YAML_ALIAS_BOMB'])
})

t.test('read: YAML 1.1 booleans stay strings, numbers and keys keep their type', async t => {
  const result = readFiles(t, {
    'routes.yaml': '%YAML 1.1\n---\na: [yes, no, on, 012, 0x1f, 1e3, ~, true]\n404: x\nnull: y\n',
  })
  t.same(result.document, { a: ['yes', 'no', 'on', 12, 31, 1000, null, true], 404: 'x', null: 'y' })
})

t.test('read: an archived version is read from its texts, secret files from disk', async t => {
  const root = t.testdir({ 'routes.yaml': 'routes: [new]\n', 'key.txt': 'now' })
  const files = {
    'routes.yaml': 'include: [parts/*.yaml]\nroutes: [old]\nk: ${file:key.txt}\n',
    'parts/a.yaml': 'routes: [part]\n',
  }
  const source = archivedSource(root, files, fileSource(ENV))
  t.same(read(join(root, 'routes.yaml'), source).document, {
    include: ['parts/*.yaml'],
    routes: ['old', 'part'],
    k: 'now',
  })
})

t.test('read: every value of a random document has its exact position', async t => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/)
  const { value } = fc.letrec(tie => ({
    value: fc.oneof({ maxDepth: 4 }, word, fc.integer(), fc.boolean(), tie('map'), tie('list')),
    list: fc.array(tie('value'), { minLength: 1, maxLength: 4 }),
    map: fc.dictionary(word, tie('value'), { minKeys: 1, maxKeys: 4 }),
  }))
  const config = join(t.testdir({}), 'routes.yaml')
  fc.assert(
    fc.property(fc.dictionary(word, value, { minKeys: 1, maxKeys: 5 }), document => {
      const text = stringify(document)
      writeFileSync(config, text)
      const result = read(config, fileSource({}))
      t.same(result.document, document)
      for (const [path, leaf] of leaves(document)) {
        const { line, column, length } = result.find(path).place('value')
        const sourceText = text.split('\n')[line - 1]?.slice(column - 1, column - 1 + (length ?? 0))
        t.equal(sourceText?.replace(/^"|"$/g, ''), String(leaf), path.join('.'))
        const key = path.at(-1)
        if (typeof key !== 'string') continue
        const place = result.find(path).place('key')
        t.ok(
          text
            .split('\n')
            [place.line - 1]?.slice(place.column - 1)
            .replace(/^"/, '')
            .startsWith(key),
        )
      }
    }),
    { numRuns: 60 },
  )
})
function* leaves(
  value: unknown,
  path: (string | number)[] = [],
): Generator<[(string | number)[], unknown]> {
  if (Array.isArray(value))
    for (const [index, each] of value.entries()) yield* leaves(each, [...path, index])
  else if (typeof value === 'object' && value !== null)
    for (const [key, each] of Object.entries(value)) yield* leaves(each, [...path, key])
  else yield [path, value]
}

t.test('read: a missing place is the nearest one around it', async t => {
  const result = readFiles(t, {
    'routes.yaml': 'things:\n  c: { d: 2 }\nroutes: [a]\n',
  })
  t.same(result.document, { things: { c: { d: 2 } }, routes: ['a'] })
  t.equal(at(result, 'things', 'c', 'd'), 'routes.yaml:2:11')
  t.equal(at(result, 'routes', 5), at(result, 'routes'), 'behind the end of a list')
  t.equal(at(result, 'things', 'none'), at(result, 'things'), 'no such key')
  t.equal(at(result, 'routes', 0, 'none'), at(result, 'routes', 0), 'inside of a text')
})

t.test('read: a placeholder over two lines is placed at its whole value', async t => {
  const result = readFiles(t, { 'routes.yaml': 'a: "x ${NO\n  NE}"\nb: "${NONE}"\n' })
  t.match(
    result.problems.map(({ line }) => line),
    [1, 3],
  )
})
