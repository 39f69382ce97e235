/** Sixty ways to break a configuration: each is a problem with file and line, and the old version
 *  serves every request. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  eventually,
  folderWith,
  getAlone,
  routes,
  startPrimary,
} from '../helpers/gateway/primary.ts'
import { draw, seed, shortOrLong } from '../helpers/run-settings.ts'

const good = routes('good')
const edit = (from: string | RegExp, to: string): string => {
  const text = good.replace(from, to)
  if (text === good) throw new Error(`nothing to replace: ${from}`)
  return text
}
const ROUTE = '  - { path: GET /stamp, name: stamp, stamp: { text: good } }\n'
const withRoute = (line: string): string => edit(ROUTE, `${ROUTE}  - ${line}\n`)
const withSettings = (line: string): string => edit('  log: {', `  ${line}\n  log: {`)
const withSection = (lines: string): string => `${good}${lines}\n`
const STAMP = readFileSync(new URL('../fixtures/primary/stamp.ts', import.meta.url), 'utf8')
const plugin = (setup: string, top = '') =>
  `${top}\nexport default { schema: { type: 'object' }, setup(options) {\n${setup}\nreturn { answers: true } } }\n`

/** Each fault with the text of routes.yaml. */
const TEXTS: Readonly<Record<string, string>> = {
  'an empty file': '',
  'a list': '- one\n- two\n',
  'a bare word': 'hello',
  'a tab': edit('  log:', '\tlog:'),
  'an open bracket': edit('pipeline: [stamp, events, fault]', 'pipeline: [stamp, events, fault'),
  'an open quote': edit('text: good', "text: 'good"),
  'a key twice': edit('  log: { level: info }', '  log: { level: info }\n  log: { level: info }'),
  'bad indentation': edit('routes:\n', ' routes:\n'),
  'half of the file': good.slice(0, good.length / 2),
  'an alias to nothing': edit('text: good', 'text: *nowhere'),
  'an alias bomb': withSection(
    ['a: &a [x,x,x,x,x,x,x,x,x]', 'b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]']
      .concat(['c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]', 'd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]'])
      .concat(['e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]', 'f: [*e,*e,*e,*e,*e,*e,*e,*e,*e]'])
      .join('\n'),
  ),
  'an unknown section': withSection('rutes: []'),
  'an unknown key on a route': edit('name: stamp,', 'name: stamp, retrys: 3,'),
  'an unknown key in settings': withSettings('lissen: 1'),
  'an unset variable': withSettings('public_url: ${NOBODY_SETS_THIS}'),
  'an open variable': withSettings('public_url: ${NOBODY'),
  'a missing file of a secret': withSettings('public_url: ${file:/nowhere/at/all}'),
  'an include that matches nothing': edit('pipeline:', 'include: [nowhere/*.yaml]\npipeline:'),
  'an include that is text': edit('pipeline:', 'include: 7\npipeline:'),
  'a route twice': withRoute('{ path: GET /stamp, stamp: { text: again } }'),
  'a name twice': withRoute('{ path: GET /again, name: stamp, stamp: { text: again } }'),
  'a route without an answering stage': withRoute('{ path: GET /nobody }'),
  'a route without a path': withRoute('{ stamp: { text: x } }'),
  'a path without a method': withRoute('{ path: /alone, stamp: { text: x } }'),
  'an unknown method': withRoute('{ path: GRAB /it, stamp: { text: x } }'),
  'a path without a leading slash': withRoute('{ path: GET stamp, stamp: { text: x } }'),
  'an unclosed parameter': withRoute("{ path: 'GET /a/{id', stamp: { text: x } }"),
  'routes that are a map': edit(/routes:\n.*/s, 'routes: { a: 1 }\n'),
  'a route that is text': withRoute('hello'),
  'an unknown plugin in the pipeline': edit('[stamp,', '[stmp, stamp,'),
  'a plugin twice in the pipeline': edit('[stamp,', '[stamp, stamp,'),
  'a pipeline that is text': edit('[stamp, events, fault]', 'stamp'),
  'a plugin missing from the pipeline': edit('[stamp, events, fault]', '[events, fault]'),
  'an unknown upstream': withRoute('{ path: GET /up, upstream: nowhere }'),
  'an upstream without a url': withSection('upstreams: { up: { key: x } }'),
  'an upstream at no url': withSection("upstreams: { up: { url: 'not a url' } }"),
  'an upstream of another scheme': withSection("upstreams: { up: { url: 'ftp://host/' } }"),
  'an upstream with an unknown key': withSection(
    "upstreams: { up: { url: 'http://h/', tiemout: 1 } }",
  ),
  'an upstream scheme without a plugin': withSection("upstreams: { up: { url: 'nobody:' } }"),
  'options of the wrong type': edit('{ text: good }', '{ text: [1] }'),
  'options with an unknown key': edit('{ text: good }', '{ text: good, txet: 1 }'),
  'options that are missing': edit('{ text: good }', '{}'),
  'an invalid duration': withSettings('timeouts: { drain: soon }'),
  'an invalid size': withSettings('limits: { body: huge }'),
  'a negative number': withSettings('limits: { header_count: -1 }'),
  'workers that are a word': edit('${WORKERS:-auto}', 'many'),
  'an unknown log level': edit('level: info', 'level: loud'),
  'an unknown balance': withRoute('{ path: GET /b, stamp: { text: x }, balance: dice }'),
  'retries that are text': withRoute('{ path: GET /r, stamp: { text: x }, retries: many }'),
}
/** Each fault with the source of plugins/stamp.ts. */
const SOURCES: Readonly<Record<string, string>> = {
  'does not parse': 'export default {{{',
  'imports a missing file': `import './nowhere.ts'\n${STAMP}`,
  'imports a missing package': `import 'no-such-package-at-all'\n${STAMP}`,
  'exports nothing': 'export const stamp = 1\n',
  'exports a number': 'export default 7\n',
  'has no setup': 'export default { schema: {} }\n',
  'has no schema': 'export default { setup() { return {} } }\n',
  'has an invalid schema':
    "export default { schema: { type: 'nonsense' }, setup() { return {} } }\n",
  'throws when imported': plugin('', "throw new Error('at the top')"),
  'throws in setup': plugin("throw new Error('in setup')"),
  'rejects in setup':
    "export default { schema: {}, setup: async () => { throw new Error('late') } }\n",
  'answers nothing': 'export default { schema: {}, setup: () => ({}) }\n',
}

