/** Sources of a body: an iterable that pushes, and a pipe that is pulled. */
import t from 'tap'
import type { Bytes, Fault } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import { fromIterable, Pipe, type Source, UNCONTROLLED } from '../../../engine/response/source.ts'

const CUT: Fault = { code: 'CUT', message: 'cut', status: 402, expose: true }
const bytes = (text: string): Bytes => Buffer.from(text)
const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Starts a source and records its output. */
const startAndRecord = (source: Source): string[] => {
  const log: string[] = []
  const text = (chunk: Bytes | undefined): string => Buffer.from(chunk ?? []).toString()
  source.start({
    write: chunk => void log.push(text(chunk)),
    end: tail => void log.push(`end ${text(tail)}`),
    fail: fault => void log.push(`fail ${fault.code} ${fault.status}`),
  })
  return log
}
/** An iterable whose chunks and end the test provides. */
const manualIterable = () => {
  const waiting: ((result: IteratorResult<Bytes>) => void)[] = []
  const ready: IteratorResult<Bytes>[] = []
  let nextCalls = 0
  let returnCalls = 0
  const give = (result: IteratorResult<Bytes>): void => {
    const next = waiting.shift()
    if (next) next(result)
    else ready.push(result)
  }
  const body: AsyncIterable<Bytes> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        nextCalls++
        const result = ready.shift()
        return result ? Promise.resolve(result) : new Promise(resolve => waiting.push(resolve))
      },
      return() {
        returnCalls++
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
  return {
    body,
    chunk: (text: string) => give({ done: false, value: bytes(text) }),
    end: () => give({ done: true, value: undefined }),
    nextCalls: () => nextCalls,
    returnCalls: () => returnCalls,
  }
}

t.test('iterable source: holds its last chunk back as the tail', async t => {
  const { body, chunk, end } = manualIterable()
  const log = startAndRecord(fromIterable(body))
  chunk('a')
  chunk('b')
  await tick()
  t.same(log, ['a'])
  end()
  await tick()
  t.same(log, ['a', 'end b'])
  const empty = manualIterable()
  const nothing = startAndRecord(fromIterable(empty.body))
  empty.end()
  await tick()
  t.same(nothing, ['end '])
})

t.test('iterable source: not read while paused', async t => {
  const { body, chunk, end, nextCalls } = manualIterable()
  const source = fromIterable(body)
  const log = startAndRecord(source)
  source.pause()
  source.pause()
  for (const text of ['a', 'b', 'c']) chunk(text)
  await tick()
  t.equal(nextCalls(), 1)
  t.same(log, [])
  source.resume()
  source.resume()
  await tick()
  t.same(log, ['a', 'b'])
  end()
  await tick()
  t.same(log, ['a', 'b', 'end c'])
})

t.test('iterable source: a cut is reported at once, and nothing behind it', async t => {
  const { body, chunk, returnCalls } = manualIterable()
  const source = fromIterable(body)
  const log = startAndRecord(source)
  chunk('a')
  chunk('b')
  await tick()
  source.abort(CUT)
  source.abort({ ...CUT, code: 'AGAIN' })
  t.same(log, ['a', 'fail CUT 402'])
  chunk('late')
  await tick()
  t.same(log, ['a', 'fail CUT 402'])
  t.equal(returnCalls(), 1, 'the iterator is closed')
})

t.test('iterable source: a cut while it is paused stops it', async t => {
  const { body, chunk, returnCalls } = manualIterable()
  const source = fromIterable(body)
  const log = startAndRecord(source)
  source.pause()
  chunk('a')
  await tick()
  source.abort(CUT)
  chunk('b')
  await tick()
  t.same(log, ['fail CUT 402'])
  t.equal(returnCalls(), 1)
})

t.test('iterable source: never read when it is cut before its start', async t => {
  const { body, nextCalls } = manualIterable()
  const source = fromIterable(body)
  source.abort(CUT)
  t.same(startAndRecord(source), ['fail CUT 402'])
  t.equal(nextCalls(), 0)
})

t.test('iterable source: any thrown value is a fault', async t => {
  const throwing = async function* (error: unknown): AsyncGenerator<Bytes> {
    yield bytes('a')
    throw error
  }
  for (const [error, expected] of [
    [CUT, 'fail CUT 402'],
    [new Error('a bug'), 'fail INTERNAL 500'],
    [undefined, 'fail INTERNAL 500'],
  ] as const) {
    const log = startAndRecord(fromIterable(throwing(error)))
    await tick()
    t.same(log, ['a', expected], 'the last chunk is written, not a tail')
  }
})

t.test('pipe: a body that fails while it is pulled throws its fault', async t => {
  const pipe = new Pipe({ endFault: undefined })
  const answer = new FilteredReply(200, {}, undefined, pipe)
  const chunks: string[] = []
  pipe.write(bytes('a'))
  setImmediate(() => pipe.fail(CUT))
  await t.rejects(async () => {
    for await (const chunk of answer.body as AsyncIterable<Bytes>)
      chunks.push(Buffer.from(chunk).toString())
  }, CUT)
  t.same(chunks, ['a'])
})

t.test('uncontrolled flow: pause and resume do nothing', async t => {
  t.doesNotThrow(() => {
    UNCONTROLLED.pause()
    UNCONTROLLED.resume()
  })
})
