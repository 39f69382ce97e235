/** Sources of a body: an iterable that pushes, and a pipe that is pulled. */
import t from 'tap'
import type { Bytes, Fault } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import { fromIterable, Pipe, type Source, UNCONTROLLED } from '../../../engine/response/source.ts'

const CUT: Fault = { code: 'CUT', message: 'cut', status: 402, expose: true }
const bytes = (text: string): Bytes => Buffer.from(text)
const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Starts it and writes down what comes. */
const started = (source: Source): string[] => {
  const log: string[] = []
  const text = (chunk: Bytes | undefined): string => Buffer.from(chunk ?? []).toString()
  source.start({
    write: chunk => void log.push(text(chunk)),
    end: tail => void log.push(`end ${text(tail)}`),
    fail: fault => void log.push(`fail ${fault.code} ${fault.status}`),
  })
  return log
}
/** An iterable fed by hand: a chunk, or an end. */
const fed = () => {
  const waiting: ((result: IteratorResult<Bytes>) => void)[] = []
  const ready: IteratorResult<Bytes>[] = []
  let asked = 0
  let returned = 0
  const give = (result: IteratorResult<Bytes>): void => {
    const next = waiting.shift()
    if (next) next(result)
    else ready.push(result)
  }
  const body: AsyncIterable<Bytes> = {
    [Symbol.asyncIterator]: () => ({
      next() {
        asked++
        const result = ready.shift()
        return result ? Promise.resolve(result) : new Promise(resolve => waiting.push(resolve))
      },
      return() {
        returned++
        return Promise.resolve({ done: true, value: undefined })
      },
    }),
  }
  return {
    body,
    chunk: (text: string) => give({ done: false, value: bytes(text) }),
    end: () => give({ done: true, value: undefined }),
    asked: () => asked,
    returned: () => returned,
  }
}

t.test('iterable source: holds its last chunk back as the tail', async t => {
  const { body, chunk, end } = fed()
  const log = started(fromIterable(body))
  chunk('a')
  chunk('b')
  await tick()
  t.same(log, ['a'])
  end()
  await tick()
  t.same(log, ['a', 'end b'])
  const empty = fed()
  const nothing = started(fromIterable(empty.body))
  empty.end()
  await tick()
  t.same(nothing, ['end '])
})

t.test('iterable source: a paused one is not read', async t => {
  const { body, chunk, end, asked } = fed()
  const source = fromIterable(body)
  const log = started(source)
  source.pause()
  source.pause()
  for (const text of ['a', 'b', 'c']) chunk(text)
  await tick()
  t.equal(asked(), 1)
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
  const { body, chunk, returned } = fed()
  const source = fromIterable(body)
  const log = started(source)
  chunk('a')
  chunk('b')
  await tick()
  source.abort(CUT)
  source.abort({ ...CUT, code: 'AGAIN' })
  t.same(log, ['a', 'fail CUT 402'])
  chunk('late')
  await tick()
  t.same(log, ['a', 'fail CUT 402'])
  t.equal(returned(), 1, 'and it is told to stop')
})

t.test('iterable source: a cut while it is paused stops it', async t => {
  const { body, chunk, returned } = fed()
  const source = fromIterable(body)
  const log = started(source)
  source.pause()
  chunk('a')
  await tick()
  source.abort(CUT)
  chunk('b')
  await tick()
  t.same(log, ['fail CUT 402'])
  t.equal(returned(), 1)
})

t.test('iterable source: one that is cut before its start is never read', async t => {
  const { body, asked } = fed()
  const source = fromIterable(body)
  source.abort(CUT)
  t.same(started(source), ['fail CUT 402'])
  t.equal(asked(), 0)
})

t.test('iterable source: any thrown value is a fault', async t => {
  const throwing = async function* (thrown: unknown): AsyncGenerator<Bytes> {
    yield bytes('a')
    throw thrown
  }
  for (const [thrown, said] of [
    [CUT, 'fail CUT 402'],
    [new Error('a bug'), 'fail INTERNAL 500'],
    [undefined, 'fail INTERNAL 500'],
  ] as const) {
    const log = started(fromIterable(throwing(thrown)))
    await tick()
    t.same(log, ['a', said], 'what was kept back is no tail any more')
  }
})

t.test('pipe: a body that fails while it is pulled throws its fault', async t => {
  const pipe = new Pipe({ endFault: undefined })
  const answer = new FilteredReply(200, {}, undefined, pipe)
  const seen: string[] = []
  pipe.write(bytes('a'))
  setImmediate(() => pipe.fail(CUT))
  await t.rejects(async () => {
    for await (const chunk of answer.body as AsyncIterable<Bytes>)
      seen.push(Buffer.from(chunk).toString())
  }, CUT)
  t.same(seen, ['a'])
})

t.test('uncontrolled flow: pause and resume do nothing', async t => {
  t.doesNotThrow(() => {
    UNCONTROLLED.pause()
    UNCONTROLLED.resume()
  })
})