/** A seeded choice of the entries; all of them in the long form. */
const pickEntries = (all: Readonly<Record<string, string>>, count: number) =>
  shortOrLong(draw(Object.entries(all), count), Object.entries(all))

const primary = await startPrimary(t, { files: folderWith('good'), workers: 2 })
const stamp = async () => JSON.parse((await getAlone(`${primary.url}/stamp`)).text)

t.test(
  `invalid reload: reported with its position while the old version serves (SEED=${seed()})`,
  async t => {
    let isOver = false
    const answers: string[] = []
    const load = (async () => {
      while (!isOver) {
        const { status, text } = await getAlone(`${primary.url}/stamp`)
        answers.push(`${status} ${text.replace(/\d{2,}/, 'N')}`)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    })()
    const checkRefused = async (name: string) => {
      const report = await primary.ask('reload')
      t.match(report, { outcome: 'problems', version: 1, text: /still serving #1$/ }, name)
      const [problem] = report.problems ?? []
      t.match(problem, { code: /^[A-Z_]+$/, file: String, line: Number, column: Number }, name)
    }
    for (const [name, text] of pickEntries(TEXTS, 14)) {
      primary.write('routes.yaml', text)
      await checkRefused(name)
    }
    t.equal(await primary.metric('config_reload_ok'), 0)
    for (const [name, text] of pickEntries(SOURCES, 4)) {
      primary.write('plugins/stamp.ts', text)
      // After a faulty plugin: the watcher would make a valid configuration live in between.
      primary.write('routes.yaml', good)
      await checkRefused(`a plugin that ${name}`)
    }
    rmSync(join(primary.folder, 'routes.yaml'))
    await checkRefused('no file')
    primary.write('routes.yaml', good)
    primary.write('plugins/stamp.ts', STAMP)
    await eventually(async () => ((await primary.config()).failure ? undefined : true))
    isOver = true
    await load
    t.equal(await primary.metric('config_reload_ok'), 1)
    t.ok(answers.length > 20)
    t.same(new Set(answers), new Set(['200 {"text":"good","version":1,"pid":N}']))
  },
)

t.test('invalid reload: the log has the first 20 of many problems, and their number', async t => {
  const wrong = Array.from({ length: 40 }, (_, index) => `wrong_${index}: 1`)
  primary.write('routes.yaml', withSettings(wrong.join('\n  ')))
  t.equal((await primary.ask('reload')).problems?.length, 40)
  const logLine = await eventually(async () => primary.log().find(({ all }) => all === 40))
  t.match(logLine, { msg: 'a new version has problems', problems: { length: 20 } })
  primary.write('routes.yaml', good)
  t.match(await primary.ask('reload'), { outcome: /live|unchanged/ })
})

t.test('reloads: many valid and invalid ones leave no file open', async t => {
  const { workers } = await primary.config()
  const pids = [primary.child.pid, ...workers.map(({ pid }) => pid)]
  const count = () => pids.map(pid => readdirSync(`/proc/${pid}/fd`).length)
  const reloadOften = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      primary.write('routes.yaml', edit('text: good', 'text: [bad]'))
      t.match(await primary.ask('reload'), { outcome: 'problems' })
      primary.write('routes.yaml', edit('text: good', `text: good-${round}`))
      t.match(await primary.ask('reload'), { outcome: /live|unchanged/ })
    }
  }
  await reloadOften(2)
  const before = count()
  await reloadOften(shortOrLong(8, 1_000))
  for (const [index, now] of count().entries()) {
    t.ok(now <= (before[index] ?? 0) + 4, `${before[index]} files, then ${now}`)
  }
  primary.write('routes.yaml', good)
  await eventually(async () => ((await stamp()).text === 'good' ? true : undefined))
})

t.test('reload: if one worker cannot prepare the version, all keep the old one', async t => {
  const faultInWorker2 = (fault: string): string =>
    STAMP.replace('setup: (', `setup: (`).replace(
      '=> ({',
      `=> {\n  if (process.argv[2] === 'worker 2') ${fault}\n  return ({`,
    )
  const faultySource = (fault: string): string =>
    faultInWorker2(fault).replace(/\}\),\n\} satisfies/, '})\n  },\n} satisfies')
  const { version } = await primary.config()
  for (const fault of ["throw new Error('not in this one')", 'process.exit(1)']) {
    primary.write('plugins/stamp.ts', faultySource(fault))
    const report = await primary.ask('reload')
    t.match(report, { outcome: 'problems', version, text: `still serving #${version}` }, fault)
    // A worker that ended is being replaced, and has no version until it gets the serving one.
    const { workers } = await primary.state(
      view =>
        view.workers.filter(each => each.state === 'serving' && each.version > 0).length === 2,
    )
    t.same(
      workers.map(({ version }) => version),
      [version, version],
    )
    t.match(await stamp(), { text: 'good', version })
  }
  primary.write('plugins/stamp.ts', STAMP.replace('{ text,', '{ text: text.toUpperCase(),'))
  // The watcher of the files may have been first.
  t.match(await primary.ask('reload'), { outcome: /live|unchanged/, version: version + 1 })
  const { workers } = await primary.config()
  t.same(
    workers.map(({ version }) => version),
    [version + 1, version + 1],
    'all workers are on the new version when the reload is answered',
  )
  t.match(await stamp(), { text: 'GOOD', version: version + 1 })
})
