/** Every block of every page: YAML compiles here, and another test runs each of the others. */
import { generateKeyPairSync } from 'node:crypto'
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { readOnlyDatabase } from '../../engine/cli/databases.ts'
import { withLoadedConfig } from '../../engine/cli/load-for-command.ts'
import { certificateOf } from '../helpers/gateway/certificate.ts'
import { recordingTerminal } from '../helpers/gateway/command-line.ts'
import { blocksOf, pageOf } from './blocks.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PATTERNS = ['*.md', 'docs/**/*.md', 'examples/**/*.md', '{engine,plugins,test}/README.md']
const PAGES = globSync(PATTERNS, { cwd: ROOT }).toSorted()

/** Pages, the languages of their blocks, and the test that runs, loads or compares these. */
const TESTS: readonly (readonly [page: string, languages: string, test: string])[] = [
  ['README.md', 'sh ts yaml', 'docs/readme'],
  ['docs/accounts.md', 'sh', 'docs/accounts'],
  ['docs/accounts-file.md', 'yaml', 'plugins/declared-accounts'],
  ['docs/actions.md', 'sh', 'docs/guide-commands'],
  ['docs/alerts.md', 'json', 'plugins/alerts/alerts'],
  ['docs/batches.md', 'json sh', 'journeys/formats/sandbox-routes'],
  ['docs/budgets.md', 'sh', 'plugins/operator/budgets'],
  ['docs/cache.md', 'sh', 'docs/features/try-it'],
  ['docs/deployment.md', 'sh', 'release/deployment'],
  ['docs/files.md', 'sh', 'docs/guide-commands'],
  ['docs/guards.md', 'sh', 'docs/features/try-it'],
  ['docs/journal.md', 'sh', 'docs/features/try-it'],
  ['docs/limits.md', 'sh', 'docs/limits'],
  ['docs/openapi.md', 'sh', 'docs/guide-commands'],
  ['docs/operate.md', 'sh', 'docs/operate'],
  ['docs/plans.md', 'json sh', 'plugins/operator/plans'],
  ['docs/plugins.md', 'sh ts yaml', 'docs/plugins'],
  ['docs/prices.md', 'sh yaml', 'docs/prices-page'],
  ['docs/rules.md', 'sh', 'docs/features/try-it'],
  ['docs/start.md', 'sh ts yaml', 'docs/start'],
  ['docs/tasks.md', 'json sh ts', 'journeys/formats/sandbox-routes'],
  ['docs/teams.md', 'sh', 'docs/guide-commands'],
  ['docs/webhooks.md', 'js json sh', 'docs/webhooks'],
  ['docs/zones.md', 'sh', 'journeys/upstreams/zones'],
  ['docs/guides/jobs.md', 'yaml', 'docs/jobs'],
  ['docs/guides/*.md', 'nginx sh sql', 'docs/guide-commands'],
  ['examples/*.md', 'sh', 'examples/run-example'],
  ['examples/*/README.md', 'sh', 'examples/run-example'],
]
const testOf = (page: string, language: string): string | undefined =>
  TESTS.find(
    ([pages, languages]) =>
      globSync(pages, { cwd: ROOT }).includes(page) && languages.split(' ').includes(language),
  )?.[2]

/** Languages of figures and of output. */
const FIGURES = ['', 'text']
const blocks = PAGES.flatMap(page =>
  blocksOf(page)
    .filter(({ language }) => !FIGURES.includes(language))
    .map(block => ({ page, ...block })),
)

