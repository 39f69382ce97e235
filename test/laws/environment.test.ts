/** Tests are hermetic: exported variables of an operator reach none of them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { plainCommand } from '../helpers/operator.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Settings alone, a gateway in the process of the test, and, with the runner only, a whole process
 *  tree. */
const FILES = [
  'test/engine/config/settings.test.ts',
  'test/engine/egress/public-address.test.ts',
  'test/journeys/reload.test.ts',
]
const dataFolder = join(t.testdir(), 'operators-data')
const HOSTILE: Readonly<Record<string, string>> = {
  TOLLGATE_DATA: dataFolder,
  TOLLGATE_CONFIG: '/nowhere/routes.yaml',
  HOST: '203.0.113.1',
  PORT: '1',
  ADMIN_PORT: '1',
  WORKERS: '7',
  EGRESS_ALLOW: '0.0.0.0/0',
  ADMIN_HOSTS: 'evil.example',
  METRICS_KEY: 'a-hostile-metrics-token',
  PUBLIC_URL: 'https://hostile.example',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x',
  PGHOST: '203.0.113.1',
  PGUSER: 'nobody',
  FILES_URL: 's3://hostile/x',
  AWS_ACCESS_KEY_ID: 'hostile',
  AWS_SECRET_ACCESS_KEY: 'hostile',
  OPENAI_BASE_URL: 'http://127.0.0.1:1',
  OPENAI_API_KEY: 'hostile',
  ANTHROPIC_API_KEY: 'hostile',
  GEMINI_API_KEY: 'hostile',
  VIDU_API_KEY: 'hostile',
  RECRAFT_API_KEY: 'hostile',
  MISTRAL_API_KEY: 'hostile',
  http_proxy: 'http://127.0.0.1:1',
  HTTPS_PROXY: 'http://127.0.0.1:1',
  FORCE_COLOR: '1',
}

const run = (...args: readonly string[]) => runWith(HOSTILE, ...args)

const runWith = async (
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
) => {
  const [command, commandArgs] = plainCommand(process.execPath, ...args)
  const child = spawn(command, commandArgs, {
    cwd: ROOT,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const output = (await Promise.all([text(child.stdout), text(child.stderr)])).join('')
  return { code: (await exit)[0] as number | null, output }
}

t.test(
  'environment: every key and address of routes.yaml is among those that are deleted',
  async t => {
    const routes = readFileSync(join(ROOT, 'routes.yaml'), 'utf8')
    const names = [...routes.matchAll(/\$\{(\w+_(?:API_KEY|BASE_URL))\b/g)].map(
      ([, name = '']) => name,
    )
    t.ok(names.length > 10)
    const { output } = await runWith(
      Object.fromEntries(names.map(name => [name, 'hostile'])),
      '--import=./test/helpers/code.ts',
      '--eval',
      `console.log(${JSON.stringify(names)}.filter(name => process.env[name] !== undefined).join())`,
    )
    t.equal(output.trim(), '')
  },
)

t.test(
  'environment: exported settings, stores and keys do not reach tests of the runner',
  async t => {
    const { code, output } = await run('test/run.ts', ...FILES)
    t.equal(code, 0, code === 0 ? 'exit code' : output)
    t.match(output, /^# \{ total: \d+, pass: \d+ \}$/m)
    t.notOk(existsSync(dataFolder), 'the data folder of the operator was not made')
  },
)

t.test(
  'environment: exported settings, stores and keys do not reach tests that run alone',
  async t => {
    for (const nodeArgs of [[], ['--import=./test/helpers/code.ts']])
      for (const file of FILES.slice(0, -1)) {
        const { code, output } = await run(...nodeArgs, file)
        t.equal(code, 0, code === 0 ? 'exit code' : output)
        t.match(output, /^# \{ total: \d+, pass: \d+ \}$/m, file)
      }
    t.notOk(existsSync(dataFolder), 'the data folder of the operator was not made')
  },
)
