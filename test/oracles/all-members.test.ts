/** Every member of the SDKs' request types: it passes unchanged in its own format, our schemas
 *  accept it, and on the way to another format it has an effect, is named as dropped, or is
 *  refused. An optional member that is null counts as absent. No provider refuses what reaches
 *  it. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { LooseObject } from '../helpers/formats/loose-json.ts'
import { type CellTarget, CLIENTS, type Client, send, TARGETS } from './cells.ts'
import { judge } from './index.ts'
import { MEMBER_EXCEPTIONS } from './member-exceptions.ts'
import { memberCells, walkMembers } from './member-walk.ts'
import { Members } from './members.ts'
import { repair } from './repair.ts'
import { report, walk } from './walk.ts'

const SCHEMAS = {
  'openai-chat': 'chat-completions',
  'openai-responses': 'responses',
  'anthropic-messages': 'messages',
  'google-gemini': 'generate-content',
  'google-interactions': 'interactions',
} as const

/** Members that our schemas refuse, with the reason. */
const UNACCEPTED: Readonly<Record<string, string>> = {
  'input[].id': 'an item with an id alone: the message says that it needs a type or a role',
}

for (const client of CLIENTS)
  t.test(`members of ${client}: accepted, and unchanged in the same format`, async t => {
    const schema = JSON.parse(readFileSync(`schemas/${SCHEMAS[client]}.json`, 'utf8'))
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
    // A model that declares how it thinks gets thinking and effort in its own form, and one that
    // demands signatures gets a signature with each call.
    const target = TARGETS.find(
      ({ format, traits }) =>
        format === client && traits.thinking !== 'budget' && traits.signatures !== 'required',
    )
    const members = new Members(client).all()
    const refused: string[] = []
    const changed: string[] = []
    for (const { path, samples } of members)
      for (const sample of samples) {
        const body = {
          ...repair(client, sample),
          ...(client !== 'google-gemini' && { model: target?.name }),
        }
        if (!accepts(body) && !(path in UNACCEPTED))
          refused.push(`${path}: ${JSON.stringify(accepts.errors?.at(0))}`)
        const { upstreamBody } = target ? await send({ client, name: path, body }, target) : {}
        if (!isDeepStrictEqual(upstreamBody, body)) changed.push(path)
      }
    t.comment(`${members.length} members`)
    t.same(refused, [], 'our schema accepts them')
    t.same(changed, [], 'they pass unchanged')
  })

/** Members whose type in the SDK is a text, though the provider takes a few values only. */
const UNTYPED = /^(?:cached_content|response_modalities|safety_settings)/
t.test('members: no provider refuses a sample of another format', async t => {
  const requests = CLIENTS.flatMap(client =>
    new Members(client)
      .all()
      .filter(({ path }) => !UNTYPED.test(path))
      .map(({ path, samples: [sample = {}] }) => ({
        client,
        name: path,
        body: repair(client, structuredClone(sample)),
      })),
  )
  report(t, await walk(requests, 3))
})

const used = new Set<object>()
for (const [client, target] of memberCells())
  t.test(`members of ${client} to ${target.format}: none is lost without a word`, async t => {
    const lostMembers = await walkMembers(client, target)
    const unexplained = lostMembers.flatMap(({ path, fault }) => {
      const member = `${client} ${path} -> ${target.format}`
      const exception = MEMBER_EXCEPTIONS.find(each => each.member.test(member))
      if (exception) used.add(exception)
      return exception && !fault ? [] : [[member, fault].filter(Boolean).join(': ')]
    })
    t.comment(`${lostMembers.length} lost as listed`)
    t.same(unexplained, [])
  })
t.test('members: each exception still occurs', t => {
  for (const exception of MEMBER_EXCEPTIONS) t.ok(used.has(exception), exception.reason)
  t.end()
})

// ---------------------------------------------------------------- null

const FORMATS: readonly string[] = [...CLIENTS, 'bedrock-converse']
/** Members whose null differs from their absence, with the reason. */
const NULL_EXCEPTIONS: readonly (readonly [member: RegExp, reason: string])[] = [
  [/^(?:openai-responses|google-interactions) input$/, 'a request without input says nothing'],
  [/^openai-responses input\[reasoning\]\.content$/, 'OpenAI itself writes it, and takes it back'],
  [/^google-gemini contents\[\]\.role$/, 'our sample of a request without a role adds one'],
  [/^google-gemini .*\.function(?:Call|Response)\.name$/, 'our schema requires it'],
  [/^google-gemini generationConfig\.speechConfig\.languageCode$/, 'it is named as dropped'],
  [/^google-interactions input\[\w+\]\.(?:arguments|result)\b/, "the client's own data"],
]
const targetOf = (format: string): CellTarget | undefined =>
  TARGETS.find(
    each =>
      each.format === format &&
      each.traits.thinking !== 'budget' &&
      each.traits.signatures !== 'required',
  )
const bodyFor = (client: Client, body: LooseObject, { name }: CellTarget): LooseObject => ({
  ...repair(client, body),
  ...(client !== 'google-gemini' && { model: name }),
})
/** The difference between null and absent at a target; undefined if there is none. */
const difference = async (
  client: Client,
  target: CellTarget,
  [withNull, without]: readonly [LooseObject, LooseObject],
): Promise<unknown> => {
  const [first, second] = [
    await send({ client, name: 'null', body: withNull }, target),
    await send({ client, name: 'absent', body: without }, target),
  ]
  if (first.fault !== undefined || first.refusal !== second.refusal) return first
  if (first.dropped !== second.dropped) return first.dropped
  if (!first.upstreamBody || !second.upstreamBody) return undefined
  const findings = ({ upstreamBody, headers, path }: typeof first) =>
    judge(target.format, target.family, upstreamBody, headers, path)
  const allowed = findings(second)
  return findings(first).find(each => !allowed.some(other => isDeepStrictEqual(each, other)))
}

const usedReasons = new Set<string>()
for (const client of CLIENTS)
  t.test(`null in members of ${client}: the same as absent at every format`, async t => {
    const schema = JSON.parse(readFileSync(`schemas/${SCHEMAS[client]}.json`, 'utf8'))
    const accepts = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
    const targets = FORMATS.flatMap(format => targetOf(format) ?? [])
    const differences: unknown[] = []
    let count = 0
    for (const { path, withNull, without } of new Members(client).all()) {
      const exception = NULL_EXCEPTIONS.find(([member]) => member.test(`${client} ${path}`))
      if (exception) usedReasons.add(exception[1])
      if (!withNull || !without || exception) continue
      for (const target of targets) {
        const bodies = [withNull, without].map(each => bodyFor(client, each, target))
        const [first = {}, second = {}] = bodies
        if (!accepts(second)) continue
        count++
        if (!accepts(first)) differences.push([path, accepts.errors?.at(0)?.message])
        const result = await difference(client, target, [first, second])
        if (result !== undefined) differences.push([path, target.format, result])
      }
    }
    t.comment(`${count} pairs`)
    t.same(differences, [])
  })
t.test('null in members: each exception still occurs', t => {
  for (const [, reason] of NULL_EXCEPTIONS) t.ok(usedReasons.has(reason), reason)
  t.end()
})
