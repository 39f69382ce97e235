/** The rules of the source tree, one row each. `npm run check` prints every breach; test/laws/laws.test.ts shows that each law bites. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { circlesIn, importsOf, lineAt, type SourceFile } from './imports.ts'
import { bannedNames, GLOSSARY, spreadLiterals, wideComments } from './language.ts'
import { pluginFolders, wallBroken } from './layers.ts'
import { optionBreaches } from './options.ts'
import { shapeBreaches } from './shapes.ts'
import { sizeBreaches } from './sizes.ts'
import { tableBreaches } from './tables.ts'

export interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}
type Law = (files: readonly SourceFile[]) => Breach[]

const DEPENDENCIES = 20
/** Pages that are read from top to bottom. How much other files hold is bounded by their shape. */
const LINES_OF: Readonly<Record<string, number>> = { 'engine/plugin.ts': 230 }

// Words of the trade the engine must not know: whole words, also inside camelCase, and names anywhere.
const TRADE =
  /\b(?:models?|tokens?|tokeni[sz]e\w*|chats?|prompts?|completions?|llms?|gpt|embeddings?)\b/gi
const NAMES = /openai|anthropic|gemini|claude|vidu|recraft|midjourney/gi
// Headers and members of bodies that only vendors' clients use.
const WIRE =
  /\bx-api-key\b|\bx-goog-[\w-]+|'api-key'|\bmj-api-secret\b|\bstream\?:|\.stream === true/g
// Names that say nothing. `data` and `info` stay allowed as keys (settings.data, log.info): declarations are meant.
const EMPTY = /^(?:utils?|helpers?|managers?|services?|common|misc|data|info|handler2)$/i
const EMPTY_END = /(?:Util|Utils|Helper|Helpers|Manager|Service|Impl|Info)$/
const DECLARED =
  /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type)\s+(\w+)/gm

export const laws: Readonly<Record<string, Law>> = {
  walls: files => {
    const plugins = pluginFolders(files)
    return files.flatMap(file =>
      importsOf(file).flatMap(found => {
        const message = wallBroken(found, plugins)
        return message === undefined ? [] : [{ path: found.from, line: found.line, message }]
      }),
    )
  },

  circles: files =>
    circlesIn(files).map(circle => ({
      path: circle[0] ?? '',
      line: 1,
      message: `import circle: ${[...circle, circle[0]].join(' -> ')}`,
    })),

  trade: files =>
    within(files, 'engine/').flatMap(file => [
      ...found(file, split(file.text), TRADE, word => `the engine knows no "${word}"`),
      ...found(file, file.text, NAMES, word => `the engine knows no "${word}"`),
      ...found(file, file.text, WIRE, word => `the engine knows no "${word}"`),
    ]),

  sizes: files => sizeBreaches(files).map(breach => ({ line: 1, ...breach })),

  shapes: shapeBreaches,

  glossary: bannedNames,

  comments: wideComments,

  spreads: spreadLiterals,

  length: files =>
    files.flatMap(file => {
      const most = LINES_OF[file.path] ?? Number.POSITIVE_INFINITY
      const lines = linesOf(file)
      return lines <= most ? [] : [at(file, lines, `${lines} lines; at most ${most} in this file`)]
    }),

  opening: files =>
    files.flatMap(file =>
      /^(?:#!.*\n)?\/\*\* \S/.test(file.text)
        ? []
        : [at(file, 1, 'open the file with /** what it owns, in one sentence */')],
    ),

  names: files =>
    files.flatMap(file => [
      ...(/^[a-z0-9./-]+$/.test(file.path) ? [] : [at(file, 1, 'file names are kebab-case')]),
      ...emptyParts(file),
      ...[...file.text.matchAll(DECLARED)].flatMap(match => {
        const name = match[1] ?? ''
        const empty = EMPTY.test(name) || EMPTY_END.test(name)
        return empty ? [at(file, lineAt(file.text, match.index), `"${name}" says nothing`)] : []
      }),
    ]),

  state: files =>
    [...within(files, 'engine/'), ...within(files, 'plugins/')].flatMap(file =>
      found(
        file,
        file.text,
        /^(?:export )?(?:let|var) \w+|^(?:export )?const \w+(?::[^=]+)? = new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\)/gm,
        text => `state of a module: "${text}"; let host.share or a closure hold it`,
      ),
    ),

  tables: files => [...tableBreaches(files)],
  options: files => [...optionBreaches(files)],

  dependencies: files => {
    const manifest = files.find(file => file.path === 'package.json')
    const names = Object.keys(JSON.parse(manifest?.text ?? '{}').dependencies ?? {})
    return names.length <= DEPENDENCIES
      ? []
      : [
          {
            path: 'package.json',
            line: 1,
            message: `${names.length} runtime dependencies; ${DEPENDENCIES} at most`,
          },
        ]
  },

  // npm ci refuses a lock that does not name the optional packages of every platform.
  lock: files => {
    const lock = files.find(file => file.path === 'package-lock.json')
    const packages: Packages = JSON.parse(lock?.text ?? '{}').packages ?? {}
    return Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies).flatMap(name => {
        const missing = !Object.keys(packages).some(path => path.endsWith(`node_modules/${name}`))
        return missing
          ? [{ path: 'package-lock.json', line: 1, message: `${name} is missing` }]
          : []
      }),
    )
  },
}
type Packages = Record<string, { optionalDependencies?: Record<string, string> }>

const OF_MANIFESTS = ['dependencies', 'lock', 'glossary']
const CODE = /\.(?:ts|cjs)$/
/** Every breach of every law; laws about code see code only. */
export const breachesIn = (files: readonly SourceFile[]): (Breach & { law: string })[] => {
  const code = files.filter(file => CODE.test(file.path))
  return Object.entries(laws).flatMap(([law, check]) =>
    check(OF_MANIFESTS.includes(law) ? files : code).map(breach => ({ law, ...breach })),
  )
}

export const sourceFiles = (root: string): SourceFile[] =>
  globSync(['package.json', 'package-lock.json', GLOSSARY, '{engine,plugins,test}/**/*.{ts,cjs}'], {
    cwd: root,
    exclude: ['test/fixtures/**'],
  }).map(path => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))

const within = (files: readonly SourceFile[], folder: string): SourceFile[] =>
  files.filter(file => file.path.startsWith(folder))
const linesOf = (file: SourceFile): number => file.text.trimEnd().split('\n').length
const at = (file: SourceFile, line: number, message: string): Breach => ({
  path: file.path,
  line,
  message,
})
// `accessToken` and `TOKEN_SECONDS` hide a word from \b.
const split = (text: string): string =>
  text.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ')

const found = (
  file: SourceFile,
  text: string,
  pattern: RegExp,
  say: (word: string) => string,
): Breach[] =>
  [...text.matchAll(pattern)].map(match => at(file, lineAt(text, match.index), say(match[0])))

const emptyParts = (file: SourceFile): Breach[] => {
  // "helper" is a fair name under test/.
  const parts = file.path.replace(/^test\/helpers\//, '').split(/[/.-]/)
  const empty = parts.find(part => EMPTY.test(part))
  return empty === undefined ? [] : [at(file, 1, `"${empty}" says nothing`)]
}

if (import.meta.main) {
  const breaches = breachesIn(sourceFiles(fileURLToPath(new URL('../..', import.meta.url))))
  for (const { path, line, law, message } of breaches)
    console.log(`${path}:${line}  ${law}  ${message}`)
  console.log(`${Object.keys(laws).length} laws, ${breaches.length} breaches`)
  process.exitCode = breaches.length === 0 ? 0 : 1
}
