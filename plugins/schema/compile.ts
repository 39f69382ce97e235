/** Compiles the JSON Schemas of request bodies, once per content for all routes and reloads. */
import { createHash } from 'node:crypto'
import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Ajv } from 'ajv/dist/ajv.js'
import addFormats from 'ajv-formats'
import { errors } from '../../engine/errors.ts'
import { LARGE, largeTurn } from '../../engine/kit.ts'
import type { Exchange, Fault, HostBase, Json } from '../../engine/plugin.ts'
import { missingBounds } from './bounds.ts'
import { maxTotal } from './max-total.ts'
import { notAbove } from './not-above.ts'
import { IN_OUTLINE, outlineSchema, wholeKeyword } from './outlines.ts'
import { matcherOf } from './patterns.ts'
import { textLength } from './text-length.ts'
import { validationFault } from './validation-fault.ts'

const fault = errors({
  SCHEMA_UNREADABLE: [500, 'cannot read the schema %s: %s', { expose: true }],
  SCHEMA_NOT_JSON: [500, '%s is not JSON: %s', { expose: true }],
  SCHEMA_REFUSED: [500, '%s is not a usable JSON Schema: %s', { expose: true }],
})

/** Validates bodies. Takes bounded time for bounded bodies, whatever the schema. */
export interface Validator {
  validate(body: Json): Fault | undefined
  /** Whether a body with this outline is valid. False: its texts decide. */
  accepts(outline: Json): boolean
}
/** The body of a request is parsed by now, and a schema is compiled at its first body: both in one
 *  turn of the event loop would take long where the body is large. */
export const turnAfterParse = async ({
  headers,
}: Pick<Exchange['request'], 'headers'>): Promise<void> => {
  if (Number(headers['content-length'] ?? 0) >= LARGE) await largeTurn()
}
/** Validates the body of a request; parses its texts only if they decide. */
export const validateRequest = async (
  validator: Validator,
  request: Pick<Exchange['request'], 'outline' | 'json' | 'headers'>,
): Promise<Fault | undefined> => {
  const outline = await request.outline()
  await turnAfterParse(request)
  return validator.accepts(outline) ? undefined : validator.validate(await request.json())
}

type SharedValues = Pick<HostBase, 'share' | 'memo'> & {
  readonly config: Pick<HostBase['config'], 'isTrial'>
}

/** The schema in a file beside routes.yaml. A text that has not changed is not parsed again. */
export const fileValidator = (
  path: string,
  host: SharedValues & Pick<HostBase, 'file'>,
): Validator => {
  const text = readFile(path, host)
  return host.share(`schema file ${path}`, text, () => validatorOf(parse(path, text), path, host))
}
export const readSchema = (path: string, host: Pick<HostBase, 'file'>): Json =>
  parse(path, readFile(path, host))
const readFile = (path: string, host: Pick<HostBase, 'file'>): string => {
  try {
    return host.file(path)
  } catch (error) {
    throw fault('SCHEMA_UNREADABLE', [path, messageOf(error)])
  }
}

/** `where`: the name of the schema in error messages. Throws for an unusable schema where a version
 *  is tried out. It is compiled when its first body arrives. */
export const validatorOf = (schema: Json, where: string, host: SharedValues): Validator => {
  const content = createHash('sha256').update(JSON.stringify(schema)).digest('hex')
  return host.share(`schema ${content}`, '', () => {
    // All schemas together take 0.3 s, and 5 MiB in each worker. A worker serves few of its routes.
    const compileOnce = once(() => compile(schema, where, host))
    if (host.config.isTrial)
      host.memo(`usable schema ${content} ${CODE}`, () => compileOnce() && 'usable')
    return {
      validate: body => compileOnce().validate(body),
      accepts: outline => compileOnce().accepts(outline),
    }
  })
}
/** Changes with this code: bundles are named by their content. */
const CODE = import.meta.url
const once = <T extends object>(make: () => T): (() => T) => {
  let value: T | undefined
  return () => {
    value ??= make()
    return value
  }
}

const parse = (path: string, text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw fault('SCHEMA_NOT_JSON', [path, messageOf(error)])
  }
}
const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

const compile = (schema: Json, where: string, host: SharedValues): Validator => {
  const compiler = compilerFor(schema, host)
  try {
    const marked = outlineSchema(schema)
    const compiled = (marked ?? schema) as object | boolean
    const validate: ValidateFunction = compiler.compile(compiled)
    const [first] = missingBounds(schema)
    if (first !== undefined) throw new Error(first)
    // ajv caches every schema; without removal a gateway that reloads for months would leak.
    if (typeof compiled === 'object') compiler.removeSchema(compiled)
    return {
      validate: body =>
        validate(body) ? undefined : validationFault(validate.errors ?? [], schema, body),
      accepts: outline => marked !== undefined && validate.call(IN_OUTLINE, outline),
    }
  } catch (error) {
    throw fault('SCHEMA_REFUSED', [where, messageOf(error)])
  }
}

/** The compiler of a draft, shared: creating one takes 15 ms, as it compiles the meta-schema. */
const compilerFor = (schema: Json, host: SharedValues): Ajv => {
  const draft = String((schema as { readonly $schema?: Json } | null)?.$schema ?? '')
  return draft.includes('draft-07')
    ? host.share('schema compiler draft-07', '', () => extend(new Ajv(OPTIONS)))
    : host.share('schema compiler 2020-12', '', () => extend(new Ajv2020(OPTIONS)))
}

/** `$data` would let a body choose the pattern that validates it (CVE-2025-69873): off. Strict: a
 *  misspelt keyword is a fault at load instead of a rule that never applies. */
const OPTIONS = {
  $data: false,
  allErrors: false,
  verbose: true,
  strict: true,
  strictRequired: false,
  strictTypes: false,
  strictTuples: false,
  allowUnionTypes: true,
  discriminator: true,
  passContext: true,
  // Optimized code runs equally fast on V8, but takes twice as long to generate.
  code: { regExp: linearRegExp(), optimize: false },
} as const

/** ajv requires a `code` member on the function that creates patterns. */
function linearRegExp() {
  return Object.assign((pattern: string) => matcherOf(pattern), { code: 'linear' }) as unknown as {
    (): RegExp
    code: string
  }
}

const extend = <T extends Ajv>(compiler: T): T => {
  addFormats.default(compiler, { mode: 'fast' })
  // A message in the schema that replaces the default one.
  compiler.addKeyword({ keyword: 'errorMessage', schemaType: 'string' })
  for (const { keyword } of textLength) compiler.removeKeyword(keyword)
  for (const each of textLength) compiler.addKeyword(each)
  compiler.addKeyword(maxTotal)
  compiler.addKeyword(notAbove)
  compiler.addKeyword(wholeKeyword)
  return compiler
}
