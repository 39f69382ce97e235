/** An install without development packages (`npm ci --omit=dev`): the program starts, and `npx
 *  tollgate` and the commands that the banner prints work in its folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { usedFolder } from '../../helpers/cache.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { operatorEnv, plainCommand } from '../../helpers/operator.ts'
import { LONG } from '../../helpers/run-settings.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PROGRAM = ['engine', 'plugins', 'program', 'models', 'schemas', 'routes.yaml', 'package.json']
interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean; readonly link?: boolean }>>
}
const skip = !LONG && 'the long form copies and compiles the whole program'
const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
t.teardown(() => rmSync(folder, { recursive: true, maxRetries: 5 }))
for (const name of LONG ? PROGRAM : [])
  cpSync(join(ROOT, name), join(folder, name), { recursive: true })
// The packages that the lock file marks as needed at run time, at their place.
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
const PLACE = /^node_modules\/(?:@[^/]+\/)?[^/]+$/
for (const [place, { dev }] of Object.entries(lock.packages)) {
  if (!LONG || dev || !PLACE.test(place) || !existsSync(join(ROOT, place))) continue
  mkdirSync(dirname(join(folder, place)), { recursive: true })
  symlinkSync(join(ROOT, place), join(folder, place))
}
const env = operatorEnv({
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter(each => !each.includes('node_modules'))
    .join(delimiter),
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_PORT: '0',
  WORKERS: '1',
  TOLLGATE_DATA: usedFolder(join(folder, 'data')),
  // An upstream that is not the sandbox: the account gets no demo money, and a hint instead.
  OPENAI_BASE_URL: 'http://127.0.0.1:1',
  OPENAI_API_KEY: 'sk-of-the-gateway',
  NODE_COMPILE_CACHE_PORTABLE: '1',
})
const start = (...command: readonly [string, ...string[]]) => {
  const [name, ...args] = command
  const child: ChildProcess = spawn(...plainCommand(name, ...args), { cwd: folder, env })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', text => {
      output.text += text
    })
  return { child, output, end: once(child, 'close') }
}
const run = async (...command: readonly [string, ...string[]]): Promise<string> => {
  const { output, end } = start(...command)
  const [code] = await end
  t.equal(code, 0, `${command.join(' ')}\n${output.text}`)
  return output.text
}

t.test('production install: has no development package', { skip }, async t => {
  t.notOk(existsSync(join(folder, 'node_modules/typescript')))
  t.notOk(existsSync(join(folder, 'node_modules/tap')))
  t.ok(existsSync(join(folder, 'node_modules/node/package.json')), 'the runtime is there')
})

t.test('production install: serves; what the banner prints can be pasted', { skip }, async t => {
  const { child, output, end } = start('node', 'engine/bin.cjs', 'start')
  t.teardown(() => child.kill('SIGKILL'))
  await eventually(() => /Add credit/.test(output.text) && / url +http/.test(output.text))
  const hint = /Add credit: ([^\n]+)/.exec(output.text)?.[1] ?? ''
  t.match(hint, /^node engine\/bin\.cjs accounts credit admin 100$/)
  const url = / url +(http\S+)/.exec(output.text)?.[1] ?? ''
  t.equal((await fetch(`${url}/api/models`)).status, 200)
  await run('sh', '-c', hint)
  t.match(await run('npx', '--no-install', 'tollgate', 'accounts', 'list'), /admin +.*100/)
  t.match(await run('npx', '--no-install', 'tollgate', 'status'), /#1/)
  child.kill('SIGTERM')
  t.equal((await end)[0], 0)
})
