/** Asks every upstream for its models with each of its keys, without a running gateway. */
import { EXIT } from '../../../engine/cli/kit.ts'
import { nearest } from '../../../engine/config/nearest.ts'
import { errors } from '../../../engine/errors.ts'
import type { HostBase, Json, SingleCommand, TargetPin } from '../../../engine/plugin.ts'
import { isFields, parseJson } from '../../formats/fields.ts'
import { formats } from '../../formats/index.ts'

interface Finding {
  readonly upstream: string
  readonly address: string
  readonly key: string
  readonly answer: string
  /** Whether calls with this key at this address must fail. */
  readonly fails: boolean
}
type Answer = Pick<Finding, 'answer' | 'fails'>

/** ms. */
const TIMEOUT = 15_000
const ANSWER_LIMIT = 8 * 1024 * 1024

export const test: SingleCommand = {
  summary: 'Asks each upstream for its models with each of its keys, and shows the answers.',
  example: 'tollgate upstreams test',
  arguments: '[NAME]',
  async run({ positionals }, host) {
    const [only] = positionals
    if (only !== undefined && !(only in host.upstreams)) throw unknownUpstream(only, host)
    const names = only === undefined ? Object.keys(host.upstreams) : [only]
    const findings = (await Promise.all(names.map(name => check(name, host)))).flat()
    return {
      rows: findings.map(({ fails: _, ...row }) => row),
      json: findings,
      exit: findings.some(({ fails }) => fails) ? EXIT.runTime : EXIT.ok,
    }
  },
}

const fault = errors({ UPSTREAM_UNKNOWN: [404, 'there is no upstream named "%s"%s'] })
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
    const request = { method: 'GET', ...listOf(host.upstreams[upstream]?.options.formats) }
    const reply = await host.send(upstream, { ...request, timeout: TIMEOUT, pin })
    const body = parseJson(Buffer.from(await reply.bytes(ANSWER_LIMIT)).toString())
    return judge(reply.status, body)
  } catch (error) {
    return { answer: error instanceof Error ? error.message : 'no answer', fails: true }
  }
}

/** Where providers of these formats list their models. */
const listOf = (names: Json | undefined) => {
  const [first] = Array.isArray(names) ? names : []
  const format = formats.get(String(first))
  return {
    path: format?.dialect === 'google' ? '/v1beta/models' : '/v1/models',
    headers: { accept: 'application/json', ...format?.headers },
  }
}

const judge = (status: number, body: Json | undefined): Answer => {
  if (status === 401 || status === 403) return { answer: `${status}: refuses the key`, fails: true }
  if (status >= 300) return { answer: `${status}: lists no models`, fails: status >= 500 }
  const fields = isFields(body) ? body : {}
  const models = [fields.data, fields.models].find(Array.isArray)
  const count = models ? `${models.length} models` : 'a body without models'
  return { answer: `${status}: ${count}`, fails: false }
}
