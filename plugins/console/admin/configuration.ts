/** Endpoints of operators for the configuration: routes as compiled, versions, reload, rollback. */
import { isAbsolute } from 'node:path'
import type { HostBase, ProblemView, ReloadReport } from '../../../engine/plugin.ts'
import { queryFault } from '../../operator/faults.ts'
import {
  type ConfigurationView,
  FILE_DIFF,
  REPORT,
  ROUTE,
  type RouteRow,
  STATUS,
  VERSION_CHANGE,
  type VersionChange,
} from '../../rows/configuration.ts'
import { list as listOf } from '../../shapes.ts'
import { fault } from '../faults.ts'
import {
  type AdminCall,
  type AdminEndpoints,
  type AdminResult,
  asJson,
  bodyOf,
  textIn,
} from './endpoint.ts'

/** Before it is JSON, an absent member may be undefined. */
type Unchecked<Row> = { readonly [Name in keyof Row]: Row[Name] | undefined }
const routes = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => ({
  data: asJson(
    gateway.routes.map(
      ({ name, method, path, stages, options, upstreams, place, about }): Unchecked<RouteRow> => ({
        name,
        method,
        path,
        stages,
        options,
        upstreams,
        place,
        summary: about.summary,
      }),
    ),
  ),
})

const status = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const [live, versions] = await Promise.all([gateway.status(), gateway.history()])
  const { url, version, hash, workers, unready, failure } = live
  const view: ConfigurationView = {
    url,
    version,
    hash,
    time: live.time,
    workers,
    unready,
    failure,
    versions,
  }
  return { data: asJson(view) }
}

const versionIn = (query: URLSearchParams, name: string): number | undefined => {
  const number = textIn(query, name)
  if (number === undefined) return undefined
  if (!/^[1-9]\d{0,8}$/.test(number)) throw queryFault(name, 'the number of a version')
  return Number(number)
}
const diff = async ({ query }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const to = versionIn(query, 'to')
  const { version } = await gateway.status()
  return { data: asJson(await gateway.diff(versionIn(query, 'from') ?? version, to)) }
}
/** The changes of a version since the stored one before it. */
const change = async ({ query }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const version = versionIn(query, 'version') ?? 0
  const versions = (await gateway.history()).map(each => each.version).sort((a, b) => a - b)
  const before = versions[versions.indexOf(version) - 1]
  if (!versions.includes(version)) await gateway.diff(version, version)
  const files = before === undefined ? [] : await gateway.diff(before, version)
  return { data: asJson({ version, before: before ?? null, files } satisfies VersionChange) }
}

/** A version with problems is not live: the answer has all of them. */
const changeOf = (before: number, report: ReloadReport): AdminResult => {
  const { outcome, version, problems = [], text } = report
  if (outcome === 'problems') {
    throw fault('ADMIN_NOT_LIVE', [version, problems.map(lineOf).join('; ') || text])
  }
  return { data: asJson(report), change: { before, after: { outcome, version } } }
}
/** Problems of no file name one by its whole path, which stays inside. */
const lineOf = ({ file, line, column, message, suggestion }: ProblemView): string => {
  const place = isAbsolute(file) ? '' : `${file}:${line}:${column} `
  return `${place}${message}${suggestion === undefined ? '' : `; did you mean "${suggestion}"?`}`
}
const reload = async (_: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const before = (await gateway.status()).version
  return changeOf(before, await gateway.reload())
}
const rollback = async ({ body }: AdminCall, { gateway }: HostBase): Promise<AdminResult> => {
  const before = (await gateway.status()).version
  const report = await gateway.rollback(
    body.version === undefined ? undefined : Number(body.version),
  )
  return changeOf(before, report)
}

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
    reveals: query =>
      `configuration ${query.get('from') ?? 'live'} to ${query.get('to') ?? 'files'}`,
    run: diff,
  },
  'GET configuration/change': {
    summary: 'Shows what a version changed, against the stored version before it.',
    query: { version: 'a version' },
    data: VERSION_CHANGE,
    reveals: query => `configuration ${query.get('version') ?? ''}`,
    run: change,
  },
  'POST configuration/reload': {
    summary:
      'Loads the files and puts them live. With problems it fails: the live version serves on.',
    body: bodyOf({}, []),
    data: REPORT,
    run: reload,
  },
  'POST configuration/rollback': {
    summary:
      'Puts a stored version live; by default the one before the live version. With problems it fails.',
    body: bodyOf(
      { version: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
      [],
    ),
    data: REPORT,
    run: rollback,
  },
}
