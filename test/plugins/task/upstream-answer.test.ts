/** Results in the answer about a finished task: empty ones, and those that hold a file. */
import t from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { hasResult } from '../../../plugins/task/results/has-result.ts'
import { holdsResult, reportedUsage, submitOutcome } from '../../../plugins/task/upstream-answer.ts'

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
  { id: 'x', gcsUri: '' },
  { id: 'x', audio_urls: [] },
  { id: 'x', audioURL: '' },
  { id: 'x', urls: { raw: '' } },
  { id: 'x', audio_url: '', callback_url: URL },
  { id: 'x', title: 'Song', model_name: 'm', created_at: 1, audio_url: null },
  { images: [{ url: '' }], seed: 1, prompt: 'a cat', timings: { inference: 1 } },
  { url: '', error: { code: 'moderated', message: 'no people' } },
  { url: '', nsfw: false },
  { audio_url: '', play_count: 0, is_liked: false },
  { images: [{ url: '' }], has_nsfw_concepts: [true], seed: 3 },
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
  { video: { url: URL }, thumbnail_url: '' },
  { images: [{ url: URL }], cover_url: '' },
  { text: 'hello', source_url: null },
  { file_id: '123', download_url: '' },
  { b64: 'AAAA', image_url: null },
  { url: '', cover_url: URL },
  { urls: { raw: URL }, url: '' },
  { id: 'file-1' },
]
t.test('task results: members that hold nothing are not a result', async t => {
  t.notOk(hasResult([]))
  t.notOk(hasResult(EMPTY))
  for (const each of EMPTY) t.notOk(hasResult([each]), JSON.stringify(each))
  for (const each of FILLED) t.ok(hasResult([{}, each]), JSON.stringify(each))
})

t.test('task results: details of the route are not a result', async t => {
  const poll = { details: [['buttons', '/buttons']] }
  const read = (result: Json) => holdsResult([result], { poll } as never)
  t.notOk(read({ url: '', buttons: [{ label: 'U1' }] }))
  t.ok(read({ url: URL, buttons: [] }))
  t.ok(read({ url: '', texts: ['hello'] }))
})

t.test('submit: from 500 on the default of codes does not decide', async t => {
  const codes = new Map([
    ['1', 'submitted'],
    ['23', 'again'],
    ['24', 'failed'],
    ['default', 'failed'],
  ])
  const read = (json: Json, submit: object = { refused: [], refusesByCode: true }, status = 504) =>
    submitOutcome(
      { status, json, headers: {} } as never,
      {
        submit: { code: '/code', codes, ...submit },
      } as never,
    )
  t.equal(read({ code: 504, msg: 'gateway timeout' }), 'unknown')
  t.equal(read({ code: 504 }, {}, 200), 'failed')
  t.equal(read({ code: 1 }), 'unknown')
  t.equal(read({ code: 23 }), 'again')
  t.equal(read({ code: 24 }), 'failed')
  t.equal(read({}), 'unknown')
  t.equal(read({ code: 24 }, { refused: [] }), 'unknown', 'nothing refuses')
  t.equal(read({ code: 504 }, { refused: ['/code'] }), 'failed', 'the route says so')
})

t.test('task usage: a list counts pieces that hold something', async t => {
  const read = (name: string, list: Json) => {
    const json = { list }
    return reportedUsage({ json, results: json }, { poll: { usage: [[name, '/list']] } } as never)
  }
  t.same(read('images', [{ url: URL }, { url: URL }])?.meters, { images: 2 })
  t.same(read('images', [URL, '', { id: 'x', url: null }, {}, null])?.meters, { images: 1 })
  t.same(read('calls', ['a', 'b'])?.meters, { calls: 2 })
  for (const name of ['seconds', 'output', 'characters']) t.equal(read(name, [4]), undefined, name)
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
