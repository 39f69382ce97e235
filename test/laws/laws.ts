/** The rules of the source tree, one row each. `npm run check` prints every breach;
 *  test/laws/laws.test.ts shows that each law finds its breaches. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { priceBreaches } from './catalogue/prices.ts'
import { type Breach, cyclesIn, importsOf, lineAt, type SourceFile } from './imports.ts'
import { bannedNames, GLOSSARY, habitBreaches, spreadLiterals, wideComments } from './language.ts'
import { findClientBreach, findLayerBreach, pluginFolders } from './layers.ts'
import { definitionBreaches } from './options/definitions.ts'
import { optionBreaches } from './options/readers.ts'
import { decisionBreaches, readmeBreaches } from './pages.ts'
import { privateBreaches, shapeBreaches } from './shapes.ts'
import { sizeBreaches } from './sizes.ts'
import { tableBreaches } from './tables.ts'

type Law = (files: readonly SourceFile[]) => Breach[]

// One of them, nodemailer, is for mail only: a mail client is outside of what the project is for.
// Another, jose, verifies signatures of identity providers: attacks on them are its subject.
const DEPENDENCIES = 20
/** Most lines of files that are read from top to bottom; shapes.ts bounds the other files. */
const LINES_OF: Readonly<Record<string, number>> = {
  'engine/plugin.ts': 120,
  // Ten of them: the body whose texts a translation copies; two: the caller of a request.
  'engine/request/contract.ts': 242,
}

// Words of AI gateways that the engine must not use: whole words, also inside camelCase; vendor
// names anywhere.
const VOCABULARY =
  /\b(?:models?|tokens?|tokeni[sz]e\w*|chats?|prompts?|completions?|llms?|gpt|embeddings?)\b/gi
const NAMES = /openai|anthropic|gemini|claude|vidu|recraft|midjourney/gi
// Descriptions and examples of options, which operators read: they were a JSON file before.
const TEXTS = 'engine/config/sections/'
// Headers and members of request bodies that only clients of vendors use.
const WIRE =
  /\bx-api-key\b|\bx-goog-[\w-]+|'api-key'|\bmj-api-secret\b|\bstream\?:|\.stream === true/g
// Names without meaning. Only declarations are checked: `data` and `info` are allowed as keys
// (settings.data, log.info).
const EMPTY = /^(?:utils?|helpers?|managers?|services?|common|misc|data|info|handler2)$/i
const EMPTY_END = /(?:Util|Utils|Helper|Helpers|Manager|Service|Impl|Info)$/
const DECLARED =
  /^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?(?:const|let|function\*?|class|interface|type)\s+(\w+)/gm

