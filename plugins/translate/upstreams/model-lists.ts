/** Asks every upstream for its models with each of its keys: by the running gateway, which has its
 *  keys, or without one. */
import { EXIT } from '../../../engine/cli/kit.ts'
import { nearest } from '../../../engine/config/nearest.ts'
import { errors } from '../../../engine/errors.ts'
import { isCode } from '../../../engine/kit.ts'
import type {
  CommandArguments,
  DoctorFinding,
  HostBase,
  Json,
  LiveFinding,
  SingleCommand,
  Target,
  TargetPin,
} from '../../../engine/plugin.ts'
import type { Entry } from '../../catalogue/catalogue.ts'
import { readCatalogue } from '../../catalogue/configured.ts'
import { targetsOf } from '../../catalogue/targets.ts'
import { isFields, parseJson } from '../../formats/fields.ts'
import { formatsOf } from '../../formats/index.ts'
import type { UpstreamFinding } from '../../views.ts'

/** `models`: their names; undefined if it lists none. */
type Finding = Omit<UpstreamFinding, 'models'> & { readonly models?: readonly string[] }
type LiveAnswer = Omit<Finding, 'models'>
type Answer = Pick<Finding, 'answer' | 'fails' | 'models'>

/** ms. */
const TIMEOUT = 15_000
const ANSWER_LIMIT = 8 * 1024 * 1024

const PATH = '/-/upstreams/test'
export const admin = {
  [`GET ${PATH}`]: ({ query }: { readonly query: URLSearchParams }, host: HostBase) =>
    ask(host, query.get('name') ?? undefined),
}

export const test: SingleCommand = {
  summary:
    'Asks each upstream for its models with each of its keys, by the running gateway if there is one.',
  example: 'tollgate upstreams test',
  arguments: '[NAME]',
  async run({ positionals: [only], ask: askAdmin }, host) {
    const live = await askGateway(askAdmin, only)
    const findings = live ?? (await ask(host, only))
    return {
      rows: findings.map(({ fails: _, ...row }) => row),
      after: live ? '' : WITHOUT_GATEWAY,
      json: findings,
      exit: findings.some(({ fails }) => fails) ? EXIT.runTime : EXIT.ok,
    }
  },
}
const WITHOUT_GATEWAY =
  'No gateway of this data folder is running: keys and addresses are those of the environment and the .env of this command.'

/** Undefined if no gateway is running. */
const askGateway = async (
  askAdmin: CommandArguments['ask'],
  only: string | undefined,
): Promise<readonly LiveAnswer[] | undefined> => {
  const query = only === undefined ? '' : `?${new URLSearchParams({ name: only })}`
  try {
    return (await askAdmin?.(PATH + query)) as unknown as readonly LiveAnswer[] | undefined
  } catch (error) {
    if (isCode(error, 'NO_GATEWAY')) return undefined
    throw error
  }
}

const ask = async (host: HostBase, only: string | undefined) => {
  if (only !== undefined && !Object.hasOwn(host.upstreams, only)) throw unknownUpstream(only, host)
  const names = only === undefined ? Object.keys(host.upstreams) : [only]
  const findings = (await Promise.all(names.map(name => check(name, host)))).flat()
  return findings.map(({ models: _, ...finding }): LiveAnswer => finding)
}

/** For endpoints of operators. Throws UPSTREAM_UNKNOWN. */
export const testUpstream = async (host: HostBase, name: string) => {
  if (!Object.hasOwn(host.upstreams, name)) throw unknownUpstream(name, host)
  const findings = await check(name, host)
  return findings.map(
    ({ models, ...finding }): UpstreamFinding => ({ ...finding, models: models?.length ?? null }),
  )
}

/** Their names at the provider, sorted. Throws UPSTREAM_UNKNOWN, MODELS_INSIDE, MODELS_UNLISTED. */
export const offeredModels = async (host: HostBase, name: string): Promise<readonly string[]> => {
  if (!Object.hasOwn(host.upstreams, name)) throw unknownUpstream(name, host)
  const findings = await check(name, host)
  const models = findings.flatMap(each => each.models ?? [])
  if (models.length > 0) return [...new Set(models)].toSorted()
  if (host.upstreams[name]?.inside !== undefined) throw fault('MODELS_INSIDE', [name])
  throw fault('MODELS_UNLISTED', [name, findings[0]?.answer ?? 'it has no address'])
}

const fault = errors({
  UPSTREAM_UNKNOWN: [404, 'there is no upstream named "%s"%s'],
  MODELS_INSIDE: [
    400,
    'the upstream "%s" is inside the gateway: it has no list of models',
    { param: 'upstream' },
  ],
  MODELS_UNLISTED: [502, 'the upstream "%s" lists no models: %s', { param: 'upstream' }],
})
const unknownUpstream = (name: string, { upstreams }: HostBase) => {
  const suggestion = nearest(name, Object.keys(upstreams))
  return fault('UPSTREAM_UNKNOWN', [name, suggestion ? `; did you mean "${suggestion}"?` : ''])
}

const check = async (upstream: string, host: HostBase): Promise<readonly Finding[]> => {
  const inside = host.upstreams[upstream]?.inside
  if (inside !== undefined)
    return [
      { upstream, address: `${inside}:`, key: '-', answer: 'inside the gateway', fails: false },
    ]
  return Promise.all(
    host.pins(upstream).map(async pin => ({
      upstream,
      address: pin.address ?? '',
      key: pin.key ?? '-',
      ...(await askForModels(upstream, pin, host)),
    })),
  )
}

