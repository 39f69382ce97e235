/** The cache of compiled schemas: a cached validator has the same results, and a damaged file is
 *  replaced. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compileSchema } from '../../../engine/config/validation/validator-cache.ts'

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

t.test('schema cache: stores schemas, reads them again and replaces damaged files', async t => {
  const folder = t.testdir()
  const passwords: string[] = []
  const own = { password: (value: string) => passwords.push(value) > 0 }
  const validateAll = (from?: string) => {
    const validate = compileSchema(SCHEMA, own, from)
    return VALUES.map(value => [validate(value), validate.errors])
  }
  const plain = validateAll()
  t.same(
    plain.map(([fits]) => fits),
    [true, false, false, false],
  )
  t.same(validateAll(folder), plain, 'compiled')
  const [name = '', ...others] = filesIn(folder)
  t.same(others, [])
  t.match(name, /^schema-[0-9a-f]{16}\.cjs$/)
  passwords.length = 0
  t.same(validateAll(folder), plain, 'cached')
  t.same(passwords, ['long', 's'], 'a cached schema uses the formats of its caller')

  const other = compileSchema({ ...SCHEMA, required: ['at'] }, own, folder)
  t.equal(other({}), false, 'another schema is another file')
  t.equal(filesIn(folder).length, 2)

  const damagedFolder = t.testdir({ damagedFolder: {} })
  writeFileSync(join(damagedFolder, name), 'module.exports = {')
  t.same(validateAll(damagedFolder), plain)
  t.equal(readFileSync(join(damagedFolder, name), 'utf8'), readFileSync(join(folder, name), 'utf8'))
  t.same(validateAll(join(damagedFolder, 'nowhere')), plain, 'a missing folder is ignored')
})

t.test('schema cache: an invalid schema throws', async t => {
  const folder = t.testdir()
  t.throws(() => compileSchema({ type: 'strange' }, {}, folder), /schema is invalid/)
  t.same(filesIn(folder), [])
})
