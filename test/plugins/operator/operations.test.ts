/** The table of operations against the surfaces: each operation is on every surface of its scope,
 *  and what goes beside the table is listed here with its reason. */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import type { Database } from '../../../engine/plugin.ts'
import { commands as accountCommands } from '../../../plugins/account/command.ts'
import account from '../../../plugins/account/index.ts'
import actions from '../../../plugins/actions.ts'
import { commands as alertCommands } from '../../../plugins/alerts/operator-part.ts'
import { commands as batchCommands } from '../../../plugins/batches/operator-part.ts'
import { commands as cacheCommands } from '../../../plugins/cache/operator-part.ts'
import { describeConsole } from '../../../plugins/console/about.ts'
import { ADMIN_ENDPOINTS } from '../../../plugins/console/admin/endpoints.ts'
import { commands as consoleCommands } from '../../../plugins/console/command.ts'
import { commands as journalCommands } from '../../../plugins/journal/operator-part.ts'
import { commands as mirrorCommands } from '../../../plugins/mirror/operator-part.ts'
import { commands as webhookCommands } from '../../../plugins/notify/commands.ts'
import { trafficCommand } from '../../../plugins/observe/traffic.ts'
import { runWhole } from '../../../plugins/operator/command-line.ts'
import { endpointOf } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import { commands as taskCommands } from '../../../plugins/task/operator-part.ts'
import { hostOver } from '../../helpers/store/accounts.ts'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')

const commands = {
  ...actions.commands,
  ...alertCommands,
  ...cacheCommands,
  ...journalCommands,
  ...mirrorCommands,
  ...accountCommands,
  ...batchCommands,
  ...taskCommands,
  ...webhookCommands,
  ...consoleCommands,
  traffic: trafficCommand,
}
const commandNames = Object.entries(commands).flatMap(([noun, command]) =>
  'subcommands' in command ? Object.keys(command.subcommands).map(verb => `${noun} ${verb}`) : noun,
)

/** Commands on accounts, keys, tasks, batches and webhooks that are not in the table. */
const COMMANDS_BESIDE: Readonly<Record<string, string>> = {
  usage: 'one command for an account and for all, whose rows differ',
  'keys import': 'reads a file of this machine',
  'journal show': 'reads files of this machine',
  apply: 'reads a file of this machine and runs operations of the table',
  replay: 'sends a request to an upstream and prints what it answers',
}
const READS = 'reads what no command changes'
/** Endpoints of operators that are not in the table. */
const ENDPOINTS_BESIDE: Readonly<Record<string, string>> = {
  'GET requests': READS,
  'GET requests/story': READS,
  'GET upstreams': READS,
  'POST upstreams/test': 'changes nothing; `upstreams test` asks every upstream',
  'GET routes': READS,
  'GET configuration': READS,
  'GET configuration/diff': READS,
  'GET configuration/change': READS,
  'POST configuration/reload': 'a command of the engine, which knows no operations',
  'POST configuration/rollback': 'a command of the engine, which knows no operations',
  'GET editor/files': 'the editor of the console: an operator has the files',
  'GET editor/schema': 'the editor of the console: an operator has the files',
  'POST editor/check': 'the editor of the console: an operator has the files',
  'POST editor/save': 'the editor of the console: an operator has the files',
  'GET ledger/audit': READS,
  'GET charges': READS,
  'GET failed-calls': READS,
}

t.test('operations: each is defined once, with words for every argument', async t => {
  t.equal(new Set(OPERATIONS.map(({ name }) => name)).size, OPERATIONS.length, 'names')
  t.equal(new Set(OPERATIONS.map(endpointOf)).size, OPERATIONS.length, 'endpoints')
  for (const { name, summary, arguments: shape } of OPERATIONS) {
    t.match(name, /^[a-z-]+ [a-z]+$/, `${name}: a noun and a verb`)
    t.match(summary, /^[A-Z].*\.$/, `${name}: a sentence`)
    t.equal(shape.schema.additionalProperties, false, `${name}: refuses other arguments`)
    for (const [argument, { description }] of Object.entries(
      (shape.schema.properties ?? {}) as Readonly<Record<string, { description?: string }>>,
    ))
      t.ok(description, `${name}: says what ${argument} is`)
  }
})

t.test('operations: each of an operator is a command, an endpoint, and in both pages', async t => {
  const page = textOf('docs/cli.md')
  const described = new Set(
    ['/api/admin/{resource}', '/api/admin/{resource}/{action}'].flatMap(pattern =>
      (describeConsole('admin', pattern).operations ?? []).map(
        ({ method, path }) => `${method} ${path}`,
      ),
    ),
  )
  for (const operation of OPERATIONS.filter(({ scope }) => scope !== 'own')) {
    const { name, command, summary, reads } = operation
    const endpoint = endpointOf(operation)
    t.ok(command && commandNames.includes(name), `tollgate ${name}`)
    t.ok(page.includes(`### ${name}\n`), `docs/cli.md has ${name}`)
    t.match(ADMIN_ENDPOINTS[endpoint], { summary }, endpoint)
    t.equal(endpoint.startsWith('GET '), reads === true, `${endpoint}: GET changes nothing`)
    t.ok(described.has(endpoint.replace(' ', ' /api/admin/')), `OpenAPI has ${endpoint}`)
  }
})

