/** Corpus of broken configurations: each has exactly the expected problems (file, line, column,
 *  code, suggestion). */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../../engine/config/load.ts'
import { type Problem, ProblemsError } from '../../../engine/config/problem.ts'
import { fileSource } from '../../../engine/config/read.ts'
import { fakeResources } from '../../helpers/gateway/test-server.ts'

const CORPUS = join(import.meta.dirname, '../../fixtures/config')
const SHARED = ['plugins', 'schemas', 'expected.json']
/** Expected problems by case. A problem in the main file has no file name. */
const expected: Record<string, readonly string[]> = JSON.parse(
  readFileSync(join(CORPUS, 'expected.json'), 'utf8'),
)
const source = fileSource({ HOME: '/home/gate', PORT: '8080', WORD: 'many' })
const cacheFolder = t.testdir()

const problemsOf = async (config: string): Promise<ProblemsError> => {
  const resources = fakeResources({ lines: [], refuse: () => undefined, delay: 0 })
  try {
    await load({ config, version: 1, cacheFolder, resources, source })
  } catch (error) {
    if (error instanceof ProblemsError) return error
    throw error
  }
  throw new Error(`${config} was accepted`)
}
const summaryOf = (main: string) => (problem: Problem) => {
  const { file, line, column, code, suggestion } = problem
  const place = `${file === main ? '' : `${file}:`}${line}:${column}`
  return `${place} ${code}${suggestion === undefined ? '' : ` did you mean ${suggestion}`}`
}

const names = readdirSync(CORPUS).filter(name => !SHARED.includes(name))
t.same(names.sort(), Object.keys(expected).sort(), 'every case has an expectation')
t.ok(names.length >= 60, `${names.length} broken configurations`)

for (const name of names)
  t.test(`broken configuration ${name}: has exactly the expected problems`, async t => {
    const main = name.endsWith('.yaml') ? name : 'routes.yaml'
    const config = join(CORPUS, name.endsWith('.yaml') ? name : `${name}/routes.yaml`)
    const error = await problemsOf(config)
    t.same(error.problems.map(summaryOf(main)), expected[name])
    const blocks = error.message.split('\n\n')
    t.equal(blocks.length, error.problems.length)
    for (const block of blocks)
      t.match(block, /\| *\^+(?:\n {2}Allowed keys: \w.*)?$/, 'a code frame with a caret')
    t.ok(error.watchedPaths.length > 0, 'the paths to watch for a fix')
  })

t.test('broken configuration: an include that is a link to nothing', async t => {
  const folder = t.testdir({
    'routes.yaml': 'include: [more/*.yaml]\nroutes:\n  - { path: GET /a, upstream: main }\n',
    more: { 'up.yaml': t.fixture('symlink', 'nowhere') },
  })
  const { problems } = await problemsOf(join(folder, 'routes.yaml'))
  t.same(problems.map(summaryOf('routes.yaml')), ['1:11 FILE_MISSING'])
})
