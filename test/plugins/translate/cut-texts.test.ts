/** Requests with long texts, whose texts pass as references, and the same requests decoded in full:
 *  what reaches an upstream is the same. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { isFields } from '../../../plugins/formats/fields.ts'
import { shortOrLong } from '../../helpers/run-settings.ts'
import { type ClientRequest, send, TARGETS } from '../../oracles/cells.ts'
import { oddValues } from '../../oracles/odd-values.ts'
import { recordedRequests } from '../../oracles/recorded.ts'
import { render } from '../../oracles/render/render.ts'
import { scenarioOf } from '../../oracles/scenarios.ts'

const CLIENTS = ['openai-chat', 'anthropic-messages'] as const
const targets = TARGETS.filter(({ format }) => CLIENTS.some(each => each === format))
const LONG = ['a "quoted" word\n', 'caf\u00e9 \u6f22\u5b57 \u{1f600} \\ \u0001\t', 'x\u2028'].map(
  part => part.repeat(5_000 / part.length),
)
const MEMBERS: ReadonlySet<string> = new Set(['text', 'content', 'description', 'thinking'])

/** Each text of these members, and of arguments, is longer than an outline keeps. */
const lengthened = (value: Json, key: string, at: number): Json => {
  const long = LONG[at % LONG.length] ?? ''
  if (typeof value === 'string') {
    if (key === 'arguments' && value.startsWith('{}')) return JSON.stringify({ text: long })
    return MEMBERS.has(key) && value.trim() !== '' ? value + long : value
  }
  if (Array.isArray(value)) return value.map((each, index) => lengthened(each, key, at + index))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each], index) => [name, lengthened(each, name, at + index)]),
  )
}
/** Sends each request to every so many targets, in turn. */
const compare = async (
  t: Test,
  requests: readonly ClientRequest[],
  share: number,
): Promise<void> => {
  let [turn, compared, cut] = [0, 0, 0]
  for (const [index, request] of requests.entries()) {
    const body = lengthened(request.body as Json, '', index) as ClientRequest['body']
    for (const target of targets) {
      if (turn++ % share !== 0) continue
      const { isCut, ...outcome } = await send({ ...request, body }, target)
      const { isCut: _, ...whole } = await send({ ...request, body, isWhole: true }, target)
      if (target.format !== request.client) compared++
      if (isCut) cut++
      if (!isDeepStrictEqual(outcome, whole))
        t.same(outcome, whole, `${request.client} to ${target.title}: ${request.name}`)
    }
  }
  t.ok(cut > compared / 4, `${cut} of ${compared} translations passed texts as references`)
}
const isOf = ({ client }: ClientRequest): boolean => CLIENTS.some(each => each === client)

t.test('cut texts: drawn requests reach the upstream as without', async t => {
  const scenarios = Array.from({ length: shortOrLong(60, 600) }, (_, index) =>
    CLIENTS.map(client => render(client, scenarioOf(index), `scenario ${index}`)),
  )
  await compare(t, scenarios.flat(), shortOrLong(5, 1))
})
t.test('cut texts: requests of odd values reach the upstream as without', async t =>
  compare(t, CLIENTS.flatMap(oddValues), shortOrLong(29, 1)),
)
t.test(
  'cut texts: recorded requests reach the upstream as without',
  { skip: recordedRequests.length === 0 && 'RECORDINGS is not set' },
  async t => compare(t, recordedRequests.filter(isOf), shortOrLong(7, 1)),
)
