/** Bundling and importing of plugins, and the problems of broken ones. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import type { Bundle } from '../../../engine/config/compile/blueprint.ts'
import { type BundledPlugins, bundlePlugins } from '../../../engine/config/plugins/bundle.ts'
import { importPlugin, importPlugins } from '../../../engine/config/plugins/import.ts'
import type { Host } from '../../../engine/plugin.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startHttpUpstream } from '../../helpers/gateway/test-server.ts'

const PLUGIN = 'export default { schema: {}, setup: () => ({ answers: true }) }\n'
const host = {} as Host
/** Bundles `plugins/` of a folder with `files`. */
const bundleFiles = async (t: Test, files: Record<string, unknown>): Promise<BundledPlugins> => {
  t.testdir({ ...files, cache: {} } as Parameters<Test['testdir']>[0])
  return bundleAgain(t)
}
const bundleAgain = (t: Test): Promise<BundledPlugins> =>
  bundlePlugins(['plugins'], t.testdirName, join(t.testdirName, 'cache'))
const only = ([first]: readonly Bundle[]): Bundle => {
  if (!first) throw new Error('no bundle')
  return first
}
const place = ({ problems: [first] }: BundledPlugins) =>
  `${first?.file}:${first?.line}:${first?.column} ${first?.code}`

t.test(
  'plugin bundles: a plugin is a file with a default export directly in a plugin folder',
  async t => {
    const { bundles, problems } = await bundleFiles(t, {
      plugins: {
        'one.ts': PLUGIN,
        'two.js': PLUGIN,
        'three.mjs': PLUGIN,
        'words.ts': 'export const word = 1\n',
        'one.test.ts': 'throw new Error("tests are not plugins")\n',
        'one.d.ts': 'declare const x: number\nexport default x\n',
        '_draft.ts': 'not even {',
        '.hidden.ts': 'not even {',
        'notes.md': '#',
        folder: { 'inner.ts': PLUGIN },
      },
    })
    t.same(problems, [])
    t.same(
      bundles.map(({ name, file }) => `${name} ${file}`),
      ['one plugins/one.ts', 'three plugins/three.mjs', 'two plugins/two.js'],
    )
  },
)

t.test('plugin bundles: builds at the same time all end', async t => {
  // The small one ends first, and esbuild with it once: the large one then waited for ever.
  const code = Array.from({ length: 20_000 }, (_, at) => `export const v${at} = ${at}\n`).join('')
  t.testdir({
    small: { 'small.ts': PLUGIN },
    large: { 'large.ts': `${code}${PLUGIN}` },
    cache: {},
  })
  const cache = join(t.testdirName, 'cache')
  const builds = await Promise.all(
    ['small', 'large', 'small'].map(name => bundlePlugins([name], t.testdirName, cache)),
  )
  t.same(
    builds.map(({ bundles }) => bundles.map(({ name }) => name)),
    [['small'], ['large'], ['small']],
  )
})

t.test('plugin bundles: a missing folder has no plugins', async t => {
  t.same((await bundleFiles(t, {})).bundles, [])
  t.same((await bundleFiles(t, { plugins: 'a file' })).bundles, [], 'a file is not a folder')
})

t.test(
  'plugin bundles: contain imported files, packages, CommonJS and JSON, but no Node modules',
  async t => {
    const { bundles, problems } = await bundleFiles(t, {
      plugins: {
        'stamp.ts': `
        import { createHash } from 'node:crypto'
        import commonjs from 'old-package'
        import { word } from 'new-package'
        import { inner } from './inner/inner.ts'
        import table from './inner/table.json' with { type: 'json' }
        interface Options { readonly text: string }
        export default {
          schema: {},
          setup: (options: Options) => ({
            explain: () => [options.text, inner(1), table.a, word, commonjs(), createHash('md5').update('').digest('hex').length],
          }),
        }`,
        inner: {
          'inner.ts': 'export const inner = (x: number): string => `inner ${x}`\n',
          'table.json': '{"a": 5}',
        },
      },
      node_modules: {
        'old-package': {
          'package.json': '{"main":"index.js"}',
          'index.js':
            "const path = require('path')\nmodule.exports = () => path.basename('/a/old')\n",
        },
        'new-package': {
          'package.json': '{"type":"module","exports":"./main.js"}',
          'main.js': "export const word = 'new'\n",
        },
      },
    })
    t.same(problems, [])
    const plugin = await importPlugin(only(bundles))
    const stage = await plugin.setup({ text: 'hi' }, host)
    t.same(stage.explain?.({} as never), ['hi', 'inner 1', 5, 'new', 'old', 32])
  },
)