const askForModels = async (upstream: string, pin: TargetPin, host: HostBase): Promise<Answer> => {
  try {
    const request = { method: 'GET', ...listOf(host.upstreams[upstream]?.options.formats, host) }
    const reply = await host.send(upstream, { ...request, timeout: TIMEOUT, pin })
    const body = parseJson(Buffer.from(await reply.bytes(ANSWER_LIMIT)).toString())
    return judge(reply.status, body)
  } catch (error) {
    return { answer: error instanceof Error ? error.message : 'no answer', fails: true }
  }
}

/** Where providers of these formats list their models. */
const listOf = (names: Json | undefined, host: HostBase) => {
  const [first] = Array.isArray(names) ? names : []
  const format = formatsOf(host).clients.get(String(first))
  return {
    path: format?.dialect === 'google' ? '/v1beta/models' : '/v1/models',
    headers: { accept: 'application/json', ...format?.headers },
  }
}

const judge = (status: number, body: Json | undefined): Answer => {
  if (status === 401 || status === 403) return { answer: `${status}: refuses the key`, fails: true }
  if (status >= 300) return { answer: `${status}: lists no models`, fails: status >= 500 }
  const fields = isFields(body) ? body : {}
  const list = [fields.data, fields.models].find(Array.isArray)
  if (!list) return { answer: `${status}: a body without models`, fails: false }
  return { answer: `${status}: ${list.length} models`, fails: false, models: list.flatMap(nameOf) }
}
/** `models/gemini-2.5-pro` and `gemini-2.5-pro` are the same model. */
const nameOf = (model: Json): readonly string[] => {
  const { id, name } = isFields(model) ? model : {}
  const text = id ?? name
  return typeof text === 'string' ? [text.replace(/^models\//, '')] : []
}

/** For `tollgate check --live`: the answers of all upstreams, and the targets that they lack. */
export const checkLive = async (host: HostBase): Promise<readonly LiveFinding[]> => {
  const targets = targetNames(host)
  const findings = await Promise.all(Object.keys(host.upstreams).map(name => check(name, host)))
  return findings.flat().map(({ models, ...finding }) => ({
    ...finding,
    missing: models
      ? (targets.get(finding.upstream) ?? []).filter(name => !models.includes(name))
      : [],
  }))
}
/** The names of exact targets, by upstream: names with a pattern are not known in advance. */
const targetNames = (host: HostBase): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, string[]>()
  for (const entry of readCatalogue(host).all)
    for (const { upstream, name } of targetsIn(entry)) {
      const known = names.get(upstream) ?? []
      if (name !== undefined && !/[*{]/.test(name) && !known.includes(name)) known.push(name)
      names.set(upstream, known)
    }
  return names
}
/** Those of the model, of its rules, and of its mirror. */
const targetsIn = ({ targets, rules, options: { mirror } }: Entry): readonly Target[] => [
  ...targets,
  ...rules.flatMap(({ targets = [] }) => targets),
  ...(mirror ? targetsOf(mirror) : []),
]

/** For `tollgate doctor`: what is wrong with upstreams, or that all answer. */
export const diagnoseUpstreams = async (host: HostBase): Promise<readonly DoctorFinding[]> => {
  const findings = await checkLive(host)
  const failures = findings.filter(({ fails }) => fails)
  const incomplete = Map.groupBy(
    findings.filter(({ missing }) => missing.length > 0),
    ({ upstream }) => upstream,
  )
  const outside = new Set(
    findings.filter(({ key, address }) => key !== '-' || /^https?:/.test(address)).map(upstreamOf),
  )
  if (failures.length + incomplete.size === 0)
    return [{ check: CHECK, state: 'ok', text: allAnswer(outside.size), advice: '' }]
  return [
    ...failures.map(failureOf),
    ...[...incomplete].map(([upstream, list]) => missingIn(upstream, list)),
  ]
}
const CHECK = 'upstreams'
/** `count`: of the upstreams outside of the gateway. */
const allAnswer = (count: number): string => {
  if (count === 0) return 'none is outside of the gateway'
  return count === 1
    ? 'the one outside of the gateway answers'
    : `all ${count} outside of the gateway answer`
}
const upstreamOf = ({ upstream }: LiveFinding): string => upstream
const failureOf = ({ upstream, address, key, answer }: LiveFinding): DoctorFinding => ({
  check: CHECK,
  state: 'failure',
  text: `${upstream}, ${address}${key === '-' ? '' : `, key ${key}`}: ${answer}`,
  advice: /^40[13]/.test(answer)
    ? `correct the key of the upstream "${upstream}"`
    : `is it running, and does \`url\` of the upstream "${upstream}" name it rightly?`,
})
const missingIn = (upstream: string, findings: readonly LiveFinding[]): DoctorFinding => {
  const names = [...new Set(findings.flatMap(({ missing }) => missing))]
  return {
    check: CHECK,
    state: 'warning',
    text: `${upstream} lists no ${names.map(name => `"${name}"`).join(', ')}`,
    advice: 'correct these targets of models, rules and mirrors, or load the models there',
  }
}
