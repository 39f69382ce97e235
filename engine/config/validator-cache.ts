/** Compiles a schema once for all starts: what ajv makes of it lies beside the bundles, named by the schema. Compiling costs
 *  150 ms of CPU and ajv itself 50 more, reading what it made 20. */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Format, ValidateFunction } from 'ajv'
import { touch, whole } from './plugins.ts'

type Formats = Readonly<Record<string, Format>>
/** What a kept file exports. */
type Kept = (require: NodeJS.Require, module: object, formats: Formats) => ValidateFunction

// Loaded when they are needed: most starts find what was compiled.
const require = createRequire(import.meta.url)

/** `own`: formats beside those of `ajv-formats`. Throws what ajv says of a schema that is none. */
export const compileSchema = (
  schema: object,
  own: Readonly<Record<string, (value: string) => boolean>>,
  folder?: string,
): ValidateFunction => {
  const path = folder === undefined ? undefined : join(folder, nameOf(schema))
  return (path === undefined ? undefined : recall(path, own)) ?? compile(schema, own, path)
}

/** Another ajv makes something else of it. */
const nameOf = (schema: object): string => {
  const versions = PACKAGES.map(name => (require(`${name}/package.json`) as Package).version)
  const made = createHash('sha256').update(JSON.stringify([versions, schema]))
  return `schema-${made.digest('hex').slice(0, 16)}.cjs`
}
const PACKAGES = ['ajv', 'ajv-formats']
type Package = { readonly version: string }

/** Undefined: there is none, or none that can be read. */
const recall = (path: string, own: Formats): ValidateFunction | undefined => {
  try {
    const { fullFormats } = require('ajv-formats/dist/formats') as { fullFormats: Formats }
    const kept = (require(path) as Kept)(require, { exports: {} }, { ...fullFormats, ...own })
    touch(path)
    return kept
  } catch {
    return undefined
  }
}

const compile = (schema: object, own: Formats, path: string | undefined): ValidateFunction => {
  const { Ajv, _ } = require('ajv') as typeof import('ajv')
  const { default: ajvFormats } = require('ajv-formats') as typeof import('ajv-formats')
  const { default: codeOf } = require('ajv/dist/standalone') as Standalone
  const ajv = new Ajv({
    // An operator's own input is told all its faults at once.
    allErrors: true,
    verbose: true,
    strictTypes: false,
    strictTuples: false,
    // It judges one text: what it takes to be made counts, not what it takes to run.
    code: { optimize: false, source: path !== undefined, formats: _`formats` },
  })
  ajvFormats.default(ajv)
  for (const [name, format] of Object.entries(own)) ajv.addFormat(name, format)
  const validate = ajv.compile(schema)
  try {
    if (path) whole(path, `${BEFORE}${codeOf(ajv, validate)}${BEHIND}`)
  } catch {
    // Then the next start compiles it too.
  }
  return validate
}
const [BEFORE, BEHIND] = [
  'module.exports = (require, module, formats) => {',
  '\nreturn module.exports }\n',
]
type Standalone = typeof import('ajv/dist/standalone/index.js')
