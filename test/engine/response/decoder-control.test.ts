/** A decoded body under control of its reader: pauses, ends and failures reach its source. */
import zlib from 'node:zlib'
import t from 'tap'
import type { Bytes, Fault, Out } from '../../../engine/plugin.ts'
import { decodeReply } from '../../../engine/response/decoded-source.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import type { Source } from '../../../engine/response/source.ts'

const CUT: Fault = { code: 'CUT', message: 'cut', status: 502, expose: true }
/** A reply of this coding whose source the test drives, with what came out and the calls it got. */
const start = (coding: string) => {
  let out: Out | undefined
  const calls: string[] = []
  const source: Source = {
    start: each => {
      out = each
    },
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    abort: ({ code }) => void calls.push(`abort ${code}`),
  }
  const reply = new FilteredReply(200, { 'content-encoding': coding }, undefined, source)
  const decoded = decodeReply(reply, 'up').source as Source
  const parts: string[] = []
  let onChange = (): void => {}
  const note = (text: string): void => {
    parts.push(text)
    onChange()
  }
  const read = (): void =>
    decoded.start({
      write: (chunk: Bytes) => note(String(Buffer.from(chunk))),
      end: tail => note(`${tail ? Buffer.from(tail) : ''} end`),
      fail: ({ code }) => note(` fail ${code}`),
    })
  const until = (text: string): Promise<void> =>
    new Promise(resolve => {
      onChange = () => parts.join('').includes(text) && resolve()
      onChange()
    })
  return { decoded, read, until, calls, text: () => parts.join(''), out: () => out as Out }
}
const bytes = zlib.gzipSync('all of it')

t.test('decoded source: its end has the last bytes as the tail', async t => {
  const { read, out, until, text } = start('gzip')
  read()
  out().write(new Uint8Array())
  out().write(bytes.subarray(0, 5))
  out().end(bytes.subarray(5))
  await until('end')
  t.equal(text(), 'all of it end')
})

t.test('decoded source: a failure follows what was decoded', async t => {
  for (const size of [5, bytes.length - 4]) {
    const { read, out, until, decoded, calls } = start('gzip')
    read()
    out().write(bytes.subarray(0, size))
    out().fail(CUT)
    await until('fail CUT')
    decoded.abort(CUT)
    t.same(calls, [], 'its source has ended')
  }
  const early = start('gzip')
  early.read()
  early.out().fail(CUT)
  t.equal(early.text(), ' fail CUT', 'before the first byte')
  early.out().write(bytes)
  early.out().end()
  t.equal(early.text(), ' fail CUT', 'nothing follows')
})

t.test('decoded source: pauses reach the source before and behind the decoder', async t => {
  const { read, out, decoded, calls, until } = start('gzip')
  read()
  decoded.pause()
  decoded.resume()
  t.same(calls, ['pause', 'resume'])
  out().write(bytes.subarray(0, 5))
  decoded.pause()
  t.same(calls, ['pause', 'resume'], 'the decoder pauses')
  // More than the decoder buffers: the source waits until it has drained.
  for (let count = 0; count < 4; count++) out().write(zlib.gzipSync(Buffer.alloc(1 << 16, count)))
  t.ok(calls.includes('pause'))
  decoded.resume()
  out().end()
  await until('fail')
})

t.test('decoded source: an abort reaches the source once', async t => {
  const idle = start('br')
  idle.decoded.abort(CUT)
  t.same(idle.calls, ['abort CUT'], 'before it is read')
  t.equal(idle.text(), '')
  const { read, out, decoded, calls, text } = start('gzip')
  read()
  out().write(bytes.subarray(0, 5))
  decoded.abort(CUT)
  decoded.abort(CUT)
  t.same(calls, ['abort CUT'])
  t.equal(text(), ' fail CUT')
})

t.test('decoded source: codings that are unknown, or too many, are refused', async t => {
  for (const coding of ['rot13', 'toString', 'gzip, gzip, gzip, gzip, gzip']) {
    const { read, out, calls, text } = start(coding)
    read()
    out().write(bytes)
    t.equal(text(), ' fail CODING_UNKNOWN', coding)
    t.same(calls, ['abort CODING_UNKNOWN'])
  }
  const plain = new FilteredReply(200, { 'content-encoding': 'gzip' }, undefined)
  t.equal(decodeReply(plain, 'up'), plain, 'without a body')
  const part = new FilteredReply(206, { 'content-encoding': 'gzip' }, bytes)
  t.equal(decodeReply(part, 'up'), part, 'a part of a body')
})
