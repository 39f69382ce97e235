/** docs/providers.md: its blocks are configurations that compile, and every preset is in one. */
import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { readOnlyDatabase } from '../../engine/cli/databases.ts'
import { withLoadedConfig } from '../../engine/cli/offline.ts'
import { recordingTerminal } from '../helpers/gateway/command-line.ts'
import { blocksOf } from './blocks.ts'

const ROOT = join(import.meta.dirname, '../..')
const BLOCKS = blocksOf('docs/providers.md').filter(({ language }) => language === 'yaml')
const upstreamsOf = (text: string): object => parse(text).upstreams

/** A configuration with a block, and with values for its variables and files. */
const compile = async (folder: string, block: string): Promise<readonly string[]> => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const account = { type: 'service_account', client_email: 'a@b', private_key }
  writeFileSync(join(folder, 'account.json'), JSON.stringify(account))
  copyFileSync(join(ROOT, 'presets.yaml'), join(folder, 'presets.yaml'))
  const config = join(folder, 'routes.yaml')
  const text = block.replaceAll('/run/secrets/account.json', join(folder, 'account.json'))
  writeFileSync(
    config,
    `${text}
settings: { plugins: ['${join(ROOT, 'plugins')}'] }
pipeline: [errors, model, translate, embed, sandbox, adapt]
routes:
  - { path: POST /v1/chat/completions, model: body, translate: openai-chat }
`,
  )
  const variables = [...block.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => name)
  const values = Object.fromEntries(variables.map(name => [name, `value-of-${name}`]))
  const terminal = recordingTerminal({ TOLLGATE_DATA: join(folder, 'data'), ...values })
  return withLoadedConfig(config, terminal, readOnlyDatabase, async ({ snapshot }) => [
    ...snapshot.upstreams.keys(),
  ])
}

for (const [index, { text }] of BLOCKS.entries())
  t.test(`docs/providers.md: block ${index + 1} compiles`, async t => {
    const names = await compile(t.testdir({}), text)
    t.ok(Object.keys(upstreamsOf(text)).every(name => names.includes(name)))
  })

t.test('docs/providers.md: every preset is in a block', async t => {
  const { presets } = parse(readFileSync(join(ROOT, 'presets.yaml'), 'utf8'))
  const presetNames = BLOCKS.flatMap(({ text }) =>
    Object.values(upstreamsOf(text)).map(({ preset }) => preset),
  )
  for (const name of Object.keys(presets)) t.ok(presetNames.includes(name), name)
})
