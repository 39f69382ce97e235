/** Sends requests of a client format through the translate stage to each kind of target that the
 *  shipped catalogue has, and to those of models.yaml, without a gateway. */
import { globSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { Json } from '../../engine/plugin.ts'
import { toReply } from '../../engine/request/exchange.ts'
import { MODEL } from '../../plugins/slots.ts'
import translate from '../../plugins/translate/index.ts'
import { asList, asObject, asString, type LooseObject } from '../helpers/formats/loose-json.ts'
import { PLAIN_ANSWERS } from '../helpers/formats/plain-answers.ts'
import { errorFrom, fakeAttempt, fakeExchange, fakeHost } from '../helpers/gateway/fake-exchange.ts'
import { type Family, familyOf } from './families.ts'
import { type Finding, judge } from './index.ts'

export const CLIENTS = [
  'openai-chat',
  'openai-responses',
  'anthropic-messages',
  'google-gemini',
  'google-interactions',
] as const
export type Client = (typeof CLIENTS)[number]
const FORMATS: readonly string[] = [...CLIENTS, 'bedrock-converse']

/** A model at an upstream of one format. */
export interface CellTarget {
  /** `format/family`, and its traits where several differ. */
  readonly title: string
  readonly format: string
  readonly upstream: string
  readonly name: string
  readonly family: Family
  readonly traits: Readonly<Record<string, Json>>
  /** The keys of the upstream, those of its preset included. */
  readonly options: Readonly<Record<string, Json>>
}
const read = (path: string): LooseObject => asObject(parse(readFileSync(path, 'utf8')))
const presets = asObject(read('program/config/presets.yaml').presets)

/** The kinds of targets of configuration files, each once. */
const targetsIn = (files: readonly string[]): readonly CellTarget[] => {
  const documents = files.map(read)
  const upstreams = Object.assign({}, ...documents.map(each => each.upstreams)) as LooseObject
  const models = documents.flatMap(each => Object.values(asObject(each.models)).map(asObject))
  const targets = new Map<string, CellTarget>()
  for (const { to, traits = {} } of models) {
    const [upstream = '', ...rest] = asString(to).split('/')
    const name = rest.join('/').replaceAll('*', 'opus-4-5')
    const own = asObject(upstreams[upstream])
    const options = { ...asObject(presets[asString(own.preset)]), ...own }
    const formats = asObject(traits).formats ?? options.formats
    for (const format of (asList(formats) as readonly unknown[]).map(String)) {
      if (!FORMATS.includes(format) || name.includes('realtime')) continue
      const family = familyOf(name)
      const title = `${format}/${family.name}`
      const key = `${title} ${JSON.stringify(traits)} ${own.preset}`
      targets.set(key, {
        title,
        format,
        upstream,
        name,
        family,
        traits: { ...(traits as CellTarget['traits']), formats: [format] },
        options: options as CellTarget['options'],
      })
    }
  }
  return [...targets.values()]
}
export const TARGETS: readonly CellTarget[] = [
  ...targetsIn(['routes.yaml', ...globSync('models/*.yaml').sort()]),
  ...targetsIn(['test/oracles/models.yaml']),
]

/** A request of a client, as its SDK sends it. */
export interface ClientRequest {
  readonly client: Client
  readonly name: string
  readonly body: LooseObject
  readonly headers?: Readonly<Record<string, string>>
  readonly isStreamed?: boolean
  /** No text of it passes as a reference. */
  readonly isWhole?: boolean
}
export interface Outcome {
  /** Whether texts passed as references. */
  readonly isCut?: boolean
  /** The body that the upstream got; undefined if the request was refused. */
  readonly upstreamBody?: LooseObject
  readonly headers: Readonly<Record<string, string>>
  readonly path: string
  /** The message of the refusal. */
  readonly refusal?: string
  /** The text of an error that is not a refusal of a request. */
  readonly fault?: string
  readonly dropped: string
}
const PNG = Buffer.from('iVBORw0KGgo=', 'base64')
const pathOf = (client: Client, stream: boolean): string =>
  ({
    'openai-chat': '/v1/chat/completions',
    'openai-responses': '/v1/responses',
    'anthropic-messages': '/v1/messages',
    'google-gemini': `/v1beta/models/m:${stream ? 'streamGenerateContent' : 'generateContent'}`,
    'google-interactions': '/v1beta/interactions',
  })[client]

const stages = new Map<string, ReturnType<typeof translate.setup>>()
const stageOf = (client: Client, { upstream, options, title }: CellTarget) => {
  const key = `${client} ${upstream} ${title}`
  const host = {
    ...fakeHost({ upstreams: { [upstream]: { options } } }),
    send: async () => toReply(200, PNG, { 'content-type': 'image/png' }),
  }
  const stage = stages.get(key) ?? translate.setup(client, host)
  stages.set(key, stage)
  return stage
}
export const send = async (request: ClientRequest, target: CellTarget): Promise<Outcome> => {
  const { client, body, headers = {} } = request
  const whole = client === 'google-gemini' ? body : { ...body, model: target.name }
  const path = pathOf(client, request.isStreamed ?? false)
  const exchange = fakeExchange({ body: whole as Json, path, headers })
  exchange.slots.set(MODEL, { asked: target.name, entry: target.name })
  const parsed = await exchange.request.json()
  const cut = request.isWhole ? undefined : exchange.request.cut()
  let isCut = false
  if (cut) {
    const restore = cut.restore.bind(cut)
    cut.restore = json => {
      const body = restore(json)
      isCut = body !== undefined
      return body
    }
  }
  Object.assign(exchange.request, { parsed, outlined: parsed, cut: () => cut })
  const attempt = fakeAttempt(exchange, target, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(PLAIN_ANSWERS[target.format as keyof typeof PLAIN_ANSWERS]),
  })
  let isSent = false
  const next = async (): Promise<void> => {
    isSent = true
    await attempt.next()
  }
  const error = await errorFrom(() => stageOf(client, target).forward(attempt, next))
  const { request: up } = attempt
  if (!isSent) {
    const { status, message } = error ?? { status: 0, message: 'nothing was sent' }
    const text = `${status} ${message}`
    return {
      headers: {},
      path: '',
      dropped: '',
      ...(status === 400 ? { refusal: text } : { fault: text }),
    }
  }
  return {
    isCut,
    upstreamBody: JSON.parse(Buffer.from(up.body as Uint8Array).toString()),
    headers: { ...headers, ...(up.headers as Record<string, string>) },
    // The address of Vertex comes from its preset, which is applied later.
    path: target.traits.vertex === true ? `/publishers/google${up.path}` : up.path,
    dropped: String(attempt.reply?.headers['x-tollgate-dropped'] ?? ''),
  }
}
/** The target's refusals of a request, without those that the client's own provider would make
 *  in the same format. */
export const findingsOf = async (
  request: ClientRequest,
  target: CellTarget,
): Promise<readonly Finding[]> => {
  const { upstreamBody, path, headers, fault } = await send(request, target)
  if (fault !== undefined) return [{ rule: 'fault', message: fault }]
  if (upstreamBody === undefined) return []
  const findings = judge(target.format, target.family, upstreamBody, headers, path)
  if (request.client !== target.format || findings.length === 0) return findings
  const own = judge(target.format, target.family, request.body, request.headers, path)
  return findings.filter(({ rule }) => !own.some(each => each.rule === rule))
}
