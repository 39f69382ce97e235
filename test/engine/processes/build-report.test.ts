/** The builder's report of a build that failed: problems with their places, faults of the data
 *  folder, and any other error at the configuration file. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ProblemsError } from '../../../engine/config/problem.ts'
import { checkDataFolder, reportProblems } from '../../../engine/processes/builder/build-report.ts'

t.test('build report: problems keep their places, other errors are at the file', async t => {
  const folder = t.testdir({ 'routes.yaml': 'settings: { data: ./here }\nroutes: []\n' })
  const config = join(folder, 'routes.yaml')
  const problem = { code: 'X', message: 'why', file: config, line: 3, column: 2 }
  const known = reportProblems(new ProblemsError([problem], new Map(), folder, ['a']), config)
  t.match(known, { type: 'problems', problems: [problem], watchedPaths: ['a'] })
  t.match(reportProblems(new Error('odd'), config), {
    problems: [{ code: 'LOAD_FAILED', message: 'odd', file: config, line: 1, column: 1 }],
    text: 'LOAD_FAILED  odd',
  })
  const codeAt = (code: string, path?: string) =>
    reportProblems(Object.assign(new Error('denied'), { code, path }), config).problems[0]?.code
  t.equal(codeAt('EACCES', join(process.cwd(), 'here', 'tollgate.db')), 'DATA_FOLDER')
  t.equal(codeAt('EACCES', '/elsewhere'), 'EACCES')
  t.equal(codeAt('SOME_FAULT', join(process.cwd(), 'here')), 'SOME_FAULT')
  t.equal(codeAt('EACCES'), 'EACCES')
})

t.test('build report: a data folder that is a file is found before the build', async t => {
  const folder = t.testdir({ file: '', broken: 'settings: [', open: {} })
  const configOf = (name: string, text: string) =>
    join(t.testdir({ [name]: text, file: '', open: {} }), name)
  const bad = configOf('bad.yaml', `settings: { data: '${folder}/file' }\nroutes: []\n`)
  t.throws(() => checkDataFolder(bad), { code: 'ENOTDIR' })
  chmodSync(folder, 0o700)
  const good = configOf('good.yaml', `settings: { data: '${folder}/open' }\nroutes: []\n`)
  t.doesNotThrow(() => checkDataFolder(good))
  const broken = configOf('broken.yaml', 'settings: [')
  t.doesNotThrow(() => checkDataFolder(broken), 'the problems of the configuration come first')
})
