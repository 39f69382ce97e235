/** Which stage holds a request up, and whether a request beside the pipeline is under way. */
import t from 'tap'
import { asFault } from '../../../engine/errors.ts'
import { StageWatch } from '../../../engine/request/stage-watch.ts'

t.test('stage watch: each send counts until its reply has ended, once', async t => {
  const watch = new StageWatch()
  const [first, second] = [watch.beginSend(), watch.beginSend()]
  first()
  first()
  t.ok(watch.sending, 'the second is under way')
  second()
  t.notOk(watch.sending)
})

t.test('stage watch: a stall rejects the innermost stage by its name', async t => {
  const watch = new StageWatch()
  const never = new Promise<void>(() => {})
  const outer = watch.guard(Promise.resolve(), 'outer')
  await outer
  const inner = watch.guard(never, 'inner')
  const names: (string | undefined)[] = []
  const stall = () =>
    watch.stall(name => {
      names.push(name)
      return asFault(new Error(`stalled in ${name}`))
    })
  t.ok(stall().wasRejected)
  await t.rejects(inner, { message: 'stalled in inner' })
  t.same(names, ['inner'])
  t.equal(watch.owner, 'the stage "outer"')
})
