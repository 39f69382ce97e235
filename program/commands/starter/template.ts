/** The text of a new routes.yaml: settings, pipeline and routes that serve any provider, with the
 *  given upstreams and models. It uses the shipped plugins, schemas and presets where they are. */
import { relative, resolve } from 'node:path'
import { stringify } from 'yaml'
import { PROGRAM } from '../../../engine/config/plugins/program.ts'
import { isFields } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { shipped } from './shipped.ts'

export interface Parts {
  /** Folder of the new file. */
  readonly folder: string
  readonly currency: string
  readonly upstreams: { readonly [name: string]: Json }
  readonly models: { readonly [name: string]: Json }
  readonly limits?: { readonly [scope: string]: Json }
  /** Options of every route that calls an upstream. */
  readonly route?: { readonly [key: string]: Json }
  /** The first lines, as comments. */
  readonly remark: string
}

export const routesYaml = (parts: Parts): string => {
  const { upstreams, models, limits, currency, remark, route = {} } = parts
  const sections = [
    `# yaml-language-server: $schema=${schemaPath(parts.folder)}`,
    ...remark.split('\n').map(line => `# ${line}`),
    SETTINGS.replace('CURRENCY', currency),
    'include: [tollgate:presets.yaml, tollgate:console.yaml] # presets of providers; routes of accounts and of the console at /console',
    '',
    `# The order in which requests pass the plugins.\n${PIPELINE}`,
    '',
    stringify({ upstreams }, OPTIONS).trimEnd(),
    '',
    stringify({ routes: routesOf(route) }, OPTIONS).trimEnd(),
    '',
    ...(limits ? [stringify({ limits }, OPTIONS).trimEnd(), ''] : []),
    stringify({ models }, OPTIONS).trimEnd(),
  ]
  return `${sections.join('\n')}\n`
}
const OPTIONS = { lineWidth: 0, aliasDuplicateObjects: false } as const

/** Where editors find the schema: relative where the program is installed in the folder itself. */
const schemaPath = (folder: string): string => {
  const path = relative(resolve(folder), PROGRAM)
  return `${path.startsWith('..') ? PROGRAM : path || '.'}/schemas/routes.json`
}

const SETTINGS = `settings:
  listen: \${HOST:-127.0.0.1}:\${PORT:-8080}
  admin: 127.0.0.1:\${ADMIN_PORT:-9090}
  metrics_key: \${METRICS_KEY:-}
  public_url: \${PUBLIC_URL:-}
  data: \${TOLLGATE_DATA:-data}
  database: \${DATABASE_URL:-sqlite:}
  currency: { name: CURRENCY } # currency of accounts and prices
`
const PIPELINE =
  'pipeline: [errors, headers, cors, telemetry, observe, identity, auth, zone, form, validate, model, tags, limit, idempotency, meter, account, console, openapi, translate, guard, journal, mirror, cache, embed, notify, alerts, sandbox, adapt]'

/** Routes of the shipped configuration that a new one has. */
const ROUTES = new Set([
  'chat',
  'completions',
  'messages',
  'responses',
  'embeddings',
  'rerank',
  'moderations',
  'generate-content',
  'stream-generate-content',
  'images',
  'image-edits',
  'speech',
  'transcriptions',
  'translations',
])
/** Options of plugins that the pipeline above has not. */
const LEFT_OUT = new Set(['responses', 'task'])
const LIST = { path: 'GET /v1/models', name: 'models', model: { list: 'openai' }, errors: 'openai' }

const routesOf = (route: Parts['route']): readonly Json[] => {
  const { routes } = shipped('routes.yaml')
  const included = (Array.isArray(routes) ? routes : []).filter(
    each => isFields(each) && ROUTES.has(String(each.name)),
  )
  return [...included.map(each => ({ ...adapted(each), ...route })), LIST]
}
const adapted = (options: Json): { readonly [key: string]: Json } =>
  Object.fromEntries(
    Object.entries(isFields(options) ? options : {})
      .filter(([key]) => !LEFT_OUT.has(key))
      .map(([key, value]) => [key, key === 'validate' ? `tollgate:${value}` : value]),
  )
