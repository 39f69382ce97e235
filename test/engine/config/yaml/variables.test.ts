/** Expansion of variables in texts. */
import t from 'tap'
import { expand, hasVariable, isSecret } from '../../../../engine/config/yaml/variables.ts'
import fc from '../../../helpers/property.ts'

const variables = {
  env: { NAME: 'value', EMPTY: '', PORT: '8080', _x1: 'under' },
  file: (path: string) => ({ 'a.txt': 'content\n', 'two.txt': 'a\nb\r\n' })[path],
}
const text = (source: string) => expand(source, variables).text
const codes = (source: string) => expand(source, variables).faults.map(({ code }) => code)

t.test('variables: placeholders are replaced by values of variables and files', async t => {
  t.equal(text('plain'), 'plain')
  t.equal(text('${NAME}'), 'value')
  t.equal(text('127.0.0.1:${PORT}'), '127.0.0.1:8080')
  t.equal(text('${NAME}${NAME}-${_x1}'), 'valuevalue-under')
  t.equal(text('${file:a.txt}'), 'content', 'the final line break is removed')
  t.equal(text('<${file:two.txt}>'), '<a\nb>', 'only the final line break is removed')
})

t.test('variables: a default applies if a variable is unset or empty', async t => {
  t.equal(text('${NAME:-other}'), 'value')
  t.equal(text('${ABSENT:-other}'), 'other')
  t.equal(text('${EMPTY:-other}'), 'other')
  t.equal(text('${ABSENT:-}'), '')
  t.equal(text('${ABSENT:-http://[::1]:80/a-b:-c}'), 'http://[::1]:80/a-b:-c')
  t.equal(text('${EMPTY}'), '', 'an empty variable without a default is empty')
})

t.test('variables: an escaped placeholder is text', async t => {
  t.equal(text('$${NAME}'), '${NAME}')
  t.equal(text('$${NAME} is ${NAME}'), '${NAME} is value')
  t.equal(text('$NAME {NAME} $'), '$NAME {NAME} $', 'a text without ${ is unchanged')
  t.notOk(hasVariable('$${NAME}'))
  t.ok(hasVariable('a${NAME}'))
})

t.test('variables: each fault is reported once and expands to nothing', async t => {
  t.same(codes('${ABSENT}'), ['VARIABLE_UNSET'])
  t.same(codes('${ABSENT} ${GONE}'), ['VARIABLE_UNSET', 'VARIABLE_UNSET'])
  t.same(codes('${file:none.txt}'), ['FILE_MISSING'])
  for (const source of [
    '${}',
    '${a b}',
    '${1A}',
    '${A-b}',
    '${A:?b}',
    '${file:}',
    '${NAME',
    '${A:-${B}}',
  ])
    t.ok(codes(source).length > 0, source)
  t.same(codes('${file:}'), ['FILE_MISSING'])
  t.equal(expand('${NAM}', variables).faults[0]?.suggestion, 'NAME')
  t.equal(text('a${ABSENT}b'), 'ab')
})

t.test('variables: inserted values are recorded, defaults are not', async t => {
  t.same(expand('${NAME} ${ABSENT:-plain} ${file:a.txt}', variables).values, ['value', 'content'])
})

t.test('variables: long values are secret, short words and addresses are not', async t => {
  const secrets = [
    'sk-0123456789abcdef',
    'hunter2hunter2',
    'https://user:password@host/x',
    'a/b+c==d',
  ]
  for (const value of [...secrets, 'https://host/?key=0123456789']) t.ok(isSecret(value), value)
  const plain = ['short', '8080', 'https://api.example.com/v1', '127.0.0.1:8080', 'localhost:9000']
  for (const value of [
    ...plain,
    '/var/lib/tollgate',
    './data/files',
    'sqlite:',
    '127.0.0.1',
    '123456789',
  ])
    t.notOk(isSecret(value), value)
})

t.test('variables: text without ${ is unchanged, and values are not expanded again', async t => {
  fc.assert(
    fc.property(fc.string(), value => {
      const source = value.replaceAll('${', '')
      t.equal(text(source), source)
      t.equal(expand('${V}', { ...variables, env: { V: value } }).text, value)
    }),
    { numRuns: 100 },
  )
})