t.test(
  'plugin bundles: unchanged content is not bundled again, changed content gets a new name',
  async t => {
    const before = await bundleFiles(t, {
      plugins: {
        'one.ts':
          "import { text } from './shared.ts'\nexport default { schema: {}, default: text, setup: () => ({}) }\n",
        'two.ts': PLUGIN,
        'shared.ts': "export const text = 'before'\n",
      },
    })
    const cache = join(t.testdirName, 'cache')
    const files = readdirSync(cache)
    t.same(await bundleAgain(t), before)
    t.same(readdirSync(cache), files, 'nothing was written')
    writeFileSync(join(t.testdirName, 'plugins/shared.ts'), "export const text = 'after'\n")
    const after = await bundleAgain(t)
    t.not(after.bundles[0]?.bundle, before.bundles[0]?.bundle)
    t.same(after.bundles[1], before.bundles[1], 'the other plugin is the same')
    const texts = await Promise.all(
      [before, after].map(({ bundles }) => importPlugin(only(bundles))),
    )
    t.match(texts, [{ default: 'before' }, { default: 'after' }], 'both versions can be used')
    writeFileSync(join(t.testdirName, 'plugins/shared.ts'), "export const text = 'before'\n")
    t.same(
      (await bundleAgain(t)).bundles,
      before.bundles,
      'the earlier content has its earlier name',
    )
  },
)

t.test('plugin bundles: written atomically, and again after removal', async t => {
  const { bundles } = await bundleFiles(t, { plugins: { 'one.ts': PLUGIN } })
  const path = bundles[0]?.bundle ?? ''
  t.match(basename(path), /^one-[0-9A-Z]{8}\.mjs$/)
  const text = readFileSync(path, 'utf8')
  renameSync(path, `${path}.away`)
  t.same((await bundleAgain(t)).bundles, bundles)
  t.equal(readFileSync(path, 'utf8'), text)
})

t.test('plugin bundles: links are followed, and their target counts', async t => {
  await bundleFiles(t, {
    plugins: {},
    first: { 'one.ts': PLUGIN },
    second: { 'one.ts': PLUGIN.replace('true', 'false') },
  })
  const link = join(t.testdirName, 'plugins/one.ts')
  symlinkSync('../first/one.ts', link)
  const before = await bundleAgain(t)
  symlinkSync('../second/one.ts', `${link}.new`)
  renameSync(`${link}.new`, link)
  const after = await bundleAgain(t)
  t.equal(after.bundles.length, 1)
  t.not(after.bundles[0]?.hash, before.bundles[0]?.hash)
})

t.test('plugin bundles: only regular files are read', async t => {
  await bundleFiles(t, { plugins: {} })
  execFileSync('mkfifo', [join(t.testdirName, 'plugins/pipe.ts')])
  symlinkSync('nowhere.ts', join(t.testdirName, 'plugins/dangling.ts'))
  symlinkSync('loop.ts', join(t.testdirName, 'plugins/loop.ts'))
  t.same(await bundleAgain(t), { bundles: [], brokenNames: [], problems: [], inputs: [] })
})

t.test(
  'plugin bundles: a syntax error is a problem at its line, other plugins are bundled',
  async t => {
    const bundleResult = await bundleFiles(t, {
      plugins: {
        'bad.ts': 'const a: number = 1\n\nconst ü = "€"; let b = = 2\n',
        'good.ts': PLUGIN,
      },
    })
    t.equal(place(bundleResult), 'plugins/bad.ts:3:24 PLUGIN_SYNTAX')
    t.same(bundleResult.brokenNames, ['bad'])
    t.same(
      bundleResult.bundles.map(({ name }) => name),
      ['good'],
    )
    t.ok(
      bundleResult.inputs.includes(join(t.testdirName, 'plugins/bad.ts')),
      'it is watched for a fix',
    )
  },
)

