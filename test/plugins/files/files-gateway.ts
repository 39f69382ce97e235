/** Gateways with the file endpoints over a real store and a folder of their own. */
import { readdirSync } from 'node:fs'
import type { Test } from 'tap'
import type { HostBase, Json, Plugin } from '../../../engine/plugin.ts'
import type { Jobs } from '../../../engine/store/jobs.ts'
import errorsPlugin from '../../../plugins/errors.ts'
import files from '../../../plugins/files/index.ts'
import { caller, pluginOf, SILENT_LOG, startTestServer } from '../../helpers/gateway/test-server.ts'
import { reaperOn } from '../../helpers/store/membership.ts'
import { type Engine, sql, startAnyStore, temporaryFolder } from '../../helpers/store/store.ts'

type Answer = { readonly [name: string]: Json }

const view = (path: string, name: string) => ({ path, files: name, errors: 'openai' })
const ROUTES = [
  { ...view('POST /v1/files', 'upload'), body: { limit: '2GiB' } },
  view('GET /v1/files', 'list'),
  view('GET /v1/files/{file_id}', 'show'),
  view('DELETE /v1/files/{file_id}', 'delete'),
  view('GET /v1/files/{file_id}/content', 'content'),
  view('GET /files/{name}', 'signed'),
]

/** `settings`: under `settings.files`. Background jobs run only by `runJob`. */
export const startFiles = async (
  t: Test,
  settings: object = {},
  engine: Engine = 'sqlite',
  timeouts: object = {},
) => {
  const store = await startAnyStore(t, engine)
  const database = await store.open({ writeTimeout: 60_000 })
  const membership = reaperOn(t, database, 1_000)
  const runs = new Map<string, (signal: AbortSignal) => Promise<void>>()
  const jobs: Jobs = {
    start(name, _, run) {
      runs.set(name, run)
      return { wake() {}, stop() {} }
    },
    close: async () => {},
  }
  const folder = temporaryFolder(t)
  let host: HostBase | undefined
  const spy = pluginOf(caller, {
    setup(_, routeHost) {
      host = routeHost
      return caller
    },
  })
  const document = { settings: { data: folder, files: settings, timeouts }, routes: ROUTES }
  const { url } = await startTestServer(
    t,
    { errors: errorsPlugin as Plugin, caller: spy, files: files as Plugin },
    document as unknown as Parameters<typeof startTestServer>[2],
    SILENT_LOG,
    { database, membership, jobs },
  )
  membership.start()
  const call = (method: string, path: string, init: RequestInit = {}, account = '1') =>
    fetch(url + path, { method, ...init, headers: { account, ...init.headers } })
  const json = async (method: string, path: string, init: RequestInit = {}, account = '1') => {
    const response = await call(method, path, init, account)
    return { status: response.status, json: (await response.json()) as Answer }
  }
  return {
    url,
    database,
    call,
    json,
    host: () => host as HostBase,
    runJob: (name: string) => runs.get(name)?.(new AbortController().signal),
    rows: (text: string) => database.read(sql(text, text), []),
    /** Paths of all files in the store. */
    stored: () =>
      readdirSync(`${folder}/files`, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(({ parentPath, name }) => `${parentPath}/${name}`),
    /** Uploads a form of these fields; a list is a file with its name and content. */
    upload: (fields: Readonly<Record<string, Field>>, account = '1') =>
      json('POST', '/v1/files', { body: formOf(fields) }, account),
  }
}
type Field = string | readonly [filename: string, content: string | Uint8Array]

const formOf = (fields: Readonly<Record<string, Field>>): FormData => {
  const form = new FormData()
  for (const [name, field] of Object.entries(fields)) {
    if (typeof field === 'string') form.append(name, field)
    else form.append(name, new Blob([field[1] as string]), field[0])
  }
  return form
}
export const LINES = '{"custom_id":"a"}\n{"custom_id":"b"}\n'
/** A batch file. */
export const BATCH = { purpose: 'batch', file: ['b.jsonl', LINES] } as const
