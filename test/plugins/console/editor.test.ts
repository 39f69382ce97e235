/** The editor of routes.yaml over HTTP: files, schema, check as `tollgate check` says it, save. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  OPERATOR_ROUTES,
  SESSION_SCHEMA,
  startConsole,
} from '../../helpers/console/console-gateway.ts'
import { tollgate } from '../../helpers/gateway/command-line.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import { startLanguageServer } from '../../helpers/language-server.ts'

const gateway = await startConsole(t, {
  settings: 'public_url: http://127.0.0.1',
  files: {
    'more/some.yaml': 'routes: []\n',
    ...SESSION_SCHEMA,
  },
  routes: `
include: [more/*.yaml]
pipeline: [errors, auth, validate, meter, console]
console: { edit: true }
routes:
${OPERATOR_ROUTES}`,
})
const operator = await gateway.signIn({ token: gateway.token })
const edit = (action: string, body: object) =>
  operator.ask('POST', `/api/admin/editor/${action}`, body)
const { body } = await operator.ask('GET', '/api/admin/editor/files')
const texts = body.data as unknown as Readonly<Record<string, string>>
const before = String(texts['routes.yaml'])
const folder = dirname(gateway.data)
const file = 'routes.yaml'

t.test('files: the YAML texts unchanged, and the schema with the keys of plugins', async t => {
  t.same(Object.keys(texts).sort(), ['more/some.yaml', 'routes.yaml'])
  t.equal(before, readFileSync(join(folder, file), 'utf8'))
  const { body } = await operator.ask('GET', '/api/admin/editor/schema')
  t.match(body.data, { properties: { console: { properties: { edit: {} } }, routes: {} } })
})

t.test('typo: one message in editors, tollgate check, console and terminal', async t => {
  const text = before.replace('console: sign-in', 'consle: sign-in')
  const { body } = await edit('check', { file, text })
  const [problem] = body.data
  t.match(problem, { file, suggestion: 'console', line: Number })
  const sentences = [problem?.text, problem?.hint].map(String)
  t.match(sentences, [
    /^unknown key "consle" in routes\[0\]; did you mean "console"\?$/,
    /^Allowed keys: path, name, .*console, .*validate/,
  ])
  const place = `${problem?.line}:${problem?.column}`
  const shows = (output: string, where: string) => {
    for (const each of sentences) t.ok(output.includes(each), `${where}: ${output}`)
    t.ok(output.includes(`:${place}`), `${where}: ${output}`)
  }

  const config = join(folder, 'typo.yaml')
  writeFileSync(config, before)
  const schema = await tollgate(['schema', '--config', config])
  writeFileSync(config, text)
  const { out, err } = await tollgate(['check', '--config', config], { NO_COLOR: '1' })
  shows(`${out}${err}`, 'tollgate check')

  writeFileSync(join(folder, file), text)
  t.teardown(() => writeFileSync(join(folder, file), before))
  const reload = await operator.ask('POST', '/api/admin/configuration/reload', {})
  t.equal(reload.status, 409)
  t.ok(reload.body.message.includes(`routes.yaml:${place} ${sentences[0]}`), reload.body.message)
  const status = await operator.ask('GET', '/api/admin/configuration')
  shows(String((status.body.data.failure as { readonly text: string }).text), 'console')
  const isPrinted = () => gateway.output().includes(`${sentences[0]}`) && gateway.output()
  shows(await eventually(isPrinted), 'terminal')

  const schemaFile = join(folder, 'schema.json')
  writeFileSync(schemaFile, schema.out)
  const diagnostics = await startLanguageServer(t)
  const head = `# yaml-language-server: $schema=${schemaFile}\n`
  const marks = await diagnostics(config, head + text)
  // No schema can name the key that was typed: the editor underlines it.
  const below = `${Number(problem?.line) + 1}:${problem?.column} `
  t.ok(marks.includes(below + sentences[1]), `editor schema: ${marks}`)
  t.same((await edit('check', { file, text: before })).body.data, [])
})

t.test(
  'save: refuses problems, an unknown file, and a file that was changed meanwhile',
  async t => {
    const refusals = [
      [{ file, text: 'routes: 1', before }, 409, /Nothing was saved: routes\.yaml:1:/],
      [{ file, text: `${before}#\n`, before: 'other' }, 409, /was changed meanwhile/],
      [{ file: '../evil.yaml', text: 'routes: []\n', before: '' }, 404, /does not read/],
      [{ file: 'more/new.yaml', text: 'routes: []\n', before: '' }, 404, /does not read/],
      [{ file, text: 1, before }, 400, /text/],
      [{ file, text: before }, 400, /before/],
    ] as const
    for (const [body, status, message] of refusals) {
      const reply = await edit('save', body)
      t.equal(reply.status, status)
      t.match(reply.body.message, message)
    }
    t.equal(readFileSync(join(folder, file), 'utf8'), before)
    t.notOk(existsSync(join(folder, '../evil.yaml')))
  },
)

t.test(
  'save: replaces a file, also an include, goes live, and keeps texts out of the log',
  async t => {
    const text = `${before.replace('edit: true', 'edit: true, session: 1h')}# secret-comment\n`
    t.equal((await edit('save', { file, text, before })).status, 200)
    t.equal(readFileSync(join(folder, file), 'utf8'), text)
    const include = 'routes: [] # changed\n'
    const some = { file: 'more/some.yaml', text: include, before: texts['more/some.yaml'] }
    t.equal((await edit('save', some)).status, 200)
    t.equal(readFileSync(join(folder, 'more/some.yaml'), 'utf8'), include)
    t.notOk(readdirSync(folder).some(name => name.endsWith('.draft')))
    await operator.ask('POST', '/api/admin/configuration/reload', {})
    const live = await eventually(async () => {
      const { body } = await operator.ask('GET', '/api/admin/configuration')
      return Number(body.data.version) > 1 && body.data
    })
    const { body } = await operator.ask(
      'GET',
      `/api/admin/configuration/diff?from=1&to=${live.version}`,
    )
    t.match(
      body.data.find(each => each.file === file),
      { lines: [/^@@/] },
    )
    const back = await operator.ask('POST', '/api/admin/configuration/rollback', { version: 1 })
    t.match(back.body.data, { outcome: 'live' })
    const none = await operator.ask('POST', '/api/admin/configuration/rollback', { version: 999 })
    t.match(none, { status: 409, body: { success: false, message: /serves on: no version #999/ } })
    t.match(gateway.output(), /editor\/save/)
    t.notMatch(gateway.output(), /secret-comment/)
  },
)
