/** Compiles a schema once for all starts: what ajv makes of it lies beside the bundles, named by the schema. Compiling costs
 *  150 ms of CPU and ajv itself 50 more, reading what it made 20. */
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Format, ValidateFunction } from 'ajv'
import { touch, whole } from '../kept.ts'

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
  const { version } = require('ajv/package.json') as { version: string }
  const { version: formats } = require('ajv-formats/package.json') as { version: string }
  const made = createHash('sha256').update(`${version} ${formats} ${JSON.stringify(schema)}`)
  return `schema-${made.digest('hex').slice(0, 16)}.cjs`
}

/** Undefined: there is none, or none that can be read. */
const recall = (path: string, own: Formats): ValidateFunction | undefined => {
  try {
    const { fullFormats } = require('ajv-formats/dist/formats') as { fullFormats: Formats }
    const kept = require(path) as Kept
    touch(path)
    return kept(require, { exports: {} }, { ...fullFormats, ...own })
  } catch {
    return undefined
  }
}

const compile = (schema: object, own: Formats, path: string | undefined): ValidateFunction => {
  const { Ajv, _ } = require('ajv') as typeof import('ajv')
  const { default: ajvFormats } = require('ajv-formats') as typeof import('ajv-formats')
  const { default: standalone } =
    require('ajv/dist/standalone') as typeof import('ajv/dist/standalone/index.js')
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
  if (path !== undefined) keep(path, standalone(ajv, validate))
  return validate
}

const keep = (path: string, code: string): void => {
  try {
    whole(
      path,
      `module.exports = (require, module, formats) => {${code}\nreturn module.exports }\n`,
    )
  } catch {
    // Then the next start compiles it too.
  }
}
