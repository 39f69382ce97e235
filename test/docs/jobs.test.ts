/** docs/guides/jobs.md: each job takes at most three steps, and its steps do it: they run in order,
 *  in a fresh clone with a gateway. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../helpers/eventually.ts'
import { certificateOf } from '../helpers/gateway/certificate.ts'
import { startHttpUpstream } from '../helpers/gateway/test-server.ts'
import { channel, option, token, user, writeDatabase } from '../helpers/import/new-api.ts'
import { sharedPostgres } from '../helpers/store/postgres.ts'
import { blocksOf, pageOf } from './blocks.ts'
import { type Clone, clone } from './clone.ts'

const PAGE = 'docs/guides/jobs.md'
const MOST_STEPS = 3
const REQUEST = { model: 'gp-4.1', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] }
const LITELLM = `model_list:
  - model_name: fast
    litellm_params:
      model: openai/gpt-4.1-mini
      api_key: os.environ/OPENAI_API_KEY
`

interface Job {
  readonly name: string
  /** The number on the page. */
  readonly count: number
  readonly steps: readonly string[]
  readonly pages: readonly string[]
}
const jobs: readonly Job[] = [
  ...pageOf(PAGE).matchAll(/^\| (.+?) \| (\d+) \| (.+) \| ?(.*?) ?\|$/gm),
].map(([, name = '', count, how = '', pages = '']) => ({
  name,
  count: Number(count),
  steps: how.split(', then '),
  pages: [...pages.matchAll(/\*\*(.+?)\*\*/g)].map(([, title = '']) => title),
}))

/** The output of the last step of each job; of an edit, that of the reload. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  'From new-api or one-api; customers keep their keys': /tollgate \d[\s\S]* serves/,
  'From LiteLLM': /tollgate \d[\s\S]* serves/,
  'Begin with a provider': /tollgate \d[\s\S]* serves/,
  'Add DeepSeek, likewise OpenRouter, Ollama or vLLM': /deepseek-chat/,
  'Add Azure': /is live|reload/,
  'Add Bedrock': /is live|reload/,
  'Add Vertex AI': /is live|reload/,
  'Replace the key of a provider': /200: 1 models?$/m,
  'Change a price': /0\.30 USD/,
  'Price long prompts higher': /is live|reload/,
  'Price by the time of day': /28\.80\/1M/,
  'Limit a route': /600\/min/,
  'Undo a change': /back to #\d/,
  'A team of five, with a budget for each member': /eve/,
  'Add money': /acme/,
  'Sell codes': /(?:[0-9A-Z]{5}-){3}/,
  'Replace the secret of a key': /sk-\w+/,
  'Suspend a customer': /suspended/,
  'Resume a customer': /acme/,
  'Refund a call': /^0\.\d+ +\d+ +admin/m,
  'Why a request failed': /MODEL_UNKNOWN[\s\S]*nowhere/,
  'What a call cost, line by line': /output[\s\S]*CNY/,
  'Follow requests as they end': /gp-4\.1/,
  'Which upstream is slow, or fails': /^gp /m,
  'Who costs most': /^\d+ +admin +\d/m,
  'Who changed what': /accounts suspend/,
  'CSV of all customers for a month': /^store: .*\n$/,
  'A page to print for one customer': /^store: .*\n$/,
  'Check that the ledger adds up': /the ledger balances/,
  'Send alerts to a chat': /slack.*200|delivered|ok/i,
  'Back up': /\d+ bytes/,
  Restore: /serves/,
  'Serve HTTPS': /https:\/\//,
  'Move to PostgreSQL': /serves/,
  Uninstall: /^$/,
}

t.test('jobs: each takes at most three steps, as many as the page says', async t => {
  t.same(jobs.map(({ name }) => name).toSorted(), Object.keys(OUTPUTS).toSorted())
  const texts = pageOf('plugins/console/client/texts.ts')
  for (const { name, count, steps, pages } of jobs) {
    t.equal(steps.length, count, `${name}: counted`)
    t.ok(count <= MOST_STEPS, `${name}: ${count} steps`)
    for (const step of steps) t.notMatch(step, /^`[^`]*(?:&&|;|\|)/, `${name}: one command a step`)
    for (const title of pages)
      t.ok(new RegExp(`'page\\.\\w+': \\['${title}'`).test(texts), `${name}: page ${title}`)
  }
})

/** Folders of the jobs that come over, with what they read. */
const PREPARED: Readonly<Record<string, (folder: string) => void>> = {
  'From new-api or one-api; customers keep their keys': folder =>
    writeDatabase(join(folder, 'one-api.db'), 'new-api', {
      users: [user(1, { username: 'root', role: 100 })],
      tokens: [token(1, 1)],
      channels: [channel(1, 1, { models: 'gpt-4o' })],
      options: [option('ModelRatio', { 'gpt-4o': 1.25 })],
    }),
  'From LiteLLM': folder => writeFileSync(join(folder, 'config.yaml'), LITELLM),
  'Begin with a provider': () => {},
}

