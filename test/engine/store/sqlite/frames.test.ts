/** Frames are parsed for any chunk boundary; serving processes never load node:sqlite. */
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import {
  type ClientMessage,
  createFrameParser,
  encodeMessage,
} from '../../../../engine/store/sqlite/frames.ts'

const messages: ClientMessage[] = [
  { hello: 'é漢🎈' },
  {},
  { texts: [[0, 'SELECT ?']], lists: [[1, 0, [0, -1, 'x'.repeat(300)]]] },
  { bye: true },
]
const bytes = Buffer.concat(messages.map(encodeMessage))

t.test('frame parser: parses frames that are split at any offset', async t => {
  for (let at = 0; at <= bytes.length; at++) {
    const received: ClientMessage[] = []
    const take = createFrameParser<ClientMessage>(message => received.push(message))
    take(bytes.subarray(0, at))
    take(bytes.subarray(at))
    if (JSON.stringify(received) !== JSON.stringify(messages)) t.fail(`cut at ${at}`)
  }
  const received: ClientMessage[] = []
  const take = createFrameParser<ClientMessage>(message => received.push(message))
  for (const byte of bytes) take(Buffer.from([byte]))
  t.same(received, messages)
})

/** Store files that may use synchronous system calls: at open, at registration, when a peer is
 *  reaped, for a progress count's few bytes in the kernel's memory, and for what is owed to a store
 *  that does not answer. */
const MAY_BLOCK = [
  'address.ts',
  'database.ts',
  'make-folder.ts',
  'owed-files.ts',
  'owed-lists.ts',
  'process-folder.ts',
  'progress.ts',
]

/** Takes the lock of the data folder before the gateway serves, without waiting for it. */
const LOCKS_AT_START = '/engine/processes/primary/instance-lock.ts'

t.test('serving processes: load neither node:sqlite nor code that blocks on the store', async t => {
  const files = new Set<string>()
  const follow = (file: URL): void => {
    if (files.has(file.href)) return
    files.add(file.href)
    const text = readFileSync(file, 'utf8')
    t.notMatch(text, /'node:sqlite'|\b(?:exec|spawn|execFile)Sync\b/, file.pathname)
    if (file.pathname.includes('/engine/store/') && !MAY_BLOCK.includes(basename(file.pathname)))
      t.notMatch(text, /\b[a-z]\w*Sync\b|\bAtomics\.wait\b/, file.pathname)
    if (file.pathname.endsWith(LOCKS_AT_START)) return
    for (const [, path] of text.matchAll(
      /(?:^(?:import|export) (?!type)[^']*? from |\bimport\()'(\.[^']*\.ts)'/gm,
    )) {
      follow(new URL(String(path), file))
    }
  }
  const root = join(import.meta.dirname, '../../../..')
  // A worker with all plugins, and the primary, which accepts connections.
  for (const file of [
    'engine/processes/worker.ts',
    'engine/processes/primary.ts',
    ...globSync('plugins/*.ts', { cwd: root }),
  ])
    follow(pathToFileURL(join(root, file)))
  t.ok(files.has(new URL('../../../../engine/store/sqlite/store-client.ts', import.meta.url).href))
  t.ok(files.size > 100, `${files.size} files`)
})
