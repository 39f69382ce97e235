/** Frames survive any chunk border; and a process that serves never loads SQLite itself. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { createFrames, frame, type Said } from '../../../../engine/store/sqlite/frames.ts'

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

/** Files of the store that wait for a system call: as it is opened, as its process registers or a peer is reaped, and for a count's
 *  few bytes in the kernel's memory. */
const WAITS = ['address.ts', 'database.ts', 'process-folder.ts', 'progress.ts']

t.test(
  'nothing that a serving process loads reaches node:sqlite or waits for the store',
  async t => {
    const seen = new Set<string>()
    const follow = (file: URL): void => {
      if (seen.has(file.href)) return
      seen.add(file.href)
      const text = readFileSync(file, 'utf8')
      t.notMatch(text, /'node:sqlite'|\b(?:exec|spawn|execFile)Sync\b/, file.pathname)
      if (file.pathname.includes('/engine/store/') && !WAITS.includes(basename(file.pathname)))
        t.notMatch(text, /\b[a-z]\w*Sync\b|\bAtomics\.wait\b/, file.pathname)
      for (const [, path] of text.matchAll(
        /(?:^(?:import|export) (?!type)[^']*? from |\bimport\()'(\.[^']*\.ts)'/gm,
      )) {
        follow(new URL(String(path), file))
      }
    }
    const root = join(import.meta.dirname, '../../../..')
    // A worker, whatever plugins it may load, and the primary, which stands on the accept path.
    for (const file of [
      'engine/processes/worker.ts',
      'engine/processes/primary.ts',
      ...globSync('plugins/*.ts', { cwd: root }),
    ])
      follow(pathToFileURL(join(root, file)))
    t.ok(seen.has(new URL('../../../../engine/store/sqlite/store-client.ts', import.meta.url).href))
    t.ok(seen.size > 100, `${seen.size} files`)
  },
)
