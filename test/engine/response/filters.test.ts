/** Filters of a reply's body: tails, cuts, filters that throw, bodies read twice, back-pressure. */
import t from 'tap'
import type { Bytes, Fault, Filter, Out } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import { Pipe, type Source } from '../../../engine/response/source.ts'

const bytes = (text: string): Bytes => Buffer.from(text)
const text = (chunk: Bytes | undefined): string => (chunk ? Buffer.from(chunk).toString() : '')
const cutFault: Fault = { code: 'CUT', message: 'cut', status: 402, expose: true }

/** A source that the test controls. */
const manualSource = (): Source & { out?: Out; paused: boolean; aborted?: Fault } => ({
  paused: false,
  start(out) {
    this.out = out
  },
  pause() {
    this.paused = true
  },
  resume() {
    this.paused = false
  },
  abort(fault) {
    this.aborted = fault
    this.out?.fail(fault)
  },
})
/** Records the output of the chain. */
const sink = () => {
  const log: string[] = []
  const out: Out = {
    write: chunk => void log.push(text(chunk)),
    end: tail => void log.push(`end ${text(tail)}`),
    fail: fault => void log.push(`fail ${fault.code}`),
  }
  return { log, out }
}
async function* chunks(...list: string[]): AsyncGenerator<Bytes> {
  for (const each of list) yield bytes(each)
}
const collectOutput = async (answer: FilteredReply): Promise<string[]> => {
  const { log, out } = sink()
  await new Promise<void>(resolve => {
    answer.pipeTo({
      write: out.write,
      end(tail) {
        out.end(tail)
        resolve()
      },
      fail(fault) {
        out.fail(fault)
        resolve()
      },
    })
  })
  return log
}

t.test('filters: bytes are one tail', async t => {
  t.same(await collectOutput(new FilteredReply(200, {}, bytes('whole'))), ['end whole'])
  t.same(await collectOutput(new FilteredReply(204, {}, undefined)), ['end '])
})

t.test(
  'filters: an async generator over the old body holds its last chunk back as the tail',
  async t => {
    const source = manualSource()
    const answer = new FilteredReply(200, { 'content-length': '3' }, undefined, source)
    const old = answer.body as AsyncIterable<Bytes>
    answer.body = (async function* () {
      for await (const chunk of old) yield bytes(text(chunk).toUpperCase())
    })()
    t.notOk('content-length' in answer.headers, 'the length of the old body is removed')
    const output = collectOutput(answer)
    await new Promise(setImmediate)
    source.out?.write(bytes('a'))
    source.out?.write(bytes('b'))
    source.out?.end(bytes('c'))
    t.same(await output, ['A', 'B', 'end C'])
  },
)

t.test('filters: run in the order they were added, and see the tail', async t => {
  const answer = new FilteredReply(200, {}, chunks('1', '2'))
  const add = (mark: string): Filter => ({
    write: (chunk, out) => out.write(bytes(text(chunk) + mark)),
    end: (tail, out) => out.end(bytes(text(tail) + mark)),
  })
  answer.through(add('a'))
  answer.through(add('b'))
  t.same(await collectOutput(answer), ['1ab', 'end 2ab'])
})

t.test('filters: a cut within a write ends the body once', async t => {
  const source = manualSource()
  const answer = new FilteredReply(200, {}, undefined, source)
  let endCount = 0
  answer.through({
    write(chunk, out) {
      if (text(chunk) === 'stop') answer.cut(cutFault)
      out.write(chunk)
    },
    end: (tail, out) => {
      endCount++
      out.end(tail)
    },
    fail: (fault, out) => {
      endCount++
      out.fail(fault)
    },
  })
  const { log, out } = sink()
  answer.pipeTo(out)
  source.out?.write(bytes('go'))
  source.out?.write(bytes('stop'))
  source.out?.write(bytes('late'))
  source.out?.end(bytes('never'))
  t.equal(endCount, 1)
  t.equal(source.aborted, cutFault)
  t.equal(log.filter(line => line.startsWith('fail')).length, 1)
  t.notOk(log.includes('late'))
})

