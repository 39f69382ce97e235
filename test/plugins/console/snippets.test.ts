/** The code that the console offers to paste: each curl call and each TypeScript program runs
 *  unchanged and gets an answer; the Python programs compile. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import {
  FORMAT_NAMES,
  LANGUAGE_NAMES,
  snippetOf,
  videoCurlOf,
} from '../../../plugins/console/client/formats.ts'
import { CODE_ENV } from '../../helpers/cache.ts'
import { gateway } from './shipped-console.ts'

const call = { base: gateway.url, model: 'gp-4.1' }
const hasPython = spawnSync('python3', ['--version']).status === 0

const run = async (command: string, ...args: string[]) => {
  const child = spawn(command, args, {
    env: { ...process.env, ...CODE_ENV, KEY: gateway.apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [out, errors] = ['', '']
  child.stdout.on('data', chunk => {
    out += chunk
  })
  child.stderr.on('data', chunk => {
    errors += chunk
  })
  const [code] = await once(child, 'close')
  return { code, out, errors }
}

t.test('curl: every call answers with a model and its usage', async t => {
  for (const name of FORMAT_NAMES) {
    const { code, out } = await run('sh', '-c', snippetOf('curl', call, name))
    t.equal(code, 0, name)
    const usage = /"(?:usage|usageMetadata)":/
    t.match(out, usage, name)
    t.notMatch(out, /"error":\s*\{/, name)
  }
  const { out } = await run('sh', '-c', videoCurlOf({ ...call, model: 'vdq3' }))
  t.match(JSON.parse(out), { task_id: String, state: 'created' })
})

t.test('TypeScript: every program prints the text of an answer', async t => {
  const programs = FORMAT_NAMES.map(async name => {
    const code = snippetOf('typescript', call, name)
    return { name, ...(await run('node', '--input-type=module-typescript', '-e', code)) }
  })
  for (const { name, code, out, errors } of await Promise.all(programs)) {
    t.equal(code, 0, `${name} ${errors}`)
    t.match(out, /\w{2}/, name)
    t.notMatch(out, /^undefined/, name)
  }
})

t.test('Python: every program compiles', { skip: !hasPython }, async t => {
  const check = 'import sys; [compile(each, "snippet", "exec") for each in sys.argv[1:]]'
  const programs = FORMAT_NAMES.map(name => snippetOf('python', call, name))
  t.match(await run('python3', '-c', check, ...programs), { code: 0 })
  t.equal(LANGUAGE_NAMES.length, 3)
})
