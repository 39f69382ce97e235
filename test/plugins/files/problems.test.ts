/** Problems of the configuration of files. */
import t from 'tap'
import { checkBodyLimits } from '../../../plugins/files/problems.ts'

const problemsOf = (settings: object, route: object) => {
  const problems: unknown[] = []
  const document = { settings, routes: [{ path: 'GET /x' }, { path: 'POST /v1/files', ...route }] }
  checkBodyLimits(document as Parameters<typeof checkBodyLimits>[0], (at, code) =>
    problems.push([code, ...at]),
  )
  return problems
}

t.test('files: a body limit below the largest file is a problem', t => {
  const upload = { files: 'upload' }
  t.same(problemsOf({}, upload), [['FILES_BODY', 'routes', 1, 'files']])
  t.same(problemsOf({}, { ...upload, body: { limit: '1GiB' } }), [
    ['FILES_BODY', 'routes', 1, 'body'],
  ])
  t.same(problemsOf({}, { ...upload, body: { limit: '1025MiB' } }), [])
  t.same(problemsOf({}, { files: 'list' }), [])
  t.same(problemsOf({ limits: { body: '2GiB' } }, upload), [])
  const sizes = {
    assistants: '1MiB',
    'fine-tune': '30MiB',
    vision: '1MiB',
    batch: '2MiB',
    user_data: '3MiB',
  }
  t.same(problemsOf({ files: { sizes } }, upload), [])
  t.end()
})
