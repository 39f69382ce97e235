/** The factor for time limits between processes of a gateway. */
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { plainCommand } from '../../helpers/operator.ts'

const MODULE = JSON.stringify(new URL('../../../engine/store/timeouts.ts', import.meta.url).href)
const limitWith = (factor: string): string => {
  const program = `import { patient } from ${MODULE}\nprocess.stdout.write(String(patient(1_000)))`
  const [command, args] = plainCommand(process.execPath, '--input-type=module', '-e', program)
  const env = { ...process.env, TOLLGATE_PATIENCE: factor }
  return execFileSync(command, args, { env, encoding: 'utf8' })
}

t.test('patience: multiplies time limits by 1 to 60, and by 1 otherwise', async t => {
  for (const [factor, ms] of [
    ['2.5', '2500'],
    ['1000', '60000'],
    ['0.1', '1000'],
    ['', '1000'],
    ['much', '1000'],
  ] as const)
    t.equal(limitWith(factor), ms, factor)
})