t.test('plugin bundles: an error in an imported file is placed in that file', async t => {
  const bundleResult = await bundleFiles(t, {
    plugins: { 'bad.ts': "import './inner/deep.ts'\n", inner: { 'deep.ts': 'export const = 1\n' } },
  })
  t.equal(place(bundleResult), 'plugins/inner/deep.ts:1:14 PLUGIN_SYNTAX')
  t.ok(bundleResult.inputs.includes(join(t.testdirName, 'plugins/inner/deep.ts')))
})

t.test('plugin bundles: an unresolved import is a problem at its line', async t => {
  const bundleResult = await bundleFiles(t, {
    plugins: { 'bad.ts': "\nimport x from 'no-such-package'\nexport default x\n" },
  })
  t.equal(place(bundleResult), 'plugins/bad.ts:2:15 PLUGIN_IMPORT')
})

t.test('plugin bundles: names are unique, lower-case and no keys of routes', async t => {
  const bundleResult = await bundleFiles(t, {
    plugins: { 'Stamp.ts': PLUGIN, 'rewrite.ts': PLUGIN, 'a.ts': PLUGIN, 'a.js': PLUGIN },
  })
  t.same(
    bundleResult.problems.map(({ file, code }) => `${file} ${code}`),
    ['plugins/Stamp.ts PLUGIN_NAME', 'plugins/a.ts PLUGIN_NAME', 'plugins/rewrite.ts PLUGIN_NAME'],
  )
})

t.test('plugin import: stacks show the line of the TypeScript file', async t => {
  const { bundles } = await bundleFiles(t, {
    plugins: {
      'stamp.ts':
        "interface Long {\n  a: string\n}\n\nexport default {\n  schema: {},\n  setup() {\n    throw new Error('here')\n  },\n}\n",
    },
  })
  const plugin = await importPlugin(only(bundles))
  const error = await Promise.try(() => plugin.setup({}, host)).catch((error: Error) => error)
  t.match((error as Error).stack, /plugins\/stamp\.ts:8:11/)
})

t.test('plugin import: an import or setup that does not finish is a problem', async t => {
  const { bundles } = await bundleFiles(t, {
    plugins: { 'never.ts': `await new Promise(() => {})\n${PLUGIN}` },
  })
  await t.rejects(importPlugin(only(bundles), 50), {
    message: 'did not finish in 50 ms',
  })
})

t.test('plugin import: reports each file before its code runs', async t => {
  const { bundles, inputs } = await bundleFiles(t, {
    plugins: { 'one.ts': PLUGIN, 'two.ts': PLUGIN },
  })
  const reportedFiles: string[] = []
  const { plugins } = await importPlugins(bundles, t.testdirName, inputs, file =>
    reportedFiles.push(file),
  )
  t.same(reportedFiles, ['plugins/one.ts', 'plugins/two.ts'])
  await plugins.get('one')?.setup({}, host)
  t.equal(reportedFiles.at(-1), 'plugins/one.ts')
})

t.test('plugin import: any thrown value becomes a problem', async t => {
  const { bundles, inputs } = await bundleFiles(t, {
    plugins: { 'odd.ts': 'throw undefined\nexport default {}\n' },
  })
  const { problems } = await importPlugins(bundles, t.testdirName, inputs, () => {})
  t.match(problems, [{ code: 'PLUGIN_THREW', file: 'plugins/odd.ts', line: 1 }])
})

t.test('plugin import: a timer at the top level of a module is a problem', async t => {
  const { bundles, inputs } = await bundleFiles(t, {
    plugins: {
      'own.ts': `const flush = () => {}\nsetInterval(flush, 1_000).unref()\n${PLUGIN}`,
      'deep.ts': `import './lib/later.ts'\n${PLUGIN}`,
      'good.ts': 'export default { schema: {}, setup: () => void setTimeout(() => {}, 1) }\n',
      lib: { 'later.ts': 'export const later = () => setTimeout(() => {}, 1)\nlater()\n' },
    },
  })
  const [before, beforeInterval] = [setTimeout, setInterval]
  const { plugins, problems } = await importPlugins(bundles, t.testdirName, inputs, () => {})
  t.same(problems.map(({ code, file, line }) => `${code} ${file}:${line}`).toSorted(), [
    'PLUGIN_TIMER plugins/lib/later.ts:1',
    'PLUGIN_TIMER plugins/own.ts:2',
  ])
  await plugins.get('good')?.setup({}, host)
  t.same([setTimeout, setInterval], [before, beforeInterval], 'the timers of Node are back')
})

