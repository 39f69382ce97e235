/** The onion: down in order, up in the other, and `next` once. */
import t from 'tap'
import { compose, type Step } from '../../../engine/request/pipeline.ts'

/** Writes down when it is passed, either way. */
const marker =
  (name: string): Step<string[]> =>
  async (log, next) => {
    log.push(`${name} down`)
    await next()
    log.push(`${name} up`)
  }
const last = async (log: string[]): Promise<void> => void log.push('last')

t.test('stages run down in order and up in the other', async t => {
  const log: string[] = []
  await compose([marker('a'), marker('b')], last)(log)
  t.same(log, ['a down', 'b down', 'last', 'b up', 'a up'])
})

t.test('without stages the last step is all', async t => {
  t.equal(compose([], last), last)
})

t.test('a stage that does not call `next` ends the way down', async t => {
  const log: string[] = []
  await compose([marker('a'), async log => void log.push('answered'), marker('never')], last)(log)
  t.same(log, ['a down', 'answered', 'a up'])
})

t.test('what is thrown below comes up as it was', async t => {
  const thrown = new Error('below')
  const seen: unknown[] = []
  const catching: Step<string[]> = async (_, next) => {
    await next().catch(error => void seen.push(error))
  }
  await compose([catching], async () => Promise.reject(thrown))([])
  t.same(seen, [thrown])
  await t.rejects(compose([marker('a')], () => Promise.reject(thrown))([]), thrown)
})

t.test('`next` twice is a fault of that stage', async t => {
  const greedy: Step<string[]> = async (_, next) => {
    await next()
    await next()
  }
  const log: string[] = []
  await t.rejects(compose([greedy, marker('a')], last)(log), { code: 'NEXT_TWICE', status: 500 })
  t.same(log, ['a down', 'last', 'a up'], 'the second call runs nothing')
  await compose([marker('a')], last)(log)
  t.equal(log.filter(line => line === 'last').length, 2, 'and a composed chain can run again')
})

t.test('what is thrown below a stage that forgot to wait does not end the process', async t => {
  const forgetful: Step<string[]> = async (_, next) => void next()
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', note)
  await compose([forgetful], () => Promise.reject(new Error('unseen')))([])
  await new Promise(resolve => setImmediate(resolve))
  process.off('unhandledRejection', note)
  t.same(rejections, [])
})
