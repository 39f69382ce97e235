/** Peeking at a body waits for the requested bytes, in pieces of any size, and consumes none. */
import t from 'tap'
import type { Out } from '../../../engine/plugin.ts'
import { FilteredReply } from '../../../engine/response/filters.ts'
import type { Source } from '../../../engine/response/source.ts'

/** Pushes within `resume`, as a parser does with buffered bytes, and stops at once when paused. */
const eager = (pieces: readonly string[]): Source => {
  const remaining = [...pieces]
  let out: Out | undefined
  let paused = false
  const push = (): void => {
    while (!paused && remaining.length > 0) out?.write(Buffer.from(remaining.shift() ?? ''))
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
const hasEvent = (bytes: Uint8Array): boolean => Buffer.from(bytes).includes('\n\n')

t.test('peek: waits for a whole event in single bytes', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...TEXT]))
  const bytes = await answer.peek(hasEvent)
  t.ok(TEXT.startsWith(Buffer.from(bytes ?? []).toString()))
  t.ok(hasEvent(bytes ?? Buffer.alloc(0)), 'all of the first event')
  t.equal(Buffer.from(await answer.bytes(1_000)).toString(), TEXT, 'no byte was consumed')
})

t.test('peek: returns what there is when the body ends early', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...'half an event']))
  t.equal(Buffer.from((await answer.peek(hasEvent)) ?? []).toString(), 'half an event')
})

t.test('peek: works on an iterable in single bytes', async t => {
  const answer = new FilteredReply(200, {}, undefined, eager([...TEXT]))
  let text = ''
  for await (const chunk of answer.body as AsyncIterable<Uint8Array>) text += Buffer.from(chunk)
  t.equal(text, TEXT)
})
