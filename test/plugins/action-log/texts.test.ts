/** Lines of exported actions. */
import t from 'tap'
import { keyOf, nextRow } from '../../../plugins/action-log/action.ts'
import { lineOf, viewOf } from '../../../plugins/action-log/texts.ts'

const key = keyOf('a secret of this test')
const viewWith = (name: string, object: string, after: string) => {
  const actor = { via: 'admin API', name, address: '192.0.2.1' } as const
  const action = { operation: 'keys|create\\', object, before: null, after: { name: after }, actor }
  return viewOf(nextRow({ seq: 4, mac: 'm' }, action, key, 1_700_000_000_000))
}
/** The fields of a CEF line as a collector reads them. */
const fieldsIn = (extension: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    extension.split(/ (?=\w+=)/).map(field => {
      const [, name = '', value = ''] = /^(\w+)=([\s\S]*)$/.exec(field) ?? []
      return [name, value.replace(/\\([\\=nr])/g, (_, char) => ESCAPED[char] ?? '')]
    }),
  )
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\', '=': '=', n: '\n', r: '\r' }

t.test('CEF: what a value has of the syntax is escaped, and can be read again', async t => {
  for (const hostile of ['a=b', 'x act\\=forged', 'act=forged suser=root', 'a|b\\', 'a\nCEF:0|x']) {
    const view = viewWith(hostile, hostile, hostile)
    const line = lineOf(view, 'cef')
    t.notMatch(line, /[\r\n]/, 'one line')
    const parts = line.split(/(?<!\\)(?:\\\\)*\|/)
    const [, extension = ''] = /^(?:(?:[^|\\]|\\.)*\|){7}(.*)$/s.exec(line) ?? []
    t.ok(parts.length >= 8)
    t.match(line, /^CEF:0\|Tollgate\|Tollgate\|1\|keys\\\|create\\\\\|keys\\\|create\\\\\|3\|rt=/)
    const escaped = extension.match(/(?<!\\)(?:\\\\)*=/g)?.length
    const names = extension.match(/(?:^| )\w+(?==)/g)?.length
    t.equal(escaped, names, 'each sign of equality that is not escaped ends a name')
    t.equal(JSON.parse(fieldsIn(extension).cs4 ?? '').name, hostile)
  }
})

t.test('JSON lines: one line for each action', async t => {
  const line = lineOf(viewWith('a\nb', 'o', 'c\nd'), 'jsonl')
  t.notMatch(line, /\n/)
  t.match(JSON.parse(line), { actor: 'a b', after: { name: 'c\nd' } })
})
