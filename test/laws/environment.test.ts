/** Tests are hermetic: what an operator has exported reaches none of them, however they are started. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plainly } from '../helpers/operator.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Settings by themselves, a gateway in the test's process, and the whole process tree. */
const FILES = [
  'test/engine/config/settings.test.ts',
  'test/engine/upstream/public-address.test.ts',
  'test/journeys/reload.test.ts',
]
const dataFolder = join(t.testdir(), 'operators-data')
const HOSTILE: Readonly<Record<string, string>> = {
  ...{ TOLLGATE_DATA: dataFolder, TOLLGATE_CONFIG: '/nowhere/routes.yaml' },
  ...{ HOST: '203.0.113.1', PORT: '1', ADMIN_PORT: '1', WORKERS: '7', EGRESS_ALLOW: '0.0.0.0/0' },
  ...{ ADMIN_HOSTS: 'evil.example', PUBLIC_URL: 'https://hostile.example' },
  ...{ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x', PGHOST: '203.0.113.1', PGUSER: 'nobody' },
  ...{
    FILES_URL: 's3://hostile/x',
    AWS_ACCESS_KEY_ID: 'hostile',
    AWS_SECRET_ACCESS_KEY: 'hostile',
  },
  ...{ OPENAI_BASE_URL: 'http://127.0.0.1:1', OPENAI_API_KEY: 'hostile' },
  ...{ http_proxy: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1', FORCE_COLOR: '1' },
}

const run = async (...args: readonly string[]) => {
  const [command, given] = plainly(process.execPath, ...args)
  const child = spawn(command, given, {
    ...{ cwd: ROOT, env: { ...process.env, ...HOSTILE } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const said = (await Promise.all([text(child.stdout), text(child.stderr)])).join('')
  return { code: (await exit)[0] as number | null, said }
}

t.test('tests by the runner: exported settings, stores and keys reach none of them', async t => {
  const { code, said } = await run('test/run.ts', ...FILES)
  t.equal(code, 0, code === 0 ? 'exit code' : said)
  t.match(said, /^# \{ total: \d+, pass: \d+ \}$/m)
  t.notOk(existsSync(dataFolder), 'the data folder of the operator was not made')
})

t.test('tests by themselves: exported settings, stores and keys reach none of them', async t => {
  for (const before of [[], ['--import=./test/helpers/code.ts']])
    for (const file of FILES) {
      const { code, said } = await run(...before, file)
      t.equal(code, 0, code === 0 ? 'exit code' : said)
      t.match(said, /^# \{ total: \d+, pass: \d+ \}$/m, file)
    }
  t.notOk(existsSync(dataFolder), 'the data folder of the operator was not made')
})
