/** `tollgate models`: text columns, JSON, and how a name resolves. */
import t, { type Test } from 'tap'
import type { Document } from '../../../engine/plugin.ts'
import model from '../../../plugins/model/index.ts'
import { runCommand } from '../../helpers/gateway/command-line.ts'
import { fakeHost } from '../../helpers/gateway/fake-exchange.ts'

const models = {
  'gp-4.1': { to: 'gp/gpt-4.1', price: { input: '2.00 USD / 1M', output: '8.00 USD / 1M' } },
  'cl-*': { to: ['cl/*', 'spare'] },
}
const upstreams = { gp: { options: { formats: ['openai-chat'] } } }
const run = (t: Test, args: readonly string[], section: object = models) => {
  const routes = [{ path: 'POST /v1/chat/completions', translate: 'openai-chat' }]
  const host = fakeHost({ document: { models: section, routes } as unknown as Document, upstreams })
  return runCommand(t, 'models', model.commands, host, args)
}

t.test('tollgate models: lists all models, patterns last', async t => {
  const { exit, out } = await run(t, [])
  t.equal(exit, 0)
  t.equal(
    out,
    'gp-4.1  gp/gpt-4.1   input 2.00 USD / 1M; output 8.00 USD / 1M\ncl-*    cl/*, spare\n',
  )
})
t.test('tollgate models: prints JSON', async t => {
  t.match((await run(t, ['--json'])).json(), [
    { name: 'gp-4.1', to: ['gp/gpt-4.1'], endpoints: ['openai'] },
    { name: 'cl-*', price: {} },
  ])
})
t.test('tollgate models: prints fallbacks as JSON, and their targets for one name', async t => {
  const section = { a: { to: 'gp/a', fallback: 'b' }, b: { to: 'gp/b' } }
  const [first, second] = (await run(t, ['--json'], section)).json() as object[]
  t.match(first, { name: 'a', to: ['gp/a'], fallback: ['b'] })
  t.notOk('fallback' in (second ?? {}))
  t.equal((await run(t, ['a'], section)).out, 'a  gp/a, gp/b\n')
})
t.test('tollgate models: shows how one name resolves', async t => {
  t.equal((await run(t, ['cl-opus'])).out, 'cl-opus  cl/opus, spare\n')
})
t.test('tollgate models: fails for an unknown name', async t => {
  const { exit, out, err } = await run(t, ['nope'])
  t.same([exit, out, err], [3, '', 'no model matches "nope"; `tollgate models` lists all models\n'])
})
t.test('tollgate models: prints an empty catalogue', async t => {
  t.equal((await run(t, [], {})).out, 'none\n')
})
t.test('tollgate models: prints a long price as text', async t => {
  const price = {
    seconds: { by: 'resolution', price: { '540p': '10 CREDIT', default: '30 CREDIT' } },
    images: { by: ['quality', 'size'], price: { low: { default: 0.12 }, default: 1.8 } },
    output: [{ price: '15 USD', per: '1M', when: { prompt: '> 200k' } }, '10 USD / 1M'],
  }
  const { out } = await run(t, [], { vd: { to: 'vd', price } })
  const read = [
    'seconds by resolution (540p 10 CREDIT, default 30 CREDIT)',
    'images by quality and size (low (default 0.12), default 1.8)',
    'output 15 USD, per 1M when prompt > 200k or 10 USD / 1M',
  ]
  t.equal(out, `vd  vd  ${read.join('; ')}\n`)
})
