/** The section `tags:` that no stage reads. */
import t from 'tap'
import type { Document, Report } from '../../engine/plugin.ts'
import tags from '../../plugins/tags.ts'

const problemsOf = (document: unknown) => {
  const problems: unknown[] = []
  const report: Report = (path, code) => void problems.push([...path, code].join(' '))
  tags.check(document as Document, report)
  return problems
}
const known = { project: 'any' }

t.test('tags: a section without its stage is a problem', async t => {
  t.same(problemsOf({ tags: { known }, pipeline: ['auth', 'meter'] }), ['tags TAGS_OPTION'])
  t.same(problemsOf({ tags: { known }, pipeline: ['auth', 'tags', 'meter'] }), [])
  t.same(problemsOf({ pipeline: ['auth'] }), [])
  t.same(problemsOf({ tags: 1, pipeline: 'auth' }), [], 'the schema names these')
})

t.test('tags: a value that is listed twice is a problem', async t => {
  const pipeline = ['tags', 'meter']
  const twice = (...project: unknown[]) =>
    problemsOf({ tags: { known: { project } }, pipeline }).filter(each =>
      String(each).endsWith(' TAGS_OPTION'),
    )
  const place = { value: 'beta', retention: 'none' }
  t.same(twice('alpha', 'beta', place), ['tags known project 2 TAGS_OPTION'])
  t.same(twice(place, { value: 'beta', zone: 'eu' }), ['tags known project 1 TAGS_OPTION'])
  t.same(twice('alpha', place), [])
})
