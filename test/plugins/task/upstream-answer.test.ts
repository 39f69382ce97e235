/** Results in the answer about a finished task: empty ones, and those that hold a file. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { hasResult } from '../../../plugins/task/upstream-answer.ts'

const URL = 'https://files.example/1'
const EMPTY: readonly Json[] = [
  {},
  { url: '' },
  { url: ' ' },
  { url: [] },
  { url: [null, ''] },
  { id: 'x', url: '' },
  { id: 'x', url: null, cover_url: null },
  { image: { url: '' } },
  { image: { id: 'x', url: null } },
  { images: [{ url: '' }, {}] },
  { video: {} },
]
const FILLED: readonly Json[] = [
  { url: URL },
  { url: [URL] },
  { b64_json: 'AA' },
  { image: { url: URL } },
  { images: [{}, { url: URL }] },
  { cover_url: URL },
  { text: 'hello' },
]
t.test('task results: members that hold nothing are not a result', async t => {
  t.notOk(hasResult([]))
  t.notOk(hasResult(EMPTY))
  for (const each of EMPTY) t.notOk(hasResult([each]), JSON.stringify(each))
  for (const each of FILLED) t.ok(hasResult([{}, each]), JSON.stringify(each))
})
