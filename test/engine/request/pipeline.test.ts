/** The pipeline: order of stages, and `next()` once. */
import t from 'tap'
import { compose, type Handler } from '../../../engine/request/pipeline.ts'

/** A stage that logs when it runs, before and behind `next()`. */
const marker =
  (name: string): Handler<string[]> =>
  async (log, next) => {
    log.push(`${name} down`)
    await next()
    log.push(`${name} up`)
  }
const last = async (log: string[]): Promise<void> => void log.push('last')

t.test('pipeline: stages run in order before `next()` and in reverse order behind it', async t => {
  const log: string[] = []
  await compose([marker('a'), marker('b')], last)(log)
  t.same(log, ['a down', 'b down', 'last', 'b up', 'a up'])
})

t.test('pipeline: without stages only the last step runs', async t => {
  t.equal(compose([], last), last)
})

t.test('pipeline: a stage that does not call `next()` ends the chain', async t => {
  const log: string[] = []
  await compose([marker('a'), async log => void log.push('answered'), marker('never')], last)(log)
  t.same(log, ['a down', 'answered', 'a up'])
})

t.test('pipeline: the error of an inner stage reaches the outer ones unchanged', async t => {
  const failure = new Error('below')
  const errors: unknown[] = []
  const catching: Handler<string[]> = async (_, next) => {
    await next().catch(error => void errors.push(error))
  }
  await compose([catching], async () => Promise.reject(failure))([])
  t.same(errors, [failure])
  await t.rejects(compose([marker('a')], () => Promise.reject(failure))([]), failure)
})

t.test('pipeline: calling `next()` twice is a fault of the stage', async t => {
  const greedy: Handler<string[]> = async (_, next) => {
    await next()
    await next()
  }
  const log: string[] = []
  await t.rejects(compose([greedy, marker('a')], last)(log), { code: 'NEXT_TWICE', status: 500 })
  t.same(log, ['a down', 'last', 'a up'], 'the second call runs nothing')
  await compose([marker('a')], last)(log)
  t.equal(log.filter(line => line === 'last').length, 2, 'a composed chain can run again')
})

t.test('pipeline: a rejection that a stage does not await does not end the process', async t => {
  const missingAwait: Handler<string[]> = async (_, next) => void next()
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', onRejection)
  await compose([missingAwait], () => Promise.reject(new Error('unseen')))([])
  await new Promise(resolve => setImmediate(resolve))
  process.off('unhandledRejection', onRejection)
  t.same(rejections, [])
})
