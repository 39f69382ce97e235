/** Frames survive any chunk border; and a process that serves never loads SQLite itself. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { createFrames, frame, type Said } from '../../engine/database/frames.ts'

const messages: Said[] = [
  { hello: 'é漢🎈' },
  {},
  { texts: [[0, 'SELECT ?']], lists: [[1, 0, [0, -1, 'x'.repeat(300)]]] },
  { bye: true },
]
const bytes = Buffer.concat(messages.map(frame))

t.test('cut at every offset, and into single bytes', async t => {
  for (let at = 0; at <= bytes.length; at++) {
    const seen: Said[] = []
    const take = createFrames<Said>(message => seen.push(message))
    take(bytes.subarray(0, at))
    take(bytes.subarray(at))
    if (JSON.stringify(seen) !== JSON.stringify(messages)) t.fail(`cut at ${at}`)
  }
  const seen: Said[] = []
  const take = createFrames<Said>(message => seen.push(message))
  for (const byte of bytes) take(Buffer.from([byte]))
  t.same(seen, messages)
})

t.test('nothing that a serving process loads reaches node:sqlite', async t => {
  const seen = new Set<string>()
  const follow = (file: URL): void => {
    if (seen.has(file.href)) return
    seen.add(file.href)
    const text = readFileSync(file, 'utf8')
    t.notMatch(text, /from 'node:sqlite'/, file.pathname)
    for (const [, path] of text.matchAll(/^(?:import|export) (?!type).*from '(\..*)'/gm)) {
      follow(new URL(String(path), file))
    }
  }
  follow(new URL('../../engine/database/database.ts', import.meta.url))
  t.ok(seen.size > 5)
})
