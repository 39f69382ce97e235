/** Which files may read the options and sections of a plugin: its own files, and the shared folder
 *  that exports readers for them. */
import { lineAt, type SourceFile } from '../imports.ts'

interface Breach {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** Shared folders that export readers of a plugin's options or sections. */
const EXPORTED_BY: Readonly<Record<string, readonly string[]>> = {
  account: ['credentials'],
  actions: ['action-log'],
  alerts: ['webhooks'],
  auth: ['credentials'],
  embed: ['conversion'],
  errors: ['dialects'],
  identity: ['identity-provider'],
  meter: ['billing', 'ledger'],
  model: ['catalogue'],
  observe: ['calls'],
  realtime: ['conversion'],
  resources: ['catalogue'],
  scim: ['identity-provider'],
  tags: ['catalogue', 'tagging'],
  translate: ['conversion'],
  validate: ['schema'],
}

const PLUGIN = /^plugins\/([^/]+?)(?:\.ts|\/index\.ts)$/
const SECTIONS = /^ {2}sections: \{ ?(.*?) ?\},$/m
const OPTION = /\.?\b(?:option|has)\('(\w+)'\)/g
const SECTION = /\bsection(?:<.*?>)?\('(\w+)'\)|\bdocument\.(\w+)/g
/** Tests whether a plugin is in the pipeline. */
const IN_PIPELINE = /\bpipeline\.includes\('(\w+)'\)/g

/** Every read of an option or a section that belongs to another plugin. */
export const optionBreaches = (files: readonly SourceFile[]): readonly Breach[] => {
  const plugins = files.filter(
    ({ path, text }) => PLUGIN.test(path) && /^export default /m.test(text),
  )
  const names = new Set(plugins.map(({ path }) => nameOf(path)))
  const sections = new Map(
    plugins.flatMap(({ path, text }) => sectionsIn(text).map(name => [name, nameOf(path)])),
  )
  return files
    .filter(({ path }) => path.startsWith('plugins/'))
    .flatMap(file => [
      ...readsIn(file, OPTION, name => (names.has(name) ? name : undefined)),
      ...readsIn(file, IN_PIPELINE, name => (names.has(name) ? name : undefined)),
      ...readsIn(file, SECTION, name => sections.get(name)),
    ])
}

const nameOf = (path: string): string => PLUGIN.exec(path)?.[1] ?? ''
const sectionsIn = (text: string): readonly string[] =>
  [...(SECTIONS.exec(text)?.[1] ?? '').matchAll(/(\w+)(?::|,|$)/g)].map(([, name = '']) => name)

const readsIn = (
  { path, text }: SourceFile,
  pattern: RegExp,
  ownerOf: (name: string) => string | undefined,
): readonly Breach[] =>
  [...text.matchAll(pattern)].flatMap(({ 0: expression, 1: first, 2: second, index }) => {
    const owner = ownerOf(first ?? second ?? '')
    if (owner === undefined || mayRead(path, owner)) return []
    const message = `${expression} reads the plugin ${owner}: import its reader`
    return [{ path, line: lineAt(text, index), message }]
  })
const mayRead = (path: string, owner: string): boolean =>
  path === `plugins/${owner}.ts` ||
  [owner, ...(EXPORTED_BY[owner] ?? [])].some(folder => path.startsWith(`plugins/${folder}/`))
