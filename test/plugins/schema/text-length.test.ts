/** The length of texts: characters are counted, and a pattern comes after the length. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { validatorOf } from '../../../plugins/schema/compile.ts'

const host = {
  share: <T>(_name: string, _version: string, make: () => T): T => make(),
  memo: () => 'usable',
  config: { isTrial: false },
}
const complaint = (schema: Json, text: string): string | undefined => {
  const whole = { type: 'object', properties: { text: schema } } as Json
  return validatorOf(whole, 'test', host as never).validate({ text })?.message
}

t.test('text length: a pair of surrogates is one character', async t => {
  const most = { type: 'string', maxLength: 3 }
  for (const text of ['', 'abc', '😀😀😀', 'a😀b']) t.equal(complaint(most, text), undefined, text)
  for (const text of ['abcd', '😀😀😀😀', '😀abc'])
    t.match(complaint(most, text), /at most 3 characters/, text)
  const least = { type: 'string', minLength: 2 }
  for (const text of ['ab', '😀😀', '😀a', 'abcdef'])
    t.equal(complaint(least, text), undefined, text)
  for (const text of ['', 'a', '😀']) t.match(complaint(least, text), /at least 2 characters/, text)
})

t.test('text length: is checked before a pattern, which takes time', async t => {
  const schema = { type: 'string', pattern: '^[a-z]*$', maxLength: 3 }
  t.match(complaint(schema, 'ABCD'), /at most 3 characters/)
})