t.test('pages: a test runs, loads or compares every block', async t => {
  t.ok(blocks.length > 80)
  for (const { page, language, text } of blocks) {
    const test = testOf(page, language)
    t.ok(test ?? language === 'yaml', `${page}: ${text}`)
  }
  for (const [pages, languages, test] of TESTS) {
    const path = ['.test.ts', '.ts']
      .map(end => `test/${test}${end}`)
      .find(each => existsSync(join(ROOT, each)))
    const text = pageOf(path ?? test)
    t.ok(text.includes(pages.split('*')[0] ?? ''), `${test} names ${pages}`)
    t.match(text, /\b(?:sessionOf|blocksOf|blockOf)\(/, `${test} reads blocks`)
    for (const language of languages.split(' '))
      t.ok(
        blocks.some(block => block.language === language && testOf(block.page, language) === test),
      )
  }
})

t.test('pages: no command and no YAML escapes as a figure or as an indented block', async t => {
  /** Pages of output, of help and of mistakes, whose own tests compare them. */
  const others = /^docs\/(?:cli|problems|decisions\/.*)\.md$/
  for (const page of PAGES.filter(each => !others.test(each))) {
    const fences = /^```[\s\S]*?^```$/gm
    t.notMatch(pageOf(page).replace(fences, ''), /^\n {4}\S/m, page)
    for (const { language, text } of blocksOf(page))
      if (FIGURES.includes(language))
        t.notMatch(text, /^(?:tollgate|np[mx]|node|curl|docker|[a-z_]+:$)/m, page)
  }
})

/** Names that a block refers to beside its own sections. */
const SURROUNDINGS: Readonly<Record<string, object>> = {
  gp: { url: 'https://api.openai.com', key: 'k' },
  vd: { url: 'https://vd.example', key: 'k' },
  jina: { url: 'https://api.jina.ai', key: 'k' },
  reports: { url: 'https://reports.example' },
  azure: { url: 'https://azure.example', key: 'k' },
  anthropic: { url: 'https://api.anthropic.com', key: 'k' },
  openrouter: { url: 'https://openrouter.ai/api/v1', key: 'k' },
}
const MODELS = {
  // A budget needs a price that it can bound.
  priced: { to: 'gp/priced', price: { input: '1 / 1M', output: '2 / 1M' } },
  'gp-4.1': { to: 'gp/gpt-4.1', free: true },
  'gp-4.1-mini': { to: 'gp/gpt-4.1-mini', free: true },
  'cl-haiku': { to: 'gp/haiku', free: true },
}
const ROUTES = [
  { path: 'POST /v1/chat/completions', name: 'chat', model: 'body', translate: 'openai-chat' },
  { path: 'POST /v1/audio/speech', name: 'speech', model: 'body', translate: 'openai-speech' },
  { path: 'POST /v1/audio/transcriptions', name: 'transcriptions', model: 'body' },
  { path: 'POST /v1/rerank', name: 'rerank', model: 'body', translate: 'cohere-rerank' },
  { path: 'POST /ent/v2/text2video', name: 'text2video', model: 'body' },
]
/** The sign-in by an identity provider needs two, and provisioning one; pipelines of blocks have no
 *  console. */
const CONSOLE = [
  { path: 'GET /api/session/provider', name: 'begin', auth: 'none', console: 'provider' },
  { path: 'GET /api/session/callback', name: 'finish', auth: 'none', console: 'callback' },
  { path: 'GET /scim/v2/Users', name: 'users', auth: 'none', scim: 'Users' },
]
type Sections = Readonly<Record<string, object>>

/** Compiles a configuration with a block; answers the names of its upstreams and models. */
const compile = async (folder: string, block: string) => {
  const sections = parse(block) as Sections
  const { pipeline } = parse(pageOf('routes.yaml'), { merge: true }) as { pipeline: unknown }
  const presets = parse(pageOf('program/config/presets.yaml')) as Sections
  const own = (sections.routes ?? []) as typeof ROUTES
  const rest = ROUTES.filter(({ path }) => !own.some(each => each.path === path))
  const config = {
    pipeline,
    presets: presets.presets,
    ...sections,
    include: [],
    settings: {
      currency: { name: 'USD', rates: { CREDIT: '0.005' } },
      ...sections.settings,
      plugins: [join(ROOT, 'plugins')],
    },
    upstreams: { ...SURROUNDINGS, ...sections.upstreams },
    models: { ...MODELS, ...sections.models },
    routes: [...own, ...rest, ...(sections.pipeline ? [] : CONSOLE)],
  }
  const text = JSON.stringify(config)
    .replaceAll(/"((?:schemas)\/[^"]+)"/g, (_, path) => JSON.stringify(join(ROOT, path)))
    .replaceAll(/\/(?:run\/secrets|etc\/ssl|etc\/tollgate|srv)\//g, `${folder}/`)
  writeFileSync(join(folder, 'routes.yaml'), text)
  const names = [...block.matchAll(/\$\{([A-Z_]+)\}/g)].map(([, name = '']) => name)
  const values = Object.fromEntries(names.map(name => [name, `value-of-${name}`]))
  const terminal = recordingTerminal({ TOLLGATE_DATA: join(folder, 'data'), ...values })
  return withLoadedConfig(
    join(folder, 'routes.yaml'),
    terminal,
    readOnlyDatabase,
    async ({ snapshot }) => [...snapshot.upstreams.keys()],
  )
}

/** Writes the secret files that the blocks name. */
const writeSecrets = (t: Test, folder: string): void => {
  const { cert, key } = certificateOf(t, 'example')
  for (const name of ['company.pem', 'gateway.pem', 'fullchain.pem'])
    writeFileSync(join(folder, name), cert)
  for (const name of ['gateway.key', 'privkey.pem']) writeFileSync(join(folder, name), key)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const account = { type: 'service_account', client_email: 'a@b', private_key }
  writeFileSync(join(folder, 'account.json'), JSON.stringify(account))
  mkdirSync(join(folder, 'files'))
}

t.test('pages: every YAML block compiles in a configuration', async t => {
  const folder = t.testdir({})
  writeSecrets(t, folder)
  const parts = blocks.filter(({ page, language }) => language === 'yaml' && !testOf(page, 'yaml'))
  t.ok(parts.length > 15)
  for (const { page, text } of parts) {
    const upstreams = await compile(folder, text).catch((error: Error) => error.message)
    const own = Object.keys((parse(text) as Sections).upstreams ?? {})
    t.ok(
      Array.isArray(upstreams) && own.every(name => upstreams.includes(name)),
      `${page}:\n${text}\n${upstreams}`,
    )
  }
  await t.rejects(compile(folder, 'models: { a: { to: nowhere/b } }'), 'a mistake is found')
})
