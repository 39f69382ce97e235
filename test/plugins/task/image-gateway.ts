/** Gateways with the routes of the image queue in routes.yaml, and a scripted midjourney-proxy. */
import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { parse } from 'yaml'
import type { Json } from '../../../engine/plugin.ts'
import { eventually } from '../../helpers/gateway/primary.ts'
import type { Engine } from '../../helpers/store/store.ts'
import { KEY, startTasks } from './task-gateway.ts'

type Fields = { readonly [name: string]: Json }
interface Route {
  readonly path: string
  readonly task: Fields & { readonly poll?: Fields; readonly mode?: string }
}
const read = (path: string) =>
  parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'))
const SHIPPED: readonly Route[] = read('routes.yaml').routes.filter(({ path }: Route) =>
  path.includes('/mj'),
)
/** Prices in the currency of the account, which is the USD here. */
const MODELS = Object.fromEntries(
  Object.entries<object>(read('models/mj.yaml').models).map(([name, model]) => [
    name,
    { ...JSON.parse(JSON.stringify(model).replaceAll(' USD', '')), to: 'vd/any' },
  ]),
)
/** Nanos, by mode. */
export const PRICES = { relax: 50_000_000n, fast: 100_000_000n, turbo: 200_000_000n } as const
export type ModeName = keyof typeof PRICES

/** The shipped routes, polled often. `running`: the limits of modes; the shipped ones otherwise.
 *  `options`: more of the creates. */
export const imageRoutes = (
  running: Partial<Record<string, number>> | undefined,
  options: object = {},
): readonly object[] =>
  SHIPPED.map(({ task, ...route }) => {
    const { poll, running: shipped, mode, ...others } = task
    const limit = running ? running[mode ?? ''] : shipped
    const create = {
      ...(mode !== undefined && { mode }),
      upstreams: ['vd'],
      poll: { ...poll, every: '20ms..40ms' },
      ...options,
    }
    return {
      ...route,
      validate: undefined,
      task: {
        ...others,
        ...(poll && create),
        ...(poll && limit !== undefined && { running: limit }),
      },
    }
  })

/** A call with a key in `mj-api-secret`. */
const callAt =
  (url: string) =>
  async (
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'content-type': 'application/json', 'mj-api-secret': KEY, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as Fields }
  }
export const imageClient = (url: string) => {
  const call = callAt(url)
  const fetchTask = async (id: string) => (await call('GET', `/mj/task/${id}/fetch`)).json
  return {
    call,
    /** Resolves to the id. `prefix`: `/mj-relax`. */
    async imagine(prompt: string, body: object = {}, prefix = ''): Promise<string> {
      const { json } = await call('POST', `${prefix}/mj/submit/imagine`, { prompt, ...body })
      return String(json.result)
    },
    fetchTask,
    /** Fetches until the status is one of these. */
    reach: (id: string, ...statuses: readonly string[]): Promise<Fields> =>
      eventually(async () => {
        const json = await fetchTask(id)
        return statuses.includes(String(json.status)) ? json : undefined
      }),
    async speed() {
      const { json } = await call('GET', '/mj/speed')
      return json.result as Fields
    },
  }
}
export const startImages = async (
  t: Test,
  engine: Engine = 'sqlite',
  running?: Partial<Record<string, number>>,
  options?: object,
) => {
  const gateway = await startTasks(t, engine, {}, {}, imageRoutes(running, options), MODELS)
  return { ...gateway, ...imageClient(gateway.gatewayUrl) }
}

/** Answers of midjourney-proxy. */
export const accepted = (result: string, code = 1, properties: Json = {}) => ({
  json: { code, description: '提交成功', result, properties },
})
export const fetched = (status: string, members: Fields = {}) => ({ json: { status, ...members } })
