/** Caches compiled schemas beside the bundles, by hash of the schema. Compiling takes 150 ms of CPU
 *  time and loading ajv another 50 ms; loading the compiled code takes 20 ms. */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Format, ValidateFunction } from 'ajv'
import { writeAtomically } from '../disk.ts'
import { touch } from '../plugins/bundle-cache.ts'
import { loadScript, PREBUILT } from '../plugins/program.ts'

type Formats = Readonly<Record<string, Format>>
/** The export of a cached file. */
type CachedModule = (require: NodeJS.Require, module: object, formats: Formats) => ValidateFunction

// Packages are loaded on demand, since most starts find a compiled schema.
const require = createRequire(import.meta.url)

/** `own`: formats beside those of `ajv-formats`. Throws ajv's error for an invalid schema. */
export const compileSchema = (
  schema: object,
  own: Readonly<Record<string, (value: string) => boolean>>,
  folder?: string,
): ValidateFunction => {
  if (folder === undefined) return compile(schema, own)
  const name = nameOf(schema)
  const path = join(folder, name)
  return (
    readCached(join(PREBUILT, name), own) ?? readCached(path, own) ?? compile(schema, own, path)
  )
}

/** File name; it includes the package versions, since they affect the compiled code. */
const nameOf = (schema: object): string => {
  const versions = PACKAGES.map(name => (require(`${name}/package.json`) as Package).version)
  const hash = createHash('sha256').update(JSON.stringify([versions, PREFIX, SUFFIX, schema]))
  return `schema-${hash.digest('hex').slice(0, 16)}.cjs`
}
const PACKAGES = ['ajv', 'ajv-formats']
type Package = { readonly version: string }

/** The cached validator; undefined if there is none or it cannot be loaded. */
const readCached = (path: string, own: Formats): ValidateFunction | undefined => {
  try {
    const { fullFormats } = require('ajv-formats/dist/formats') as { fullFormats: Formats }
    const validate = (loadScript(path) as CachedModule)(
      require,
      { exports: {} },
      { ...fullFormats, ...own },
    )
    touch(path)
    return validate
  } catch {
    return undefined
  }
}

const compile = (schema: object, own: Formats, path?: string): ValidateFunction => {
  const { Ajv, _ } = require('ajv') as typeof import('ajv')
  const { default: ajvFormats } = require('ajv-formats') as typeof import('ajv-formats')
  const { default: codeOf } = require('ajv/dist/standalone') as Standalone
  const ajv = new Ajv({
    // Report all errors at once.
    allErrors: true,
    verbose: true,
    strictTypes: false,
    strictTuples: false,
    inlineRefs: false,
    // The code validates one document, so the time to compile it matters more than its speed.
    code: { optimize: false, source: path !== undefined, formats: _`formats` },
  })
  ajvFormats.default(ajv)
  for (const [name, format] of Object.entries(own)) ajv.addFormat(name, format)
  const validate = ajv.compile(schema)
  try {
    if (path) writeAtomically(path, `${PREFIX}${escaped(codeOf(ajv, validate))}${SUFFIX}`)
  } catch {
    // The folder is not writable; the next start compiles the schema again.
  }
  return validate
}
/** Code of one byte a character, since V8 keeps its text in memory. Such characters are only in
 *  texts. */
const escaped = (code: string): string =>
  code.replace(
    /[^\0-\xff]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
const [PREFIX, SUFFIX] = [
  'module.exports = (require, module, formats) => {',
  '\nreturn module.exports }\n',
]
type Standalone = typeof import('ajv/dist/standalone/index.js')
