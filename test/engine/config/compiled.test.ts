/** A schema is compiled once: the next who asks finds what was made of it, judges alike, and is not
 *  held up by a file that is spoiled. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compileSchema } from '../../../engine/config/validator-cache.ts'

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    at: { type: 'string', format: 'uri' },
    secret: { type: 'string', format: 'password', minLength: 2 },
    one: { enum: [{ deep: [1, 2] }, 'x'] },
  },
}
const VALUES: readonly unknown[] = [
  { at: 'https://a.example/', secret: 'long', one: { deep: [1, 2] } },
  { at: 'nowhere', secret: 's', one: 'y', more: 1 },
  { at: 5 },
  [],
]
const filesIn = (folder: string): string[] => readdirSync(folder).sort()

t.test('schema cache: stores, finds and recompiles schemas', async t => {
  const folder = t.testdir()
  const seen: string[] = []
  const own = { password: (value: string) => seen.push(value) > 0 }
  const judged = (from?: string) => {
    const validate = compileSchema(SCHEMA, own, from)
    return VALUES.map(value => [validate(value), validate.errors])
  }
  const plain = judged()
  t.same(
    plain.map(([fits]) => fits),
    [true, false, false, false],
  )
  t.same(judged(folder), plain, 'compiled')
  const [name = '', ...others] = filesIn(folder)
  t.same(others, [])
  t.match(name, /^schema-[0-9a-f]{16}\.cjs$/)
  seen.length = 0
  t.same(judged(folder), plain, 'found')
  t.same(seen, ['long', 's'], 'formats are those of whoever asks')

  const other = compileSchema({ ...SCHEMA, required: ['at'] }, own, folder)
  t.equal(other({}), false, 'another schema is another file')
  t.equal(filesIn(folder).length, 2)

  const spoiled = t.testdir({ spoiled: {} })
  writeFileSync(join(spoiled, name), 'module.exports = {')
  t.same(judged(spoiled), plain)
  t.equal(readFileSync(join(spoiled, name), 'utf8'), readFileSync(join(folder, name), 'utf8'))
  t.same(judged(join(spoiled, 'nowhere')), plain, 'nor by a folder that is none')
})

t.test('schema cache: an invalid schema throws', async t => {
  const folder = t.testdir()
  t.throws(() => compileSchema({ type: 'strange' }, {}, folder), /schema is invalid/)
  t.same(filesIn(folder), [])
})
