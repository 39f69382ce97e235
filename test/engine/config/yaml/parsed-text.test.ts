/** A text that is parsed by sections gives what the whole text gives: values, problems, places. */
import { deepStrictEqual } from 'node:assert'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createParser, ParsedPart, type Parts } from '../../../../engine/config/yaml/parsed-text.ts'
import type { Path } from '../../../../engine/config/yaml/source-positions.ts'
import { parseYaml } from '../../../../engine/config/yaml/yaml-file.ts'
import { isFields } from '../../../../engine/kit.ts'
import type { Json } from '../../../../engine/plugin.ts'
import fc from '../../../helpers/property.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const textsOf = (...patterns: readonly string[]): readonly string[] =>
  patterns.flatMap(pattern =>
    globSync(pattern, { cwd: ROOT }).map(path => readFileSync(join(ROOT, path), 'utf8')),
  )
const SHIPPED = textsOf('*.yaml', 'program/config/*.yaml', 'models/*.yaml', 'examples/**/*.yaml')
const BROKEN = textsOf('test/fixtures/config/*/*.yaml')
const VARIABLES = { env: { HOME: '/home/gate', PORT: '8080' }, file: () => undefined }

/** Every path of a value, and one that is not there. */
const pathsIn = (value: Json, path: Path = []): readonly Path[] => {
  const entries = isFields(value) || Array.isArray(value) ? Object.entries(value) : []
  return [
    path,
    [...path, 'missing'],
    ...entries.flatMap(([key, each]) => pathsIn(each, [...path, key])),
  ]
}
const read = (text: string, parts: Parts) => {
  const { value, problems, secrets, isBroken, find } = parseYaml('a.yaml', text, VARIABLES, parts)
  const places = pathsIn(value).map(path => {
    const { source, hasVariable, place } = find(path)
    // The source of a whole document is not asked for.
    const isInside = isFields(value) && String(path[0]) in value
    return [path, isInside && source, hasVariable, place('key'), place('value')]
  })
  return { value, problems, secrets, isBroken, places }
}
const whole = (text: string): Parts => [{ part: new ParsedPart(text), start: 0 }]

/** Reads a text as an edit of another, in which each section ends otherwise: then entries are
 *  parsed. */
const parseEdited = (text: string): Parts => {
  const parse = createParser()
  let count = 0
  const mark = (key: string): string => (count++ === 0 ? key : `# before\n${key}`)
  parse(`${text.replaceAll(/^[A-Za-z_][\w-]*:/gm, mark)}\n# before\n`)
  return parse(text)
}

t.test('parsed text: sections give the same as the whole text', async t => {
  for (const text of [...SHIPPED, ...BROKEN])
    t.same(read(text, parseEdited(text)), read(text, whole(text)), text.slice(0, 60))
  const counts = SHIPPED.map(text => parseEdited(text).length)
  t.ok(Math.max(...counts) > 5, 'shipped texts have sections')
  const parts = SHIPPED.flatMap(text => parseEdited(text).map(({ part }) => part))
  const entries = parts.flatMap(part => ('entries' in part ? part.entries : []))
  t.ok(entries.length > 150, `${entries.length} entries`)
})

const SMALL = [...SHIPPED, ...BROKEN].map(text => text.slice(0, 1_500))
const INSERTS = [
  ...'{}[]"\'#&*|>-:!,?%',
  '\n',
  '\r\n',
  '\t',
  '  ',
  '\nupstreams:\n',
  '\n---\n',
  '\n...\n',
  ' &a ',
  ' *a ',
  '${PORT}',
  '\nroutes: "x\nmodels: y"\n',
  '\nnotes: |\n',
  '\nnotes: >\n\n  b: c\n',
  '\n- item\n',
  '\n  - item\n',
  '\n  key: value\n',
  '\n  key:\n  - item\n',
  '\n ? a\n : b\n',
  '\n    deeper: |\n  text: x\n',
  '  }\n',
  '\nfloat: [\n1]\n',
  '\uFEFF',
]
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  insert: fc.constantFrom('', ...INSERTS),
  remove: fc.nat({ max: 12 }),
})

t.test('parsed text: edited texts, too', async t => {
  let [splitCount, entryCount] = [0, 0]
  fc.assert(
    fc.property(fc.constantFrom(...SMALL), fc.array(edit, { maxLength: 3 }), (text, edits) => {
      const edited = edits.reduce((before, { at, insert, remove }) => {
        const place = Math.floor(before.length * at)
        return before.slice(0, place) + insert + before.slice(place + remove)
      }, text)
      const parts = parseEdited(edited)
      if (parts.length > 1) splitCount++
      if (parts.some(({ part }) => 'entries' in part)) entryCount++
      deepStrictEqual(read(edited, parts), read(edited, whole(edited)))
    }),
    { numRuns: 600 },
  )
  t.ok(splitCount > 100, `${splitCount} texts had sections`)
  t.ok(entryCount > 100, `${entryCount} texts had entries`)
})

t.test('parsed text: only the section that changes is parsed again', async t => {
  const parse = createParser()
  const [first, second] = ['a:\n  b: 1\nc:\n  d: 2\n', 'a:\n  b: 3\nc:\n  d: 2\n'].map(parse)
  t.not(first?.[0].part, second?.[0].part)
  t.equal(first?.[1]?.part, second?.[1]?.part)
  const values = [first, second].map(parts => parts && read('', parts).value)
  t.same(values, [
    { a: { b: 1 }, c: { d: 2 } },
    { a: { b: 3 }, c: { d: 2 } },
  ])
  const [one, other] = values as unknown as readonly { readonly c: object }[]
  t.equal(one?.c, other?.c, 'an unchanged value is the same object')
  t.ok(Object.isFrozen(one?.c), 'which nothing can change')
  const entriesOf = (text: string) => {
    const part = parse(text)[0].part
    return 'entries' in part ? part.entries.map(each => each.part) : []
  }
  t.same(entriesOf('a:\n  - b: 1\n  # c\n  - f\n'), [], 'first as a whole')
  const [old, now] = ['a:\n  - b: 1\n  # c\n  - d\n', 'a:\n  - b: 1\n  # c\n  - e\n'].map(entriesOf)
  t.equal(old?.length, 2)
  t.equal(old?.[0], now?.[0], 'only the entry that changes is parsed again')
  t.not(old?.[1], now?.[1])
})
