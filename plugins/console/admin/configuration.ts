/** Endpoints of operators for the configuration: routes as compiled, versions, reload, rollback. */
import type { HostBase, Json } from '../../../engine/plugin.ts'
import {
  boolean,
  described,
  fields,
  integer,
  list as listOf,
  nullable,
  object,
  oneOf,
  text,
  time,
} from '../../shapes.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  bodyOf,
  textIn,
} from './endpoint.ts'

/** A view of the contract as JSON: members that are undefined are absent. */
const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

const routes = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => ({
  data: asJson(
    gateway.routes.map(({ name, method, path, stages, options, upstreams, place, about }) => ({
      name,
      method,
      path,
      stages,
      options,
      upstreams,
      place,
      summary: about.summary,
    })),
  ),
})

const status = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const [live, versions] = await Promise.all([gateway.status(), gateway.history()])
  const { url, version, hash, workers, unready, failure } = live
  const view = { url, version, hash, time: live.time, workers, unready, failure, versions }
  return { data: asJson(view) }
}

const versionIn = (query: URLSearchParams, name: string): number | undefined => {
  const number = textIn(query, name)
  if (number === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(number))
    throw fault('ADMIN_QUERY', [name, 'the number of a version'], { param: name })
  return Number(number)
}
const diff = async ({ query }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const to = versionIn(query, 'to')
  const { version } = await gateway.status()
  return { data: asJson(await gateway.diff(versionIn(query, 'from') ?? version, to)) }
}
/** What a version changed, against the stored one before it. */
const change = async ({ query }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const version = versionIn(query, 'version') ?? 0
  const versions = (await gateway.history()).map(each => each.version).sort((a, b) => a - b)
  const before = versions[versions.indexOf(version) - 1]
  if (!versions.includes(version)) await gateway.diff(version, version)
  const files = before === undefined ? [] : await gateway.diff(before, version)
  return { data: asJson({ version, before: before ?? null, files }) }
}

const reload = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const before = (await gateway.status()).version
  const report = await gateway.reload()
  const { outcome, version } = report
  return { data: asJson(report), change: { before, after: { outcome, version } } }
}
const rollback = async ({ body }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const before = (await gateway.status()).version
  const report = await gateway.rollback(
    body.version === undefined ? undefined : Number(body.version),
  )
  const { outcome, version } = report
  return { data: asJson(report), change: { before, after: { outcome, version } } }
}

export const PROBLEM = object(
  { code: text, message: text, file: text, line: integer, column: integer },
  {
    length: integer,
    suggestion: text,
    text: described('Its message with the suggestion.', text),
    hint: described('Of an unknown key: the allowed keys, in the words of editors.', text),
  },
)
const ROUTE = object(
  {
    name: text,
    method: text,
    path: text,
    stages: listOf(text),
    options: described('By plugin, with defaults.', fields),
    upstreams: listOf(text),
  },
  { place: object({ file: text, line: integer }), summary: text },
)
const WORKER = object({ number: integer, pid: integer, state: text, version: integer })
const VERSION = object(
  { version: integer, hash: text, time, isLive: boolean, files: listOf(text) },
  { from: integer, change: text },
)
const STATUS = object({
  url: text,
  version: integer,
  hash: text,
  time,
  workers: listOf(WORKER),
  unready: listOf(text),
  failure: nullable(object({ time, problems: listOf(PROBLEM), text })),
  versions: listOf(VERSION),
})
const FILE_DIFF = object({ file: text, lines: described('Of a unified diff.', listOf(text)) })
const REPORT = object(
  { outcome: oneOf('live', 'unchanged', 'problems'), version: integer, text },
  { time, problems: listOf(PROBLEM) },
)

export const configurationEndpoints: AdminEndpoints = {
  'GET routes': {
    summary: 'Lists the routes as compiled: stages, options, upstreams, file and line.',
    data: listOf(ROUTE),
    run: routes,
  },
  'GET configuration': {
    summary: 'Shows the live version, its workers, the last failed reload and the stored versions.',
    data: STATUS,
    run: status,
  },
  'GET configuration/diff': {
    summary: 'Shows what differs between two versions, or a version and the files on the disk.',
    query: {
      from: 'a version; the live one by default',
      to: 'a version; the files on the disk by default',
    },
    data: listOf(FILE_DIFF),
    run: diff,
  },
  'GET configuration/change': {
    summary: 'Shows what a version changed, against the stored version before it.',
    query: { version: 'a version' },
    data: object({ version: integer, before: nullable(integer), files: listOf(FILE_DIFF) }),
    run: change,
  },
  'POST configuration/reload': {
    summary: 'Loads the files, and puts them live unless they have problems.',
    body: bodyOf({}, []),
    data: REPORT,
    run: reload,
  },
  'POST configuration/rollback': {
    summary: 'Puts a stored version live; by default the one before the live version.',
    body: bodyOf({ version: { type: 'integer', minimum: 1 } }, []),
    data: REPORT,
    run: rollback,
  },
}