t.test('operations: each of a customer has a view of the plugin account, and a route', async t => {
  const { routes } = parse(textOf('program/config/console.yaml')) as {
    routes: readonly { account?: string }[]
  }
  for (const { name, own } of OPERATIONS.filter(({ scope }) => scope !== 'operator')) {
    t.ok(own && own.length > 0, `${name}: names its views`)
    for (const { view } of own ?? []) {
      t.ok(
        (account.schema.enum as string[]).includes(view),
        `${name}: the plugin account has ${view}`,
      )
      t.ok(
        routes.some(route => route.account === view),
        `${name}: a route has ${view}`,
      )
    }
  }
})

t.test('operations: a command without a reader reads the first arguments and options', async t => {
  for (const { name, command, arguments: shape } of OPERATIONS) {
    if (!command || command.read) continue
    const members = Object.keys(shape.schema.properties ?? {})
    const words = command.arguments?.split(' ') ?? []
    const options = Object.keys(command.options ?? {}).map(each => each.replaceAll('-', '_'))
    t.ok(words.length <= members.length, `${name}: an argument for each word`)
    t.strictSame(
      options.filter(each => !members.includes(each)),
      [],
      `${name}: an argument for each option`,
    )
    const read = [...members.slice(0, words.length), ...options]
    const required = (shape.schema.required ?? []) as readonly string[]
    t.strictSame(
      required.filter(each => !read.includes(each)),
      [],
      `${name}: what it needs`,
    )
  }
})

t.test('alerts test: a receiver that failed is exit code 3', async t => {
  const print = OPERATIONS.find(({ name }) => name === 'alerts test')?.command?.print
  const row = { receiver: 'slack', message: '' }
  t.match(print?.([{ ...row, state: 'delivered' }], 'CNY'), { exit: 0 })
  t.match(
    print?.(
      [
        { ...row, state: 'delivered' },
        { ...row, state: 'failed' },
      ],
      'CNY',
    ),
    { exit: 3 },
  )
})

t.test('operations: commands and endpoints beside the table have a reason', async t => {
  const names = OPERATIONS.map(({ name }) => name)
  t.same(
    commandNames.filter(name => !names.includes(name)).toSorted(),
    Object.keys(COMMANDS_BESIDE).toSorted(),
  )
  const endpoints = OPERATIONS.map(endpointOf)
  t.same(
    Object.keys(ADMIN_ENDPOINTS)
      .filter(name => !endpoints.includes(name))
      .toSorted(),
    Object.keys(ENDPOINTS_BESIDE).toSorted(),
  )
})

/** Calls of customers that change something under /api and are not in the table. */
const OWN_BESIDE: Readonly<Record<string, string>> = {
  'POST /api/tasks/{id}/cancel': 'the view of the plugin task, which cancels at the upstream too',
  'PUT /api/notifications': 'settings of the plugin notify; no operator changes them',
  'POST /api/notifications/test': 'sends one event to its receiver',
  'POST /api/session': 'signs in: there is no account before',
  'DELETE /api/session': 'signs out',
  'POST /api/session/logout': 'the identity provider ends sessions; its token is signed',
  'POST /api/token/': 'keys create in the shape of new-api',
  'PUT /api/token/': 'keys update in the shape of new-api',
  'DELETE /api/token/{id}': 'keys revoke in the shape of new-api',
}
t.test('operations: calls of customers beside the table have a reason', async t => {
  type Route = { readonly path: string; readonly account?: string; readonly console?: string }
  const routesOf = (path: string) => (parse(textOf(path)) as { routes: readonly Route[] }).routes
  const views = OPERATIONS.flatMap(({ own }) => own ?? []).map(({ view }) => view)
  const beside = [...routesOf('routes.yaml'), ...routesOf('program/config/console.yaml')]
    .filter(({ path }) => /^(?:POST|PUT|PATCH|DELETE) +\/api\//.test(path))
    .filter(({ account: view }) => view === undefined || !views.includes(view))
    .map(({ path }) => path)
  t.same(beside.toSorted(), Object.keys(OWN_BESIDE).toSorted())
})

/** Files of plugins/operator/ that write to the database by themselves. */
const WRITERS: Readonly<Record<string, string>> = {
  'operation.ts': 'the one way to write',
  'import.ts': 'keys import: pages of many accounts',
}
t.test('operations: all write in one way', async t => {
  const folder = new URL('plugins/operator/', root)
  const writers = globSync('**/*.ts', { cwd: folder.pathname }).filter(path =>
    /writeWithRetry\(|recordAction\(|\.write\(/.test(textOf(`plugins/operator/${path}`)),
  )
  t.same(writers.toSorted(), Object.keys(WRITERS).toSorted())
})

t.test('commands: arguments that do not fit the schema are wrong usage', async t => {
  const host = hostOver({} as Database)
  for (const operation of OPERATIONS)
    await t.rejects(
      runWhole(operation, { 'no such': 1 }, host),
      { code: 'USAGE', message: /no such|required/ },
      operation.name,
    )
})