t.test('plugin import: a refused timer has ended, and is refused at each import', async t => {
  const { bundles, inputs } = await bundleFiles(t, {
    plugins: {
      'own.ts': `setInterval(() => process.emit('refused-timer'), 1)\n${PLUGIN}`,
    },
  })
  let calls = 0
  const count = () => void calls++
  const emitter: NodeJS.EventEmitter = process
  emitter.on('refused-timer', count)
  t.teardown(() => emitter.off('refused-timer', count))
  for (const round of [1, 2, 3]) {
    const { problems } = await importPlugins(bundles, t.testdirName, inputs, () => {})
    t.match(problems, [{ code: 'PLUGIN_TIMER', file: 'plugins/own.ts', line: 1 }], `${round}`)
  }
  // A timer of the same length that starts later fires later.
  await new Promise(resolve => setTimeout(resolve, 5))
  t.equal(calls, 0)
})

/** By what they start: the type of the resource in Node, and the code. */
const STARTS: Readonly<Record<string, readonly [type: string, code: string]>> = {
  'a server': ['TCPSERVERWRAP', "createServer().listen({ port: 0, host: '127.0.0.1' })"],
  'a UDP socket': ['UDPWRAP', "createSocket('udp4').bind(0, '127.0.0.1')"],
  'a child process': [
    'PROCESSWRAP',
    "spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])",
  ],
  'a worker thread': ['WORKER', "new Worker('setInterval(() => {}, 1000)', { eval: true })"],
  'a file watcher': ['FSEVENTWRAP', "watch('/')"],
  'a timer': ['Timeout', 'repeat(() => {}, 1)'],
}
const IMPORTS = `
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { watch } from 'node:fs'
import { createServer } from 'node:net'
import { setInterval as repeat } from 'node:timers'
import { Worker } from 'node:worker_threads'
`.trim()
const WAYS: Readonly<Record<string, (code: string) => string>> = {
  'at once': code => code,
  'in a promise': code => `Promise.resolve().then(() => ${code})`,
  'after a wait': code => `await new Promise(resolve => setImmediate(resolve))\n${code}`,
}
for (const [what, [type, code]] of Object.entries(STARTS))
  t.test(`plugin import: a module that starts ${what} is refused, and it ends`, async t => {
    for (const [way, wrap] of Object.entries(WAYS)) {
      const { bundles, inputs } = await bundleFiles(t, {
        plugins: { 'own.ts': `${IMPORTS}\n${wrap(code)}\n${PLUGIN}` },
      })
      const count = () => process.getActiveResourcesInfo().filter(each => each === type).length
      const before = count()
      for (const round of [1, 2]) {
        const { problems } = await importPlugins(bundles, t.testdirName, inputs, () => {})
        t.match(problems, [{ code: 'PLUGIN_TIMER', file: 'plugins/own.ts' }], `${way}, ${round}`)
        t.match(problems[0]?.message, new RegExp(`starts ${what} while`))
      }
      await eventually(() => count() <= before)
    }
  })

t.test('plugin import: a module may fetch, and close what it opened', async t => {
  const url = await startHttpUpstream(t, (_, response) => response.end('{"a":1}'))
  const { bundles, inputs } = await bundleFiles(t, {
    plugins: {
      'fetches.ts': `export const { a } = await (await fetch('${url}', { signal: AbortSignal.timeout(60_000) })).json()\n${PLUGIN}`,
      'closes.ts': `import { createSocket } from 'node:dgram'\ncreateSocket('udp4').close()\n${PLUGIN}`,
    },
  })
  const { plugins, problems } = await importPlugins(bundles, t.testdirName, inputs, () => {})
  t.same(
    problems.map(({ code, message }) => [code, message]),
    [],
  )
  t.same([...plugins.keys()].toSorted(), ['closes', 'fetches'])
})