export const laws: Readonly<Record<string, Law>> = {
  layers: files => {
    const plugins = pluginFolders(files)
    return files.flatMap(file =>
      importsOf(file).flatMap(findMatches => {
        const message = findLayerBreach(findMatches, plugins)
        return message === undefined
          ? []
          : [{ path: findMatches.from, line: findMatches.line, message }]
      }),
    )
  },

  client: files => files.flatMap(file => importsOf(file).flatMap(findClientBreach)),

  cycles: files =>
    cyclesIn(files).map(cycle => ({
      path: cycle[0] ?? '',
      line: 1,
      message: `import cycle: ${[...cycle, cycle[0]].join(' -> ')}`,
    })),

  vocabulary: files =>
    within(files, 'engine/')
      .filter(({ path }) => !path.startsWith(TEXTS))
      .flatMap(file => [
        ...findMatches(
          file,
          split(file.text),
          VOCABULARY,
          word => `the engine must not use "${word}"`,
        ),
        ...findMatches(file, file.text, NAMES, word => `the engine must not use "${word}"`),
        ...findMatches(file, file.text, WIRE, word => `the engine must not use "${word}"`),
      ]),

  sizes: files => sizeBreaches(files).map(breach => ({ line: 1, ...breach })),

  shapes: shapeBreaches,

  privates: privateBreaches,

  readmes: readmeBreaches,

  decisions: decisionBreaches,

  habits: habitBreaches,

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
        : [
            at(
              file,
              1,
              'begin the file with a comment /** … */ of one sentence: what the file owns',
            ),
          ],
    ),

  names: files =>
    files.flatMap(file => [
      ...(/^[a-z0-9./-]+$/.test(file.path) ? [] : [at(file, 1, 'file names are kebab-case')]),
      ...emptyParts(file),
      ...[...file.text.matchAll(DECLARED)].flatMap(match => {
        const name = match[1] ?? ''
        const empty = EMPTY.test(name) || EMPTY_END.test(name)
        return empty
          ? [at(file, lineAt(file.text, match.index), `"${name}" has no meaning: name the thing`)]
          : []
      }),
    ]),

  state: files =>
    ['engine/', 'examples/', 'plugins/', 'program/']
      .flatMap(folder => within(files, folder))
      .flatMap(file =>
        findMatches(
          file,
          file.text,
          /^(?:export )?(?:let|var) \w+|^(?:export )?const \w+(?::[^=]+)? = new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\)/gm,
          text => `module-level state: "${text}"; move it into host.share or a closure`,
        ),
      ),

  tables: files => [...tableBreaches(files)],
  options: files => [...optionBreaches(files)],
  definitions: definitionBreaches,
  prices: files => priceBreaches(files),

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

  // Where no package is installed, npx runs what the registry has by that name: `tollgate` is not
  // ours there. CHANGELOG.md tells of the past, and tests run what they have made.
  registry: files =>
    files
      .filter(({ path }) => !path.startsWith('test/'))
      .flatMap(file =>
        findMatches(
          file,
          file.text,
          /\bnpx (?!--no-install )(?:-\S+ )*(?:tollgate|tap|node)\b/g,
          text => `"${text}" may run a package of strangers: write npx --no-install`,
        ),
      ),

  // npm ci refuses a lock file without the optional packages of every platform.
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

const OF_ALL_FILES = [
  'decisions',
  'dependencies',
  'glossary',
  'habits',
  'lock',
  'prices',
  'readmes',
  'registry',
]
const CODE = /\.(?:tsx?|[cm]js)$/
/** Every breach of every law. Most laws check code only. */
export const breachesIn = (files: readonly SourceFile[]): (Breach & { law: string })[] => {
  const code = files.filter(file => CODE.test(file.path))
  return Object.entries(laws).flatMap(([law, check]) =>
    check(OF_ALL_FILES.includes(law) ? files : code).map(breach => ({ law, ...breach })),
  )
}

export const sourceFiles = (root: string): SourceFile[] =>
  globSync(
    [
      'package.json',
      'package-lock.json',
      GLOSSARY,
      '{engine,examples,plugins,program,test}/**/*.{ts,tsx,cjs,mjs}',
      '{README.md,{deploy,docs,engine,examples,plugins,test}/**/*.{md,yaml,yml,txt,service}}',
      'deploy/Dockerfile',
      '{routes,models/*}.yaml',
    ],
    {
      cwd: root,
      exclude: ['test/fixtures/**'],
    },
  ).map(path => ({ path, text: readFileSync(`${root}/${path}`, 'utf8') }))

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

const findMatches = (
  file: SourceFile,
  text: string,
  pattern: RegExp,
  messageFor: (word: string) => string,
): Breach[] =>
  [...text.matchAll(pattern)].map(match =>
    at(file, lineAt(text, match.index), messageFor(match[0])),
  )

const emptyParts = (file: SourceFile): Breach[] => {
  // test/helpers/ may have that name.
  const parts = file.path.replace(/^test\/helpers\//, '').split(/[/.-]/)
  const empty = parts.find(part => EMPTY.test(part))
  return empty === undefined ? [] : [at(file, 1, `"${empty}" has no meaning: name the thing`)]
}

if (import.meta.main) {
  const breaches = breachesIn(sourceFiles(fileURLToPath(new URL('../..', import.meta.url))))
  for (const { path, line, law, message } of breaches)
    console.log(`${path}:${line}  ${law}  ${message}`)
  console.log(`${Object.keys(laws).length} laws, ${breaches.length} breaches`)
  process.exitCode = breaches.length === 0 ? 0 : 1
}
