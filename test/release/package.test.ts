/** The package of `npm pack`: in an empty folder it starts, answers, and takes plugins. */
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { blockOf } from '../docs/blocks.ts'
import { freePort } from '../helpers/free-port.ts'
import { type InstalledPackage, installPackage, manifest, ROOT } from './installed-package.ts'

t.test('package: serves in an empty folder and takes own plugins beside its own', async t => {
  const [port, admin] = [await freePort(), await freePort()]
  const package_ = installPackage(t, { PORT: `${port}`, ADMIN_PORT: `${admin}`, WORKERS: '1' })
  const { folder, run, start } = package_
  checkFiles(t, package_)
  const [install, init = '', begin = ''] = blockOf('docs/deployment.md', 'sh').split('\n')
  t.equal(install, `npm install ./tollgate-${manifest.version}.tgz`)
  t.match(run(init), { status: 0, text: /routes\.yaml/ })
  mkdirSync(join(folder, 'plugins'))
  writeFileSync(join(folder, 'plugins/form.ts'), OWN_FORM)
  const gateway = await start(begin, /System token/)
  t.match(gateway.text(), /plugins +replaced by your own: plugins\/form\.ts\n/)
  const key = /API key +(\S+)/.exec(gateway.text())?.[1] ?? ''
  const call = () =>
    fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] }),
    })
  const reply = await call()
  t.match(await reply.json(), { object: 'chat.completion' })
  t.equal(reply.headers.get('x-form'), 'own', 'a plugin replaces the shipped one')

  t.match(run('tollgate plugin new stamp'), { status: 0, text: /node --test .*stamp\.test\.ts/ })
  t.match(run('node --test test/plugins/stamp.test.ts'), { status: 0, text: /pass 1/ })
  edit(folder, 'plugins/stamp.ts', "['x-stamp'] = text", "['x-other'] = text")
  t.not(run('node --test test/plugins/stamp.test.ts').status, 0, 'the written test can fail')
  edit(folder, 'plugins/stamp.ts', "['x-other'] = text", "['x-stamp'] = text")
  edit(folder, 'routes.yaml', 'pipeline: [errors,', 'pipeline: [errors, stamp,')
  edit(folder, 'routes.yaml', 'name: chat\n', 'name: chat\n    stamp: hello\n')
  await gateway.until(/reload #\d+: .*route chat stamp/)
  t.equal((await call()).headers.get('x-stamp'), 'hello')
  t.match(run('tollgate check'), { status: 0, text: /no problems \(\d+ routes, \d+ plugins\)/ })
  t.match(run('tollgate status --json'), { status: 0 })
  checkTypes(t, package_)
  edit(folder, 'routes.yaml', 'settings:\n', 'settings:\n  plugins: [plugins, plugns]\n')
  edit(folder, 'routes.yaml', 'tollgate:schemas/messages', 'tollgate:schemas/mesages')
  const { status, text } = run('tollgate check')
  t.equal(status, 1)
  t.match(text, /PLUGIN_FOLDER.*\n?.*there is no folder "plugns"/)
  t.match(text, /no readable file "tollgate:schemas\/mesages\.json"/)
  t.match(text, /tollgate:schemas\/messages\.json/, 'the name that was meant')
})
const OWN_FORM = `import { errors } from 'tollgate/plugin'
export const fault = errors({ FORM_NEVER: [500, 'never'] })
export default {
  schema: { description: 'It has no options.', type: 'object', examples: [{}] },
  default: {},
  setup: () => ({
    async handle(exchange, next) {
      await next()
      exchange.reply.headers['x-form'] = 'own'
    },
  }),
}
`

/** Code, types and data, and nothing else of the repository. */
const checkFiles = (t: Test, { pack }: InstalledPackage): void => {
  const paths = pack.files.map(({ path }) => path)
  t.same(
    paths.filter(path => /(?:\.test\.|^test\/|^docs\/|^release\/|[^d]\.ts$|\.tsx$)/.test(path)),
    [],
  )
  for (const path of [
    'engine/bin.cjs',
    'dist/program/exports/plugin.d.ts',
    'dist/program/config/presets.yaml',
    'LICENSE',
  ])
    t.ok(paths.includes(path), path)
  t.comment(`${pack.size} bytes packed, ${pack.unpackedSize} unpacked, ${paths.length} files`)
  t.ok(pack.size < 1.85e6, `${pack.size} bytes`)
}
/** A plugin that uses every export has the right types, and so have the plugins of the examples; a
 *  wrong one is found. */
const checkTypes = (t: Test, { folder, run }: InstalledPackage): void => {
  const options = { module: 'nodenext', target: 'esnext', strict: true, noEmit: true }
  const compilerOptions = { ...options, types: ['node'], allowImportingTsExtensions: true }
  const examples = globSync('examples/*/plugins/*.ts', { cwd: ROOT })
  t.ok(examples.length >= 3)
  for (const file of examples) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  const files = ['types.ts', 'plugins/stamp.ts', 'test/plugins/stamp.test.ts', ...examples]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  writeFileSync(join(folder, 'types.ts'), TYPES)
  const tsc = `node ${join(ROOT, 'node_modules/typescript/bin/tsc')} -p .`
  t.match(run(tsc), { status: 0, text: '' })
  edit(folder, 'types.ts', 'fakeExchange()', 'fakeExchange(7)')
  edit(folder, 'plugins/stamp.ts', 'satisfies Plugin<string>', 'satisfies Plugin<number>')
  t.match(run(tsc), { text: /types\.ts.*TS2559[\s\S]*stamp\.ts|stamp\.ts[\s\S]*types\.ts.*TS2559/ })
}
const TYPES = `
import { PARTS, textOfPrompt, type Codec, type Format, type Prompt } from 'tollgate/formats'
import { errors, amountIn, DURATIONS, type Host, type Plugin } from 'tollgate/plugin'
import { ACCOUNT, USAGE } from 'tollgate/slots'
import { fakeExchange } from 'tollgate/testing'
const fault = errors({ CLOSED: [403, 'It is closed until %d.'] })
export const parts: Format | Codec | typeof PARTS = PARTS
export const text = (prompt: Prompt): string => textOfPrompt(prompt)
export const ms: number = amountIn('5s', DURATIONS)
export const exchange = fakeExchange()
export const id: number | undefined = exchange.slots.get(ACCOUNT)?.id
export const usage = exchange.slots.get(USAGE)?.estimated satisfies boolean | undefined
export default {
  schema: { type: 'integer', examples: [1] },
  setup: (limit: number, host: Host) => ({
    handle(_, next) {
      if (limit > host.config.version) throw fault('CLOSED', [limit])
      return next()
    },
  }),
} satisfies Plugin<number>
`

const edit = (folder: string, file: string, from: string, to: string): void => {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(from)) throw new Error(`${file} lacks ${from}`)
  writeFileSync(path, text.replace(from, to))
}

t.test('package: has at most 20 runtime packages, each exact and with its reason', async t => {
  const names = Object.keys(manifest.dependencies)
  t.ok(names.length <= 20, `${names.length} packages`)
  const decisions = readFileSync(join(ROOT, 'docs/decisions/packages.md'), 'utf8')
  const rows = decisions.slice(decisions.indexOf('## Runtime packages'))
  for (const version of Object.values(manifest.dependencies)) t.match(version, /^\d+\.\d+\.\d+$/)
  for (const name of names) t.match(rows, new RegExp(`^\\| \`${name}\` \\|`, 'm'))
})
