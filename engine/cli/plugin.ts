/** `tollgate plugin new NAME`: writes a working plugin and its test as a starting point. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { formatPath } from '../config/format-path.ts'
import { ownPluginFolders } from '../config/plugins/plugin-folders.ts'
import { PROGRAM, shippedNames } from '../config/plugins/program.ts'
import { fileSource, read } from '../config/read.ts'
import { RESERVED_NAMES } from '../config/schema.ts'
import { type Command, configOf, type SingleCommand } from './command.ts'
import { UsageError } from './kit.ts'

const CONTRACT = join(PROGRAM, 'engine/plugin.ts')

const create: SingleCommand = {
  arguments: 'NAME',
  summary: 'Writes a small working plugin and its test.',
  example: 'plugin new stamp',
  async run(args, terminal) {
    const [name = ''] = args.positionals
    if (!/^[a-z][a-z0-9-]*$/.test(name) || [...RESERVED_NAMES].includes(name))
      throw new UsageError(
        `"${name}" is not a valid plugin name: use lower-case letters, digits and -, begin with a letter, and no key of routes`,
      )
    if (shippedNames().has(name))
      throw new UsageError(
        `"${name}" is the name of a shipped plugin or of code that they share, which yours would replace: use another name`,
      )
    const { document, root } = read(configOf(args, terminal), fileSource(terminal.env))
    const file = resolve(root, ownPluginFolders(document)[0] ?? 'plugins', `${name}.ts`)
    const test = resolve(root, 'test/plugins', `${name}.test.ts`)
    const existing = [file, test].find(path => existsSync(path))
    if (existing) throw new UsageError(`${existing} exists; it was not overwritten`)
    // In the repository of the program a plugin imports its files, elsewhere the package.
    const isInside = !isAbsolute(formatPath(PROGRAM, root))
    const contract = (from: string) => (isInside ? importPath(from, CONTRACT) : 'tollgate/plugin')
    write(file, source(name, contract(file)))
    const path = importPath(test, file)
    const testLines = isInside
      ? testSource(name, path, contract(test))
      : outsideTestSource(name, path)
    write(test, testLines)
    const paths = { plugin: relative('', file), test: relative('', test) }
    const command = `${isInside ? 'npx --no-install tap' : testRunner(root)} ${paths.test}`
    const isModule = isInside || isModuleFolder(root)
    if (args.values.json) terminal.print(JSON.stringify(paths))
    else
      terminal.print(
        `${paths.plugin} and ${paths.test} written\n\n${nextSteps(name, command, isModule)}`,
      )
    return 0
  },
}

export default {
  summary: 'Creates plugins.',
  subcommands: { new: create },
} satisfies Command

const write = (file: string, lines: readonly string[]): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${lines.join('\n')}\n`)
}
const importPath = (from: string, to: string): string => {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}
/** Whether Node runs the test as an ES module; `npm init` makes a package of CommonJS. */
const isModuleFolder = (root: string): boolean => {
  try {
    const { type } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8'))
    return type !== 'commonjs'
  } catch {
    return true
  }
}
/** On the runtime that the package brings, where one is installed in the folder. */
const testRunner = (root: string): string =>
  existsSync(join(root, 'node_modules/.bin/node')) ? 'npx --no-install node --test' : 'node --test'
const nextSteps = (name: string, testCommand: string, isModule: boolean): string =>
  [
    ...(isModule ? [] : ['Use ES modules:     npm pkg set type=module']),
    `Run its test:       ${testCommand}`,
    `Add it to:          pipeline: [errors, ${name}, …]`,
    `Use it on a route:  ${name}: hello`,
  ].join('\n')

const source = (name: string, contract: string): string[] => [
  `/** Adds the header x-${name} to every reply of a route. */`,
  `import type { Plugin } from '${contract}'`,
  '',
  'export default {',
  `  schema: { description: 'Text of the header x-${name}.', type: 'string', examples: ['hello'] },`,
  '  setup: text => ({',
  '    async handle(exchange, next) {',
  '      await next()',
  `      exchange.reply.headers['x-${name}'] = text`,
  '    },',
  `    explain: () => ({ adds: 'x-${name}: ' + text }),`,
  '  }),',
  '} satisfies Plugin<string>',
]

const testSource = (name: string, plugin: string, contract: string): string[] => [
  `/** ${name}: adds its header to the reply. */`,
  "import t from 'tap'",
  `import type { Exchange } from '${contract}'`,
  `import plugin from '${plugin}'`,
  '',
  `t.test('${name}: adds the header x-${name} after the reply began', async t => {`,
  "  const stage = plugin.setup('hello')",
  '  const reply = { headers: {} }',
  '  await stage.handle({ reply } as Exchange, async () => {',
  "    t.same(reply.headers, {}, 'no header before the reply')",
  '  })',
  `  t.same(reply.headers, { 'x-${name}': 'hello' })`,
  '})',
]

const outsideTestSource = (name: string, plugin: string): string[] => [
  `/** ${name}: adds its header to the reply. */`,
  "import assert from 'node:assert/strict'",
  "import test from 'node:test'",
  "import { fakeAttempt, fakeExchange } from 'tollgate/testing'",
  `import plugin from '${plugin}'`,
  '',
  `test('${name}: adds the header x-${name} after the reply began', async () => {`,
  "  const stage = plugin.setup('hello')",
  '  const exchange = fakeExchange()',
  "  const attempt = fakeAttempt(exchange, { upstream: 'up', name: '' })",
  '  await stage.handle(exchange, async () => {',
  '    await attempt.next()',
  `    assert.equal(exchange.reply.headers['x-${name}'], undefined)`,
  '  })',
  `  assert.equal(exchange.reply.headers['x-${name}'], 'hello')`,
  '})',
]
