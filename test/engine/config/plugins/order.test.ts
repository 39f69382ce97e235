/** Plugin order: `before` and `after`, checked against `pipeline:`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepare } from '../../../../engine/config/load.ts'
import { type Problem, ProblemsError } from '../../../../engine/config/problem.ts'
import { fileSource, type Source } from '../../../../engine/config/read.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const CONFIG = join(ROOT, 'routes.yaml')
const shippedText = readFileSync(CONFIG, 'utf8')
const cacheFolder = t.testdir()
const PIPELINE = /^pipeline: \[(.*)\]$/m
const names = PIPELINE.exec(shippedText)?.[1]?.split(', ') ?? []

/** Problems of the shipped configuration with another pipeline. */
const problemsOf = async (pipeline: readonly string[]): Promise<readonly Problem[]> => {
  const files = fileSource({})
  const source: Source = {
    ...files,
    text: path =>
      path === CONFIG
        ? shippedText.replace(PIPELINE, `pipeline: [${pipeline.join(', ')}]`)
        : files.text(path),
  }
  try {
    await prepare({ config: CONFIG, version: 1, cacheFolder, source })
    return []
  } catch (error) {
    if (error instanceof ProblemsError) return error.problems
    throw error
  }
}
/** The shipped pipeline with `name` moved to the position before or after `other`. */
const movePlugin = (name: string, where: 'before' | 'after', other: string): string[] => {
  const rest = names.filter(each => each !== name)
  rest.splice(rest.indexOf(other) + (where === 'after' ? 1 : 0), 0, name)
  return rest
}

t.test('plugin order: the shipped pipeline has no problem', async t => {
  t.ok(names.includes('meter'), 'the pipeline was found')
  t.same(await problemsOf(names), [])
})

t.test('plugin order: a misplaced plugin is one problem with line, reason and remedy', async t => {
  const pipeline = movePlugin('files', 'after', 'meter')
  const line = shippedText.split('\n').findIndex(each => PIPELINE.test(each)) + 1
  t.same(await problemsOf(pipeline), [
    {
      code: 'PLUGIN_ORDER',
      message:
        'the plugin "files" must come before "meter", as "files" declares (before: [meter]); move it in front of "meter"',
      file: 'routes.yaml',
      line,
      column: `pipeline: [${pipeline.join(', ')}]`.indexOf('files') + 1,
      length: 'files'.length,
    },
  ])
})

t.test('plugin order: every dependency of shipped plugins is declared', async t => {
  const cases: [name: string, where: 'before' | 'after', other: string][] = [
    ['model', 'before', 'auth'],
    ['idempotency', 'after', 'account'],
    ['idempotency', 'after', 'console'],
    ['validate', 'before', 'form'],
    ['limit', 'before', 'model'],
    ['idempotency', 'after', 'responses'],
    ['idempotency', 'after', 'meter'],
    ['responses', 'after', 'meter'],
    ['files', 'before', 'responses'],
    ['files', 'after', 'meter'],
    ['meter', 'before', 'model'],
    ['account', 'before', 'auth'],
    ['notify', 'before', 'auth'],
    ['sandbox', 'before', 'translate'],
    ['sandbox', 'before', 'embed'],
    ['sandbox', 'before', 'count'],
    ['realtime', 'before', 'meter'],
  ]
  for (const [name, where, other] of cases) {
    const problems = await problemsOf(movePlugin(name, where, other))
    const pairs = problems.map(({ code, message }) => `${code} ${message}`)
    const [first, second] = where === 'after' ? [name, other] : [other, name]
    const pattern = new RegExp(`^PLUGIN_ORDER the plugin "${first}" must come before "${second}"`)
    t.ok(
      pairs.some(each => pattern.test(each)),
      `${name} ${where} ${other}: ${pairs[0] ?? 'no problem'}`,
    )
  }
})

t.test('plugin order: plugins outside the pipeline are ignored', async t => {
  const some = names.filter(name => name !== 'sandbox' && name !== 'notify')
  t.notOk((await problemsOf(some)).some(({ code }) => code === 'PLUGIN_ORDER'))
})