/** Runs commands and edits in a folder of the clone; `rise`: the way up to the clone. */
const createRunner = ({ shell, folder: root }: Clone, place: string, rise = '') => {
  const folder = join(root, place)
  const pathOf = (file: string) => join(folder, file)
  const runFile = pathOf('data/run.json')
  // The folder of the clone is one of plugins of an operator's own; others use the shipped ones.
  let variables = rise ? `unset TOLLGATE_PLUGINS\ncd ${place}\nexport TOLLGATE_DATA=data\n` : ''
  const program = `node ${rise}engine/bin.cjs`
  const stop = async (): Promise<string> => {
    if (!existsSync(runFile)) return ''
    const { pid } = JSON.parse(readFileSync(runFile, 'utf8'))
    if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGTERM')
    await eventually(() => !existsSync(`/proc/${pid}`))
    return ''
  }
  /** Starts a gateway that goes on after its shell. */
  const start = (command: string) =>
    shell(`${variables}rm -f start.log
${command} > start.log 2>&1 &
until grep -q " serves" start.log; do kill -0 $!; sleep 0.1; done
cat start.log`)
  /** Runs a command that does not end by itself until it has printed a line. */
  const follow = (command: string): Promise<string> =>
    shell(`${variables}${command} > followed.log &
until grep -q . followed.log; do kill -0 $!; sleep 0.1; done
kill $!
cat followed.log`)
  const run = async (command: string): Promise<string> => {
    const [, setting, isStart] =
      /^(DATABASE_URL=\S+ )?(npm start|tollgate start)$/.exec(command) ?? []
    if (setting) variables += `export ${setting}\n`
    const line = (isStart ?? command).replace(/^tollgate /, `${program} `)
    if (isStart) return start(line)
    if (command.endsWith('--follow')) return follow(line)
    return shell(variables + line)
  }
  /** A running gateway reads the file by itself; this waits for it. */
  const reload = async (file: string): Promise<string> =>
    existsSync(runFile) && file !== 'accounts.yaml' ? run('tollgate reload') : ''
  /** Adds a line to a file; one of `.env` replaces that of its variable. */
  const write = (file: string, text: string): Promise<string> => {
    const before = existsSync(pathOf(file)) ? readFileSync(pathOf(file), 'utf8') : ''
    const [name] = text.split('=')
    const others = before.split('\n').filter(line => file !== '.env' || line.split('=')[0] !== name)
    writeFileSync(pathOf(file), `${others.join('\n').trimEnd()}\n${text}\n`.trimStart())
    return reload(file)
  }
  const insert = (file: string, section: string, line: string): Promise<string> => {
    const before = readFileSync(pathOf(file), 'utf8')
    writeFileSync(
      pathOf(file),
      before.replace(`\n${section}\n`, head => `${head}  ${line}\n`),
    )
    return reload(file)
  }
  const runStep = (step: string): Promise<string> => {
    const [, command] = /^`([^`]+)`$/.exec(step) ?? []
    if (command) return run(command)
    const [, text, file] = /^write `([^`]+)` to `([^`]+)`$/.exec(step) ?? []
    if (text && file) return write(file, text)
    const [, line, section, place] =
      /^write `([^`]+)` under `([^`]+)` of `([^`]+)`$/.exec(step) ?? []
    if (line && section && place) return insert(place, section, line)
    const [, named] = /^write the file below to `([^`]+)`$/.exec(step) ?? []
    if (named) return write(named, blocksOf(PAGE).find(block => block.file === named)?.text ?? '')
    if (step === 'stop the gateway') return stop()
    throw new Error(`no such step: ${step}`)
  }
  return { runStep, stop, write, run }
}
type Runner = ReturnType<typeof createRunner>
const runJob = async (
  t: Test,
  { runStep }: Runner,
  { name, steps }: Job,
  change: (text: string) => string = text => text,
): Promise<void> => {
  let out = ''
  for (const step of steps) out = await runStep(change(step))
  t.match(out, OUTPUTS[name], name)
}

t.test('jobs: their steps do them', async t => {
  const copy = await clone(t)
  for (const job of jobs.filter(({ name }) => name in PREPARED)) {
    const place = `come-over-${jobs.indexOf(job)}`
    mkdirSync(join(copy.folder, place))
    PREPARED[job.name]?.(join(copy.folder, place))
    const runner = createRunner(copy, place, '../')
    await runJob(t, runner, job)
    await runner.stop()
  }

  const address = await startHttpUpstream(t, ({ headers }, response) => {
    const isKnown = headers.authorization === 'Bearer sk-2'
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'deepseek-chat' }] }))
  })
  const hook = await startHttpUpstream(t, (_, response) => response.end('ok'))
  const database = await (await sharedPostgres()).create()
  const runner = createRunner(copy, '')
  await copy.start()
  t.teardown(runner.stop)
  const certificate = certificateOf(t, 'example')
  for (const [name, text] of [
    ['cert.pem', certificate.cert],
    ['key.pem', certificate.key],
    ['night.json', JSON.stringify({ ...REQUEST, model: 'night' })],
  ] as const)
    writeFileSync(join(copy.folder, name), text)
  const call = async (model: string): Promise<string> => {
    const body = JSON.stringify({ ...REQUEST, model })
    const reply = await runner.run(
      `curl -si 127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" -d '${body}'`,
    )
    return /req_\w+/.exec(reply)?.[0] ?? `no request in ${reply}`
  }
  const [billed, failed] = [await call('gp-4.1'), await call('nowhere')]
  /** Replaces what only the page has. */
  const change = (text: string): string =>
    text
      .replace('req_0123', billed)
      .replace('req_0456', failed)
      .replace('2026-11', new Date().toISOString().slice(0, 7))
      .replace('postgres://tollgate@db.internal/tollgate', database)
      .replace('https://hooks.slack.com', hook)
      .replace('provider deepseek deepseek', `$& --url ${address}`)
  for (const job of jobs.filter(({ name }) => !(name in PREPARED))) {
    // A copy of a running gateway's store has calls that its start settles after half a minute.
    const isRestore = job.name === 'Restore'
    if (isRestore) {
      await runner.stop()
      await runner.run('cp -a data kept')
    }
    await runJob(t, runner, job, change)
    if (!isRestore) continue
    await runner.stop()
    await runner.run('rm -rf data')
    await runner.run('mv kept data')
    await runner.run('npm start')
  }
  const fileOf = (name: string) => readFileSync(join(copy.folder, name), 'utf8')
  t.match(fileOf('statements.csv'), /^account,[\s\S]*admin/)
  t.match(fileOf('acme.html'), /<h1>acme</)
  t.match(fileOf('ledger.csv'), /gp-4\.1/)
  t.notOk(existsSync(join(copy.folder, 'data')))
})
