/** Results in the answer about a finished task: empty ones, and those that hold a file. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { hasResult, reportedUsage } from '../../../plugins/task/upstream-answer.ts'

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
  { id: 'x', status: 'SUCCESS', audio_url: '', image_url: null },
  { id: 'x', imageUrl: '' },
]
const FILLED: readonly Json[] = [
  { url: URL },
  { url: [URL] },
  { b64_json: 'AA' },
  { image: { url: URL } },
  { images: [{}, { url: URL }] },
  { cover_url: URL },
  { text: 'hello' },
  { id: 'x', audio_url: URL, image_url: '' },
]
t.test('task results: members that hold nothing are not a result', async t => {
  t.notOk(hasResult([]))
  t.notOk(hasResult(EMPTY))
  for (const each of EMPTY) t.notOk(hasResult([each]), JSON.stringify(each))
  for (const each of FILLED) t.ok(hasResult([{}, each]), JSON.stringify(each))
})

t.test('task usage: texts that PostgreSQL refuses are left out', async t => {
  const poll = {
    usage: [
      ['resolution', '/resolution'],
      ['seconds', '/seconds'],
    ],
  }
  const read = (text: string) => {
    const json = { model: text, resolution: text, seconds: 5 }
    return reportedUsage({ json, results: json }, { poll } as never)
  }
  t.same(read('720p'), {
    meters: { seconds: 5 },
    attributes: { resolution: '720p' },
    model: '720p',
  })
  for (const text of ['a\0b', '\ud800', 'b\udc00'])
    t.same(read(text), { meters: { seconds: 5 }, attributes: {} }, JSON.stringify(text))
})
