/** When schemas of request bodies are compiled. */
import t from 'tap'
import type { HostBase, Json } from '../../../engine/plugin.ts'
import { validatorOf } from '../../../plugins/schema/compile.ts'

/** A host of a process. `memos`: texts that processes of a machine keep. */
const createHost = (isTrial: boolean, memos = new Map<string, string>()) => {
  const values = new Map<string, object>()
  const share: HostBase['share'] = <T extends object>(
    key: string,
    _: string,
    create: (previous: T | undefined) => T,
  ): T => {
    const value = values.get(key) ?? create(undefined)
    values.set(key, value)
    return value as T
  }
  const memo: HostBase['memo'] = (name, make) => {
    const text = memos.get(name) ?? make()
    memos.set(name, text)
    return text
  }
  const hasCompiler = () => [...values.keys()].some(isCompiler)
  return { share, memo, config: { isTrial }, hasCompiler }
}
const isCompiler = (key: string): boolean => key.startsWith('schema compiler')

const BROKEN: Json = { type: 'sting' }
const SCHEMA: Json = { type: 'object', required: ['model'] }

t.test('body schemas: an unusable one is refused where a version is tried out', async t => {
  t.throws(() => validatorOf(BROKEN, 'body.json', createHost(true)), { code: 'SCHEMA_REFUSED' })
})

t.test('body schemas: a schema that was usable before is not compiled again', async t => {
  const memos = new Map<string, string>()
  const [first, second] = [createHost(true, memos), createHost(true, memos)]
  validatorOf(SCHEMA, 'body.json', first)
  t.ok(first.hasCompiler())
  const validator = validatorOf(SCHEMA, 'body.json', second)
  t.notOk(second.hasCompiler())
  t.match(validator.validate({}), { code: 'REQUIRED_PARAMETER' })
  t.throws(() => validatorOf(BROKEN, 'body.json', createHost(true, memos)))
  t.throws(() => validatorOf(BROKEN, 'body.json', createHost(true, memos)), {
    code: 'SCHEMA_REFUSED',
  })
})

t.test('body schemas: a worker compiles one when its first body arrives', async t => {
  const host = createHost(false)
  const validator = validatorOf(SCHEMA, 'body.json', host)
  t.notOk(host.hasCompiler(), 'nothing is compiled yet')
  t.match(validator.validate({}), { code: 'REQUIRED_PARAMETER' })
  t.ok(host.hasCompiler())
  t.equal(validator.validate({ model: 'x' }), undefined)
  t.equal(validatorOf(SCHEMA, 'body.json', host), validator, 'compiled once for all routes')
})
