/** `npm run bench:pages`: fills a store with many charges, and measures what each page of the
 *  console asks for, and the commands that read calls, beside the time of 200 ms. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { locate } from '../../../engine/store/database.ts'
import { linkIn } from '../../helpers/console/console-gateway.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway/gateway.ts'
import { median } from '../tables.ts'
import { auditEnd, fillPostgres, fillSqlite } from './fixture.ts'
import { customerPages, operatorPages } from './page-list.ts'
import { SIZE_OPTIONS, sizeIn } from './rows.ts'

const HELP = `npm run bench:pages -- [options]

  --charges N      10000000
  --keys N         1000000
  --accounts N     100000
  --store FOLDER   keeps the store there for the next run, which fills none
  --postgres URL   of an empty database, or of the one that --store was filled with; SQLite by default
  --rounds N       times that each page is asked for; 7
  --only TEXT      pages whose path has this text`

const { values } = parseArgs({
  options: {
    ...SIZE_OPTIONS,
    store: { type: 'string' },
    postgres: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
/** ms; the longest that a page may take. */
const LIMIT = 200
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const ends: (() => unknown)[] = []

const newFolder = (): string => {
  if (values.store) {
    mkdirSync(values.store, { recursive: true })
    return values.store
  }
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-pages-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const report = (step: string, seconds: number): void =>
  console.log(`  ${step}: ${seconds.toFixed(1)} s`)

/** A gateway on the filled store, and the system token of its operator. */
const startFilled = async () => {
  const folder = newFolder()
  const dataFolder = join(folder, 'data')
  const tokenFile = join(folder, 'token')
  const env = values.postgres ? { DATABASE_URL: values.postgres } : {}
  if (!existsSync(tokenFile)) {
    const first = await startGateway({ data: dataFolder, env })
    await first.key()
    const token = /\bst-\w{20,}/.exec(first.output())?.[0] ?? ''
    await first.stop()
    const size = sizeIn(values)
    if (values.postgres) await fillPostgres(values.postgres, size, report)
    else fillSqlite(locate('sqlite:', dataFolder).file, size, report)
    writeFileSync(tokenFile, token)
  }
  const gateway = await startGateway({ data: dataFolder, env })
  ends.push(() => gateway.stop())
  await auditEnd(dataFolder)
  return { gateway, env, token: readFileSync(tokenFile, 'utf8') }
}

/** Credentials of a request: those of a browser, or of a program. */
type Headers = Readonly<Record<string, string>>
const ask = async ({ url }: TestGateway, headers: Headers, path: string, body?: unknown) => {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return { headers: response.headers, body: JSON.parse(text).data }
}
/** The headers of a browser that is signed in. */
const signIn = async (gateway: TestGateway, credential: object): Promise<Headers> => {
  const { headers, body } = await ask(gateway, {}, '/api/session', credential)
  const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  return { cookie, 'x-csrf-token': String(body.csrf) }
}

/** Median and longest, ms, in order of the median. */
const measure = async (
  gateway: TestGateway,
  pages: readonly { readonly headers: Headers; readonly path: string }[],
) => {
  const rows: { readonly path: string; readonly first: number; readonly middle: number }[] = []
  for (const { headers, path } of pages) {
    const times: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      const begin = performance.now()
      await ask(gateway, headers, path)
      times.push(performance.now() - begin)
    }
    const row = { path, first: times[0] ?? 0, middle: median(times) }
    console.log(`  ${row.middle.toFixed(1)} ms  ${path}`)
    rows.push(row)
  }
  return rows
}

const measureCommands = (
  gateway: TestGateway,
  env: Readonly<Record<string, string>>,
  request: string,
): void => {
  const commands = [
    ['version'],
    ['usage', 'scale-1'],
    ['usage', 'scale-1', '--by', 'model'],
    ['usage', '--all', '--since', '30d'],
    ['usage', '--all', '--by', 'key', '--since', '30d'],
    ['logs', '--lines', '100'],
    ['logs', '--failed', '--lines', '100'],
    ['request', request],
    ['accounts', 'show', 'scale-1'],
    ['statements', 'show', new Date().toISOString().slice(0, 7), '--account', 'scale-1'],
  ]
  for (const command of commands) {
    const times: number[] = []
    for (let round = 0; round < 3; round++) {
      const begin = performance.now()
      const { status, stderr } = spawnSync(
        process.execPath,
        [join(ROOT, 'engine/bin.cjs'), ...command],
        {
          env: {
            ...process.env,
            TOLLGATE_CONFIG: join(ROOT, 'routes.yaml'),
            TOLLGATE_DATA: gateway.data,
            ...env,
          },
          encoding: 'utf8',
        },
      )
      if (status !== 0) throw new Error(`tollgate ${command.join(' ')}: ${stderr}`)
      times.push(performance.now() - begin)
    }
    console.log(`tollgate ${command.join(' ')}: ${median(times).toFixed(0)} ms`)
  }
}

const run = async (): Promise<void> => {
  const { gateway, env, token } = await startFilled()
  const operator = await signIn(gateway, { token })
  const { body: link } = await ask(gateway, operator, '/api/admin/accounts/link', {
    account: 'scale-1',
  })
  const customer = await signIn(gateway, { link: linkIn(String(link.url)) })
  const { body: calls } = await ask(gateway, customer, '/api/usage?limit=50')
  const request = String(calls.at(-1).request_id)
  const pages = [
    ...operatorPages(request).map(path => ({ headers: operator, path })),
    ...customerPages(request).map(path => ({ headers: customer, path })),
  ].filter(({ path }) => path.includes(values.only))
  const rows = await measure(gateway, pages)
  for (const { path, first, middle } of rows.sort((one, other) => other.middle - one.middle))
    console.log(
      `${middle > LIMIT ? 'over ' : '     '}${middle.toFixed(1).padStart(8)} ms, first ${first.toFixed(1).padStart(8)}  ${path}`,
    )
  if (values.only === '') measureCommands(gateway, env, request)
}

if (values.help) console.log(HELP)
else
  try {
    await run()
  } finally {
    for (const end of ends.reverse()) await end()
  }
