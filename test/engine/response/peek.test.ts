/** Peeking at a body waits for as much as was asked for, however small the pieces, and consumes
 *  nothing. */
import t from 'tap'
import type { Out } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import type { Source } from '../../../engine/response/source.ts'

/** Pushes while it is being resumed, as a parser does with what it had buffered, and stops at once when paused. */
const eager = (pieces: readonly string[]): Source => {
  const left = [...pieces]
  let out: Out | undefined
  let paused = false
  const push = (): void => {
    while (!paused && left.length > 0) out?.write(Buffer.from(left.shift() ?? ''))
    if (!paused) out?.end()
  }
  return {
    start(to) {
      out = to
      push()
    },
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
      push()
    },
    abort: reason => out?.fail(reason),
  }
}
const TEXT = 'data: a first event\n\ndata: and another one\n\n'
const whole = (seen: Uint8Array): boolean => Buffer.from(seen).includes('\n\n')

t.test('peek: waits for a whole event in single bytes', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...TEXT]))
  const seen = await answer.peek(whole)
  t.ok(TEXT.startsWith(Buffer.from(seen ?? []).toString()))
  t.ok(whole(seen ?? Buffer.alloc(0)), 'all of the first event')
  t.equal(Buffer.from(await answer.bytes(1_000)).toString(), TEXT, 'and nothing is gone')
})

t.test('peek: returns what there is when the body ends early', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...'half an event']))
  t.equal(Buffer.from((await answer.peek(whole)) ?? []).toString(), 'half an event')
})

t.test('peek: works on an iterable in single bytes', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...TEXT]))
  let text = ''
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) text += Buffer.from(chunk)
  t.equal(text, TEXT)
})