t.test(
  'filters: a filter that throws is one `fail` downstream, in each of its methods',
  async t => {
    const bad: Record<string, Filter> = {
      write: {
        write() {
          throw new Error('boom')
        },
      },
      end: {
        end() {
          throw new Error('boom')
        },
      },
      fail: {
        fail() {
          throw new Error('boom')
        },
      },
    }
    for (const [member, filter] of Object.entries(bad)) {
      const source = manualSource()
      const answer = new FilteredReply(200, {}, undefined, source)
      answer.through(filter)
      const { log, out } = sink()
      answer.pipeTo(out)
      if (member === 'fail') source.out?.fail(cutFault)
      else {
        source.out?.write(bytes('x'))
        source.out?.end()
      }
      t.equal(log.filter(line => line === 'fail STAGE_THREW').length, 1, member)
      t.notOk(
        log.some(line => line.startsWith('end')),
        `${member}: no end after it`,
      )
    }
  },
)

t.test('peek: returns the first chunk and does not consume it', async t => {
  t.equal(text(await new FilteredReply(200, {}, bytes('all')).peek()), 'all')
  const answer = new FilteredReply(200, {}, chunks('one', 'two', 'three'))
  t.equal(text(await answer.peek()), 'one')
  t.equal(text(await answer.peek()), 'one', 'again')
  t.same(await collectOutput(answer), ['one', 'two', 'end three'])
  const empty = new FilteredReply(200, {}, chunks())
  t.equal(await empty.peek(), undefined)
  t.same(await collectOutput(empty), ['end '])
})

t.test('peek: rejects with the fault of a source that fails', async t => {
  const source = manualSource()
  const answer = new FilteredReply(200, {}, undefined, source)
  const first = answer.peek()
  source.out?.fail(cutFault)
  await t.rejects(first, { code: 'CUT' })
})

t.test('reply bytes: reads through the filters so far, within its limit', async t => {
  const answer = new FilteredReply(200, {}, chunks('ab', 'cd'))
  answer.through({ write: (chunk, out) => out.write(bytes(`<${text(chunk)}>`)) })
  t.equal(text(await answer.bytes(100)), '<ab>cd')
  t.same(await collectOutput(answer), ['end <ab>cd'], 'the bytes are the new body')
  await t.rejects(new FilteredReply(200, {}, chunks('abc', 'def')).bytes(4), {
    code: 'REPLY_TOO_LARGE',
  })
})

t.test('reply body: a reader that stops midway aborts the source', async t => {
  const source = manualSource()
  const answer = new FilteredReply(200, {}, undefined, source)
  const body = answer.body as AsyncIterable<Bytes>
  const reading = (async () => {
    for await (const chunk of body) return text(chunk)
    return ''
  })()
  await new Promise(setImmediate)
  source.out?.write(bytes('one'))
  source.out?.write(bytes('two'))
  t.equal(await reading, 'one')
  t.equal(source.aborted?.code, 'READER_LEFT')
})

t.test('reply body: a reader that does not read pauses the source', async t => {
  const source = manualSource()
  const answer = new FilteredReply(200, {}, undefined, source)
  const body = (answer.body as AsyncIterable<Bytes>)[Symbol.asyncIterator]()
  const first = body.next()
  await new Promise(setImmediate)
  for (let n = 0; n < 20 && !source.paused; n++) source.out?.write(bytes(String(n)))
  t.ok(source.paused)
  t.equal(text((await first).value), '0')
  for (let n = 1; n < 9; n++) await Promise.race([body.next(), new Promise(setImmediate)])
  t.notOk(source.paused, 'reading resumes the source')
})

t.test('reply cut: before the body is started the source reports the fault', async t => {
  const source = manualSource()
  const answer = new FilteredReply(200, {}, undefined, source)
  answer.cut(cutFault)
  t.equal(source.aborted, cutFault)
  const iterable = new FilteredReply(200, {}, chunks('a'))
  iterable.cut(cutFault)
  t.same(await collectOutput(iterable), ['fail CUT'])
})

t.test('pipe: passes buffered chunks on in order, with their end', async t => {
  const pipe = new Pipe({ endFault: undefined })
  pipe.write(bytes('a'))
  pipe.end(bytes('b'))
  pipe.write(bytes('late'))
  const { log, out } = sink()
  pipe.start(out)
  t.same(log, ['a', 'end b'])
})
