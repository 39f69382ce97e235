/** A reload of edited files gives the same version, or the same problems, as a first start with
 *  them, although it parses and checks only what has changed. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { decodeBlueprint, encodeBlueprint } from '../../../../engine/config/compile/blueprint.ts'
import { type LoadOptions, prepare } from '../../../../engine/config/load.ts'
import { ProblemsError } from '../../../../engine/config/problem.ts'
import { fileSource } from '../../../../engine/config/read.ts'
import { createParser } from '../../../../engine/config/yaml/parsed-text.ts'
import { useShippedPlugins } from '../../../helpers/environment.ts'
import { createChance, shortOrLong } from '../../../helpers/run-settings.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const EDITS: readonly ((line: string) => string)[] = [
  () => '',
  line => `${line}\n${line}`,
  line => line.replace(/\d+/, digits => `${Number(digits) + 1}`),
  line => line.replace(/[a-z]{3,}/, '$&x'),
  line => line.replace(/: (\w+)/, ': $1y'),
  line => line.replace('USD', 'EUR'),
  line => line.replace(/\bgp\//, 'gq/'),
  line => `${line} # edited`,
]

t.test('edited files: a reload and a first start find the same', async t => {
  useShippedPlugins(t)
  const folder = t.testdir()
  for (const name of ['routes.yaml', 'models', 'schemas'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  cpSync(join(ROOT, 'program/config/console.yaml'), join(folder, 'console.yaml'))
  const [config, cacheFolder] = [join(folder, 'routes.yaml'), join(folder, 'cache')]
  writeFileSync(config, readFileSync(config, 'utf8').replace('tollgate:console', 'console'))
  const resultOf = (options: Partial<LoadOptions>) =>
    prepare({ config, version: 1, cacheFolder, ...options }).catch((error: unknown) => {
      if (error instanceof ProblemsError) return error
      throw error
    })
  const findings = (result: Awaited<ReturnType<typeof resultOf>>) =>
    result instanceof ProblemsError ? result.problems : [result.blueprint.hash, result.secrets]

  const files = ['routes.yaml', 'console.yaml', ...globSync('models/*.yaml', { cwd: folder })]
  const chance = createChance()
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
  const source = fileSource({})
  let last = await resultOf({ source })
  const counts = { valid: 0, broken: 0 }
  for (let edit = 0; edit < shortOrLong(60, 1_000); edit++) {
    const file = pick(files.sort())
    const path = join(folder, file)
    const text = readFileSync(path, 'utf8')
    const lines = text.split('\n')
    const index = Math.floor(chance() * lines.length)
    writeFileSync(path, lines.with(index, pick(EDITS)(lines[index] ?? '')).join('\n'))
    const before = last instanceof ProblemsError ? undefined : last.blueprint
    const reloaded = await resultOf({ source, before })
    const started = await resultOf({ source: { ...source, parse: createParser() } })
    t.same(findings(reloaded), findings(started), `${file}:${index + 1}`)
    const isBroken = reloaded instanceof ProblemsError
    if (!isBroken) {
      const encoded = encodeBlueprint(reloaded.blueprint, reloaded.parts)
      t.same(decodeBlueprint(encoded).blueprint, reloaded.blueprint)
    }
    counts[isBroken ? 'broken' : 'valid']++
    if (isBroken) writeFileSync(path, text)
    else last = reloaded
  }
  t.ok(counts.valid > 10 && counts.broken > 5, JSON.stringify(counts))
})
