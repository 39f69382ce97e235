/** Models that own engines list: names and contexts of each upstream with `discover`, read again
 *  and again. A name that is gone is kept for a time; without an answer the last list stays. */
import type { DoctorFinding, HostBase, Json } from '../../engine/plugin.ts'
import { isFields, parseJson } from '../formats/fields.ts'
import { DISCOVER, type Section } from './section.ts'
import { targetsOf } from './targets.ts'

export interface DiscoveredModel {
  /** The name at the engine. */
  readonly name: string
  /** Tokens; undefined if the engine does not say. */
  readonly context: number | undefined
}
interface Known extends DiscoveredModel {
  /** When it was last listed: ms, monotonic. */
  readonly seenAt: number
}

/** The lists of all upstreams in this process; outlives reloads. */
export class DiscoveredModels {
  readonly #lists = new Map<string, ReadonlyMap<string, Known>>()
  /** Changes with every change of a list. */
  revision = 0

  /** Undefined before the first answer of the upstream. */
  of(upstream: string): ReadonlyMap<string, DiscoveredModel> | undefined {
    return this.#lists.get(upstream)
  }
  /** Whether the upstream has the model, or is not known yet: then it decides itself. */
  mayHave(upstream: string, name: string): boolean {
    return this.#lists.get(upstream)?.has(name) ?? true
  }
  /** `grace`: ms that a name is kept after it was last listed. Returns what came and what went. */
  update(upstream: string, models: readonly DiscoveredModel[], grace: number, now: number) {
    const before = this.#lists.get(upstream) ?? new Map<string, Known>()
    const current = new Map<string, Known>()
    for (const model of models) current.set(model.name, { ...model, seenAt: now })
    for (const [name, known] of before)
      if (!current.has(name) && now - known.seenAt < grace) current.set(name, known)
    const added = [...current.keys()].filter(name => !before.has(name))
    const removed = [...before.keys()].filter(name => !current.has(name))
    const hasNewContext = [...current].some(
      ([name, { context }]) => before.get(name)?.context !== context,
    )
    this.#lists.set(upstream, current)
    if (added.length + removed.length > 0 || hasNewContext) this.revision++
    return { added, removed }
  }
}

export const discoveredModels = (host: Pick<HostBase, 'share'>): DiscoveredModels =>
  host.share('discovered models', '1', previous => previous ?? new DiscoveredModels())

type Rules = ReturnType<(typeof DISCOVER)['read']>
/** The upstreams with `discover`, each with the rules of the first model that names it. */
const discoveredUpstreams = (section: Section) => {
  const upstreams = new Map<string, Rules>()
  for (const options of Object.values(section)) {
    if (!options.discover) continue
    const rules = DISCOVER.read(options.discover)
    for (const { upstream } of targetsOf(options))
      if (!upstreams.has(upstream)) upstreams.set(upstream, rules)
  }
  return upstreams
}

const TIMEOUT = 10_000
/** ms between two reads until the first list. */
const RETRY = 1_000
const ANSWER_LIMIT = 8 * 1024 * 1024
/** A longer list is cut. */
const MOST_MODELS = 10_000
/** Where engines list their models: OpenAI's list, then that of Ollama alone. */
const PATHS = ['/v1/models', '/api/tags']

/** Reads the list of an upstream from each of its addresses. Undefined: none answered. */
export const readModels = async (
  upstream: string,
  host: Pick<HostBase, 'send' | 'pins' | 'log'>,
  signal?: AbortSignal,
): Promise<readonly DiscoveredModel[] | undefined> => {
  const pins = new Map(host.pins(upstream).map(pin => [pin.address, pin]))
  const lists = await Promise.all(
    [...pins.values()].map(async pin => {
      for (const path of PATHS) {
        try {
          const headers = { accept: 'application/json' }
          const options = { timeout: TIMEOUT, pin, headers, ...(signal && { signal }) }
          const reply = await host.send(upstream, { method: 'GET', path, ...options })
          const body = parseJson(Buffer.from(await reply.bytes(ANSWER_LIMIT)).toString())
          const models = reply.status < 300 ? modelsOf(body) : undefined
          if (models) return models
          if (reply.status >= 500) return undefined
        } catch {
          return undefined
        }
      }
      return undefined
    }),
  )
  const known = lists.filter(list => list !== undefined)
  return known.length > 0 ? known.flat().slice(0, MOST_MODELS) : undefined
}

/** `data` of OpenAI, vLLM and llama.cpp, or `models` of Ollama. */
const modelsOf = (body: Json | undefined): readonly DiscoveredModel[] | undefined => {
  const { data, models } = isFields(body) ? body : {}
  const list = [data, models].find(each => Array.isArray(each)) as readonly Json[] | undefined
  return list?.flatMap(each => {
    const { id, name, max_model_len: length, meta } = isFields(each) ? each : {}
    const model = id ?? name
    if (typeof model !== 'string' || !/^\S{1,256}$/.test(model)) return []
    // `n_ctx`: what llama.cpp gives one request, which may be less than the model was made for.
    const { n_ctx: served, n_ctx_train: trained } = isFields(meta) ? meta : {}
    const context = length ?? served ?? trained
    return [{ name: model, context: isTokens(context) ? context : undefined }]
  })
}
const isTokens = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0

/** Reads the lists from now on, once in each process and version. */
export const startDiscovery = (host: HostBase, section: Section): void => {
  if (host.config.isTrial) return
  const upstreams = discoveredUpstreams(section)
  if (upstreams.size === 0) return
  host.share('discovery of models', String(host.config.version), () => {
    const discovered = discoveredModels(host)
    for (const [upstream, { every, grace }] of upstreams) {
      const job = host.job(
        `discovery of models: ${upstream}`,
        every,
        async signal => {
          // Rejects before the first version is live.
          const models = await readModels(upstream, host, signal).catch(() => undefined)
          if (!models && !discovered.of(upstream)) setTimeout(() => job.wake(), RETRY).unref()
          if (!models) return
          const { added, removed } = discovered.update(upstream, models, grace, performance.now())
          if (added.length + removed.length > 0)
            host.log.info({ upstream, added, removed }, 'models of an upstream changed')
        },
        { each: true },
      )
    }
    return {}
  })
}

/** For `tollgate doctor`: whether upstreams with `discover` list their models. */
export const diagnoseDiscovery = (
  host: HostBase,
  section: Section,
): Promise<readonly DoctorFinding[]> =>
  Promise.all(
    [...discoveredUpstreams(section).keys()].map(async upstream => {
      const models = await readModels(upstream, host)
      return models
        ? finding('ok', `${upstream} lists ${models.length} models`)
        : finding(
            'failure',
            `${upstream} lists no models`,
            `start the engine of "${upstream}"; ${FORM}`,
          )
    }),
  )
const FORM = '`discover` reads GET /v1/models, or GET /api/tags of Ollama'
const finding = (state: DoctorFinding['state'], text: string, advice = ''): DoctorFinding => ({
  check: 'discover',
  state,
  text,
  advice,
})
